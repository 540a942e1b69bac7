"""Wake the loop when another process has put a command into the inbox.

A thread asks `PRAGMA data_version`: file notifications fire before the write can be read.
"""

import sqlite3
import threading
from collections.abc import AsyncIterator, Generator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.from_thread
import anyio.to_thread

from store.connection import connect, is_busy, translated
from store.statements import ANY_PENDING
from store.tail import Pace


class Arrivals:
    """News of the inbox; several at once wake once. For one waiting task."""

    def __init__(self) -> None:
        self._news = anyio.Event()

    def wake(self) -> None:
        """End the current wait, or the next one; in the loop only."""
        self._news.set()

    async def wait(self) -> None:
        """Return when something has arrived since the last time."""
        await self._news.wait()
        self._news = anyio.Event()

    def __await__(self) -> Generator[object, None, None]:
        return self.wait().__await__()


@asynccontextmanager
async def watch(path: Path | None, arrivals: Arrivals) -> AsyncIterator[None]:
    """Wake `arrivals` while the body runs; a store in memory (no path) is woken by its own `put` alone."""
    if path is None:
        yield
        return
    stop = threading.Event()
    own_thread = anyio.CapacityLimiter(1)
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: anyio.to_thread.run_sync(_poll, path, arrivals, stop, limiter=own_thread))
        try:
            yield
        finally:
            stop.set()


def _poll(path: Path, arrivals: Arrivals, stop: threading.Event) -> None:
    pace, seen = Pace(), None
    with translated(path, disposable=True):
        connection = connect(path, mode="ro")
        try:
            while not stop.is_set():
                version = _asked(connection, "PRAGMA data_version")
                if version is not None and version != seen:
                    pending = _asked(connection, ANY_PENDING)
                    seen = seen if pending is None else version
                    if pending:
                        pace.news()
                        anyio.from_thread.run_sync(arrivals.wake)
                stop.wait(pace.wait_s)
        finally:
            connection.close()


def _asked(connection: sqlite3.Connection, question: str) -> int | None:
    """The answer, or None while somebody is in the way."""
    try:
        (answer,) = connection.execute(question).fetchone()
    except sqlite3.OperationalError as error:
        if is_busy(error):
            return None
        raise
    return int(answer)
