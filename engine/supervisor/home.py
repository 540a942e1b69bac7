"""The event loop that a supervisor is used from: any, but one at a time, because what waits belongs to its loop."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from engine.supervisor.errors import WrongLoop


class Home:
    """Counts who uses a supervisor, and refuses users of another loop meanwhile.

    Args:
        what: Who is used, for the message.
        instead: What a program does that calls from elsewhere.
    """

    def __init__(self, what: str, *, instead: str) -> None:
        self._what = what
        self._instead = instead
        self._users = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self.guard = threading.RLock()
        """Held while it is decided whether anybody uses it, and during what must not happen meanwhile."""

    @property
    def is_used(self) -> bool:
        """True while anybody uses it."""
        return self._users > 0

    @contextmanager
    def used(self) -> Iterator[None]:
        """Use it from the running loop.

        Raises:
            WrongLoop: If it is in use from another.
        """
        with self.guard:
            loop = asyncio.get_running_loop()
            if self._users and loop is not self._loop:
                raise self._refusal()
            self._loop, self._thread = loop, threading.current_thread()
            self._users += 1
        try:
            yield
        finally:
            with self.guard:
                self._users -= 1

    def check(self) -> None:
        """Pass in the thread of the loop that uses it, and everywhere while none does.

        Raises:
            WrongLoop: Elsewhere.
        """
        with self.guard:
            if self._users and threading.current_thread() is not self._thread:
                raise self._refusal()

    def _refusal(self) -> WrongLoop:
        return WrongLoop(self._what, self._thread.name if self._thread is not None else "", self._instead)
