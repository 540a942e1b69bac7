"""Commands that are posted without waiting: kept in order, carried out before anything that is asked later.

Each has an outcome of its own, which everybody waits for who asks for something while it is under way.
"""

from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from typing import TypeAlias

import anyio
from anyio.abc import TaskStatus

from engine.core.commands import Command
from engine.errors import HostStopped
from engine.runtimes.slot import Slot

Make: TypeAlias = Callable[[], Command]
"""Returns a command once the state is known that it is about."""


class _Pending:
    """One command on its way, and who waits for it."""

    def __init__(self, make: Make) -> None:
        self.make = make
        self.error: Exception | None = None
        self._slots: list[Slot[None]] = []

    async def settled(self) -> None:
        """Return once it was carried out or refused, or no engine is left that would."""
        slot: Slot[None] = Slot()
        self._slots.append(slot)
        await slot.wait()

    def let_go(self) -> None:
        """Let go on who waits."""
        for slot in self._slots:
            slot.put(None)
        self._slots.clear()


class Posted:
    """A queue of commands, emptied by an engine while there is one."""

    def __init__(self) -> None:
        self._waiting: deque[_Pending] = deque()
        self._refused: list[_Pending] = []
        """Those whose error nobody has heard of yet."""
        self._is_served = False
        self._news = anyio.Event()

    def __len__(self) -> int:
        return len(self._waiting)

    def commands(self) -> Iterator[Command]:
        """Yield what was posted and is not carried out yet; without what can be seen to fail already."""
        for one in list(self._waiting):
            with suppress(Exception):  # raised where the outcome is waited for
                yield one.make()

    def put(self, make: Make) -> None:
        """Add a command; from the loop that the engine runs in."""
        self._waiting.append(_Pending(make))
        self._news.set()

    async def run(
        self,
        carry_out: Callable[[Command], Awaitable[object]],
        *,
        task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
    ) -> None:
        """Carry out what comes, for as long as there is an engine; what it did not come to is the next one's."""
        self._is_served = True
        task_status.started()
        try:
            while True:
                while self._waiting:
                    await self._settle(self._waiting[0], carry_out)
                self._news = anyio.Event()
                await self._news.wait()
        finally:
            self._is_served = False
            for one in self._waiting:
                one.let_go()

    async def _settle(self, pending: _Pending, carry_out: Callable[[Command], Awaitable[object]]) -> None:
        try:
            await carry_out(pending.make())
        except HostStopped:
            raise
        except Exception as error:  # belongs to who waits for this command; the next one is carried out all the same
            pending.error = error
            self._refused.append(pending)
        self._waiting.popleft()
        pending.let_go()

    async def flushed(self) -> None:
        """Return once all that was put so far is carried out, or the engine has ended.

        Raises:
            CommandRefusedError, Unusable: What the first of it ran into that was not carried out and is not told yet.
        """
        asked = [*self._refused, *self._waiting]
        for one in asked:
            if self._is_served and one in self._waiting:
                await one.settled()
        failed = [one for one in asked if one.error is not None]
        self._refused = [one for one in self._refused if one not in failed]
        if failed and failed[0].error is not None:
            raise failed[0].error
