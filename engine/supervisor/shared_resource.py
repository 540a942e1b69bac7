"""A resource shared by tasks of a program, such as an engine, used from one event loop at a time."""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TypeAlias

import anyio

from engine.errors import HostStopped, WrongLoop, first_error

Lifecycle: TypeAlias = Callable[[Callable[[], None], anyio.Event], Awaitable[None]]
"""Calls its first argument when ready, and returns once its second is set, or earlier by itself."""


class LoopGuard:
    """Counts the users of a supervisor, and refuses users from other event loops meanwhile.

    Args:
        resource: Name of the supervisor, for the message.
        instead: What a program does that calls from another loop, for the message.
    """

    def __init__(self, resource: str, *, instead: str) -> None:
        self._resource = resource
        self._instead = instead
        self.users = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self.lock = threading.RLock()
        """Held while users are counted, and during changes that must not overlap with use."""

    @contextmanager
    def use(self) -> Iterator[None]:
        """Count one user on the running event loop; raises WrongLoop if another loop uses it."""
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
        return WrongLoop(self._resource, self._thread.name if self._thread is not None else "", self._instead)


class SharedResource:
    """A resource that starts with its first user and ends with its last one, which waits for the end.

    It runs in its own task: in a task group it would belong to the first user. This is the only place where
    a task is started without a group.

    Args:
        lifecycle: Runs the resource.
        guard: Refuses users from other event loops meanwhile.
    """

    def __init__(self, lifecycle: Lifecycle, guard: LoopGuard) -> None:
        self._lifecycle = lifecycle
        self._guard = guard
        self._task: asyncio.Task[None] | None = None
        """None before it starts, and again after it has ended by itself."""
        self._users = 0
        self._started = anyio.Event()
        self._stop = anyio.Event()
        self._failure: BaseException | None = None

    @asynccontextmanager
    async def use(self) -> AsyncIterator[None]:
        """Use the resource while the context is open.

        Raises:
            WrongLoop: If it is in use from another event loop.
            Exception: The error of its start, or the one that ended it while it was in use.
        """
        with self._guard.use():
            await self._enter()
            try:
                yield
            finally:
                await self._leave()

    def end_error(self) -> BaseException:
        """Return the error that ended it."""
        return self._failure or HostStopped("it is not running")

    async def _enter(self) -> None:
        while self._task is not None and self._stop.is_set():
            await asyncio.wait([self._task])
        if self._task is None:
            if self._users:
                raise self.end_error()
            self._started, self._stop, self._failure = anyio.Event(), anyio.Event(), None
            self._task = asyncio.create_task(self._run())
        self._users += 1
        try:
            await self._started.wait()
            if self._task is None:
                raise self.end_error()
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
            await self._lifecycle(self._started.set, self._stop)
        except Exception as error:
            self._failure = first_error(error)
        finally:
            self._task = None
            self._started.set()
