"""Hand-over of the team to a standby engine.

Nothing new begins and no command is taken from the inbox; attempts get a grace period to finish their step. The next
engine repeats steps that were cut off, as after a restart. See docs/semantics/leadership.md.
"""

import logging
import shlex
from collections.abc import Callable

import anyio
import anyio.to_thread

from engine.core.commands import HandOver, Order
from engine.core.events import CommandRefused
from engine.host.attempts import Attempts
from engine.host.batch import DirectEvent, Message
from engine.runtimes.attempts.services import Services
from store.layout.opening import Store
from store.leadership.standbys import standbys

NO_STANDBY = "no engine stands by to take over; start one with: quarterdeck engine --standby --db {}"

log = logging.getLogger(__name__)


class Handover:
    """Holds back a `HandOver` order until the attempts have stopped, then passes it to the core."""

    def __init__(
        self,
        services: Services,
        store: Store,
        attempts: Attempts,
        *,
        put: Callable[[Message], None],
        close_intake: Callable[[], None],
    ) -> None:
        self._services = services
        self._clock = services.clock
        self._store = store
        self._attempts = attempts
        self._put = put
        self._close_intake = close_intake
        self._under_way: str | None = None
        self._ready = False

    def divert(self, order: Order) -> bool:
        """Handle an order to hand over; False leaves it to the core."""
        command = order.command
        # An order with another token was meant for an earlier engine: the core refuses it.
        if not isinstance(command, HandOver) or command.token not in (None, self._store.token):
            return False
        if self._ready and order.id == self._under_way:  # its second pass: everything is wound down
            return False
        if self._under_way is None:
            self._under_way = order.id
            self._clock.hold()
            self._services.spawn(self._hand_over, order, command)
        elif self._under_way != order.id:
            self._refuse(order, "handing_over", "the engine hands over already")
        return True

    async def _hand_over(self, order: Order, command: HandOver) -> None:
        try:
            if not await self._has_standby():
                self._under_way = None
                self._refuse(order, "no_standby", NO_STANDBY.format(shlex.quote(str(self._store.path or "FILE"))))
                return
            log.info("the engine hands over; %d attempts go on to their next step", len(self._attempts))
            self._close_intake()
            await self._wind_down(command.grace_s)
            self._ready = True
            self._put(order)
        finally:
            self._clock.release()

    async def _has_standby(self) -> bool:
        path = self._store.path
        if path is None:
            return False
        return any(not standby.hung for standby in await anyio.to_thread.run_sync(standbys, path))

    async def _wind_down(self, grace_s: float) -> None:
        over = anyio.Event()
        cancel = self._services.call_later(self._clock.now_ms() + round(grace_s * 1000), over.set)
        # The grace period needs a running clock, so this task gives up its hold meanwhile.
        self._attempts.wind_down(over.set)
        self._clock.release()
        try:
            await over.wait()
        finally:
            self._clock.hold()
            cancel()

    def _refuse(self, order: Order, code: str, reason: str) -> None:
        refused = CommandRefused(
            at_ms=self._clock.now_ms(),
            command_id=order.id,
            command=str(order.command.type),
            sender=order.sender,
            role=order.role,
            code=code,
            reason=reason,
        )
        self._put(DirectEvent(refused))
