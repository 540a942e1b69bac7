"""What several tasks of a program use at once: from one event loop at a time, for as long as any of them needs it."""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TypeAlias

import anyio

from engine.errors import HostStopped, WrongLoop

Life: TypeAlias = Callable[[Callable[[], None], anyio.Event], Awaitable[None]]
"""Calls the first argument when it can be used, and returns after the second is set, or before by itself."""


class LoopGuard:
    """Counts the users of a supervisor, and refuses users of another event loop meanwhile.

    The message says `what` is used, and what a program does `instead` that calls from another loop.
    """

    def __init__(self, what: str, *, instead: str) -> None:
        self._what = what
        self._instead = instead
        self.users = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self.lock = threading.RLock()
        """Held while it is decided whether anybody uses it, and during what must not happen meanwhile."""

    @contextmanager
    def used(self) -> Iterator[None]:
        """Use it from the running loop; raises WrongLoop if it is in use from another."""
        with self.lock:
            loop = asyncio.get_running_loop()
            if self.users and loop is not self._loop:
                raise self._refusal()
            self._loop, self._thread = loop, threading.current_thread()
            self.users += 1
        try:
            yield
        finally:
            with self.lock:
                self.users -= 1

    def check(self) -> None:
        """Raise WrongLoop if it is in use from the event loop of another thread."""
        with self.lock:
            if self.users and threading.current_thread() is not self._thread:
                raise self._refusal()

    def _refusal(self) -> WrongLoop:
        return WrongLoop(self._what, self._thread.name if self._thread is not None else "", self._instead)


class Shared:
    """Begins with its first user and ends with its last, who waits for its end.

    It has a task of its own: in a task group it would belong to the user that came first. This is the one place where
    a task is started without a group.

    Args:
        live: What it does in between.
        guard: Keeps users of another event loop out meanwhile.
    """

    def __init__(self, live: Life, guard: LoopGuard) -> None:
        self._live = live
        self._guard = guard
        self._task: asyncio.Task[None] | None = None
        """None before it begins, and from the moment it ends by itself."""
        self._users = 0
        self._begun = anyio.Event()
        self._stop = anyio.Event()
        self._failure: Exception | None = None

    @asynccontextmanager
    async def used(self) -> AsyncIterator[None]:
        """Use it.

        Raises:
            WrongLoop: If it is in use from another event loop.
            Exception: What it ran into when it began, or what ended it while others still use it.
        """
        with self._guard.used():
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
            await asyncio.wait([self._task])
        if self._task is None:
            if self._users:
                raise self.why_gone()
            self._begun, self._stop, self._failure = anyio.Event(), anyio.Event(), None
            self._task = asyncio.create_task(self._run())
        self._users += 1
        try:
            await self._begun.wait()
            if self._task is None:
                raise self.why_gone()
        except BaseException:
            await self._leave()
            raise

    async def _leave(self) -> None:
        self._users -= 1
        if self._users == 0:
            self._stop.set()
            if self._task is not None:
                with anyio.CancelScope(shield=True):
                    await asyncio.wait([self._task])

    async def _run(self) -> None:
        try:
            await self._live(self._begun.set, self._stop)
        except Exception as error:
            self._failure = _first(error)
        finally:
            self._task = None
            self._begun.set()


def _first(error: BaseException) -> Exception:
    """Return what an error is about, out of the groups that task groups put around it."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, Exception)
    return error
