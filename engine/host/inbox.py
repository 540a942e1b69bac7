"""Commands of other processes: taken from the inbox in the order in which they came."""

from collections.abc import Callable

import anyio

from engine.core.codec import decode_command
from engine.core.commands import Order
from engine.host.orders import Orders
from store import CommandRow
from store.inbox import Inbox

TAKEN = 500
"""How many commands may be on their way at once; the others wait in the file."""


async def watch(
    inbox: Inbox, orders: Orders, take: Callable[[Order], None], refuse: Callable[[CommandRow, str], None]
) -> None:
    """Hand over commands as they arrive, for as long as the engine runs.

    Args:
        inbox: Where they come from.
        orders: Knows which are on their way.
        take: Takes a command to be decided.
        refuse: Takes one that cannot be read, with the reason.
    """
    async with inbox.arrivals() as arrivals:
        while True:
            orders.settled = anyio.Event()
            rows = await inbox.pending(TAKEN)
            for row in rows:
                if not orders.take(row.id):
                    continue
                try:
                    command = decode_command(row.kind, row.body)
                except ValueError as error:
                    refuse(row, str(error))
                else:
                    take(Order(id=row.id, command=command, sender=row.sender, role=row.role))
            if len(rows) == TAKEN:
                await orders.settled.wait()
            else:
                await arrivals.wait()
