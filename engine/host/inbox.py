"""Commands of other processes: taken from the inbox in the order in which they came.

A row is written by whoever can write the file, so nothing that it says is believed before it was looked at: what is no
command is refused in one line, journaled, and the next one is taken.
"""

from collections.abc import Awaitable, Callable
from functools import partial

import anyio

from engine.clock import Clock
from engine.core.code import named_in
from engine.core.codec import decode_command
from engine.core.commands import Command, Order
from engine.core.events import CommandRefused
from engine.core.state import State
from engine.host.batch import Given
from engine.host.orders import Orders
from engine.host.trusting import Trusting
from engine.runtimes.threads import Threads
from engine.runtimes.values import clean, one_line
from engine.trust import TrustError
from store import CommandRow
from store.inbox import Inbox

TAKEN = 500
"""How many commands may be on their way at once; the others wait in the file."""


class Intake:
    """Takes commands as they arrive, until it is closed.

    Args:
        inbox: Where they come from.
        orders: Knows which are on their way.
        trusting: Knows which of the code that they bring may be imported.
        threads: For what blocks.
        clock: When one was refused.
        state: Returns the state of the moment.
        ended: Returns how the runs ended that a command names.
        written: Returns once what was decided is on disk; False where it was dropped.
        put: Takes what is to be decided.
    """

    def __init__(
        self,
        inbox: Inbox,
        orders: Orders,
        trusting: Trusting,
        threads: Threads,
        *,
        clock: Clock,
        state: Callable[[], State],
        ended: Callable[[Command], Awaitable[dict[str, str]]],
        written: Callable[[], Awaitable[bool]],
        put: Callable[[Order | Given], None],
    ) -> None:
        self._inbox = inbox
        self._orders = orders
        self._trusting = trusting
        self._threads = threads
        self._clock = clock
        self._state = state
        self._ended = ended
        self._written = written
        self._put = put
        self._scope = anyio.CancelScope()

    def close(self) -> None:
        """Take no more; what is in the inbox waits for the engine that follows."""
        self._scope.cancel()

    async def watch(self) -> None:
        """Hand over commands for as long as the engine runs."""
        with self._scope:
            async with self._inbox.arrivals() as arrivals:
                while True:
                    self._orders.settled = anyio.Event()
                    rows = await self._inbox.pending(TAKEN)
                    for row in rows:
                        if self._orders.take(row.id):
                            await self._take(row)
                    if len(rows) == TAKEN:
                        await self._orders.settled.wait()
                    else:
                        await arrivals.wait()

    async def _take(self, row: CommandRow) -> None:
        if row.fault:
            await self._refuse(row, row.fault)
            return
        try:
            command = decode_command(row.kind, row.body)
            granted, ended = await self._granted(command), await self._ended(command)
        except (ValueError, TrustError) as error:
            await self._refuse(row, one_line(error))
            return
        self._put(Order(id=row.id, command=command, sender=row.sender, role=row.role, granted=granted, ended=ended))

    async def _granted(self, command: Command) -> dict[str, str]:
        return await self._threads.run(partial(self._trusting.of_inbox, command)) if named_in(command) else {}

    async def _refuse(self, row: CommandRow, reason: str) -> None:
        decided = self._state().commands.get(row.id)
        if decided is not None:  # by an engine that ended before it could say so in the inbox, or just now
            if await self._written():
                self._orders.repeat(row.id, decided)
            return
        refused = CommandRefused(
            at_ms=self._clock.now_ms(),
            command_id=row.id,
            command=clean(row.kind)[:80],
            sender=clean(row.sender),
            role=clean(row.role),
            code="bad_command",
            reason=reason,
        )
        self._put(Given(refused))
