"""Commands that are posted without waiting: carried out in order, before anything that is asked later."""

from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field

import anyio
from anyio.abc import TaskStatus

from engine.core.commands import Command
from engine.errors import HostStopped
from engine.supervisor.node import Make


@dataclass(slots=True, eq=False)
class _Pending:
    """One command on its way; everybody who asks for something meanwhile waits for its outcome."""

    make: Make
    error: Exception | None = None
    settled: anyio.Event = field(default_factory=anyio.Event)
    """Set once it was carried out or refused, or when no engine is left that would."""


class PendingCommands:
    """A queue of commands, emptied by an engine while there is one."""

    def __init__(self) -> None:
        self._waiting: deque[_Pending] = deque()
        self._refused: list[_Pending] = []
        """Those whose error nobody has heard of yet."""
        self._is_served = False
        self._news = anyio.Event()

    def __len__(self) -> int:
        return len(self._waiting)

    def commands(self) -> list[Command]:
        """Return what is not carried out yet, without what fails already when its command is made."""
        found = []
        for one in self._waiting:
            with suppress(Exception):  # raised where the outcome is waited for
                found.append(one.make())
        return found

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
        """Carry out what comes, for as long as there is an engine; what is left is carried out by the next one."""
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
                one.settled.set()
                one.settled = anyio.Event()

    async def _settle(self, pending: _Pending, carry_out: Callable[[Command], Awaitable[object]]) -> None:
        try:
            await carry_out(pending.make())
        except HostStopped:
            raise
        except Exception as error:  # belongs to who waits for this command; the next one is carried out all the same
            pending.error = error
            self._refused.append(pending)
        self._waiting.popleft()
        pending.settled.set()

    async def flushed(self) -> None:
        """Return once all that was put so far is carried out, or the engine has ended.

        Raises:
            CommandRefusedError, Unusable: Why the first of it was not carried out, if nobody was told yet.
        """
        asked = [*self._refused, *self._waiting]
        for one in asked:
            if self._is_served and one in self._waiting:
                await one.settled.wait()
        self._refused = [one for one in self._refused if one not in asked]
        for one in asked:
            if one.error is not None:
                raise one.error
