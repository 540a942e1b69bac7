"""A queue of the commands that a program posted, emptied by an engine while there is one."""

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
    """A posted command; later calls wait for its outcome."""

    make: Make
    error: Exception | None = None
    settled: anyio.Event = field(default_factory=anyio.Event)
    """Set once it was carried out or refused, or when its engine has ended."""


class CommandQueue:
    """A queue of commands, emptied by an engine while there is one."""

    def __init__(self) -> None:
        self._waiting: deque[_Pending] = deque()
        self._failed: list[_Pending] = []
        """Commands whose error was not raised to a caller yet."""
        self._is_served = False
        self._arrived = anyio.Event()

    def __len__(self) -> int:
        return len(self._waiting)

    def commands(self) -> list[Command]:
        """Return the commands not carried out yet, without those that cannot be built."""
        commands = []
        for pending in self._waiting:
            with suppress(Exception):  # raised where the outcome is waited for
                commands.append(pending.make())
        return commands

    def put(self, make: Make) -> None:
        """Add a command; call it from the engine's event loop."""
        self._waiting.append(_Pending(make))
        self._arrived.set()

    async def run(
        self,
        carry_out: Callable[[Command], Awaitable[object]],
        *,
        task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
    ) -> None:
        """Carry out commands while there is an engine; the next engine carries out the rest."""
        self._is_served = True
        task_status.started()
        try:
            while True:
                while self._waiting:
                    await self._settle(self._waiting[0], carry_out)
                self._arrived = anyio.Event()
                await self._arrived.wait()
        finally:
            self._is_served = False
            for pending in self._waiting:
                pending.settled.set()
                pending.settled = anyio.Event()

    async def _settle(self, pending: _Pending, carry_out: Callable[[Command], Awaitable[object]]) -> None:
        try:
            await carry_out(pending.make())
        except HostStopped:
            raise
        except Exception as error:  # raised to the caller that waits for this command; the queue goes on
            pending.error = error
            self._failed.append(pending)
        self._waiting.popleft()
        pending.settled.set()

    async def flush(self) -> None:
        """Wait until all commands put so far are carried out, or the engine has ended.

        Raises:
            CommandRefusedError, Unusable: The error of the first command that failed, if it was not raised yet.
        """
        batch = [*self._failed, *self._waiting]
        for pending in batch:
            if self._is_served and pending in self._waiting:
                await pending.settled.wait()
        self._failed = [pending for pending in self._failed if pending not in batch]
        for pending in batch:
            if pending.error is not None:
                raise pending.error
