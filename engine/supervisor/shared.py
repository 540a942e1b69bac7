"""Something that several tasks of a program use at once, and that lives for as long as any of them does.

It has a task of its own: in a task group it would belong to the user that came first. This is the one place where a
task is started without a group; whoever uses it last waits for its end, so it never outlives its users.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeAlias

import anyio

from engine.errors import HostStopped
from engine.supervisor.home import Home

Life: TypeAlias = Callable[[Callable[[], None], anyio.Event], Awaitable[None]]
"""Lives: calls the first argument when it can be used, and returns after the second is set, or before by itself."""


class Shared:
    """Begins with its first user and ends with its last.

    Args:
        live: What it does in between.
        home: Keeps users of another event loop out meanwhile.
    """

    def __init__(self, live: Life, home: Home) -> None:
        self._live = live
        self._home = home
        self._task: asyncio.Task[None] | None = None
        self._users = 0
        self._usable = False
        self._begun = anyio.Event()
        self._stop = anyio.Event()
        self._ended = anyio.Event()
        self._failure: Exception | None = None

    @asynccontextmanager
    async def used(self) -> AsyncIterator[None]:
        """Use it.

        Raises:
            WrongLoop: If it is in use from another event loop.
            Exception: What it ran into when it began, or what ended it while others still use it.
        """
        with self._home.used():
            await self._enter()
            try:
                yield
            finally:
                await self._leave()

    def why_gone(self) -> Exception:
        """Return what ended it."""
        return self._failure or HostStopped("it is not running")

    async def _enter(self) -> None:
        while self._task is not None and self._stop.is_set():
            await self._ended.wait()
        if self._task is None:
            if self._users:
                raise self.why_gone()
            self._begun, self._stop, self._ended, self._failure = anyio.Event(), anyio.Event(), anyio.Event(), None
            self._task = asyncio.create_task(self._run())
        self._users += 1
        try:
            await self._begun.wait()
            if not self._usable:
                raise self.why_gone()
        except BaseException:
            await self._leave()
            raise

    async def _leave(self) -> None:
        self._users -= 1
        if self._users == 0:
            self._stop.set()
            with anyio.CancelScope(shield=True):
                await self._ended.wait()

    async def _run(self) -> None:
        try:
            await self._live(self._can_be_used, self._stop)
        except Exception as error:
            self._failure = _first(error)
        finally:
            self._usable = False
            self._task = None
            self._begun.set()
            self._ended.set()

    def _can_be_used(self) -> None:
        self._usable = True
        self._begun.set()


def _first(error: BaseException) -> Exception:
    """Return what an error is about, out of the groups that task groups put around it."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, Exception)
    return error
