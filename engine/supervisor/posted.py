"""Commands that nobody waits for: kept in order, carried out before anything that is asked later."""

from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeAlias

import anyio

from engine.core.commands import Command
from engine.errors import CommandRefusedError, Unusable

Make: TypeAlias = Callable[[], Command]
"""Returns a command once the state is known that it is about."""


class Posted:
    """A queue of commands, emptied by an engine while there is one."""

    def __init__(self) -> None:
        self._waiting: deque[Make] = deque()
        self._refusals: list[Exception] = []
        self._news = anyio.Event()
        self._drained = anyio.Event()

    def __iter__(self) -> Iterator[Make]:
        return iter(list(self._waiting))

    def put(self, make: Make) -> None:
        """Add a command; from the loop that the engine runs in."""
        self._waiting.append(make)
        self._news.set()

    async def run(self, carry_out: Callable[[Command], Awaitable[object]]) -> None:
        """Carry out what comes, for as long as there is an engine."""
        try:
            while True:
                self._news = anyio.Event()
                while self._waiting:
                    try:
                        await carry_out(self._waiting[0]())
                    except (CommandRefusedError, Unusable) as refusal:
                        self._refusals.append(refusal)
                    self._waiting.popleft()
                self._drained.set()
                await self._news.wait()
        finally:
            self._drained.set()

    async def flushed(self) -> None:
        """Return once all that was put is carried out, or the engine has ended.

        Raises:
            CommandRefusedError, Unusable: What the first of it ran into that was not carried out.
        """
        if self._waiting:
            self._drained = anyio.Event()
            self._news.set()
            await self._drained.wait()
        if self._refusals:
            refusals, self._refusals = self._refusals, []
            raise refusals[0]
