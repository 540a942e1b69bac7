"""The engine's side of the inbox: pending commands, and their outcomes.

Clients write this file only. A client that is suspended inside a write holds the lock of the file, so the engine never
waits for it: outcomes that cannot be written yet are kept in memory and written with the next ones. A thread polls
`PRAGMA data_version`, because file notifications fire before the write can be read.
"""

import contextlib
import json
import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Collection, Generator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.from_thread
import anyio.to_thread

from store.errors import StoreError
from store.journals.records import LARGEST_COMMAND_BYTES, CommandOutcome, CommandRow
from store.journals.statements import (
    ANY_PENDING,
    COMMAND_OUTCOME,
    NAME_COMMANDS,
    command_of,
    pending_commands,
    put_commands,
)
from store.journals.tail import PollInterval
from store.layout.connection import BUSY_S, connect, is_busy, retry_delays_s, translated
from store.leadership.lock import identity, lost

if TYPE_CHECKING:
    import aiosqlite


class Arrivals:
    """Notification of new commands, for one waiting task; several at once are merged."""

    def __init__(self) -> None:
        self._news = anyio.Event()

    def wake(self) -> None:
        """End the current wait, or the next one; in the loop only."""
        self._news.set()

    async def wait(self) -> None:
        """Return once something has arrived since the last call."""
        await self._news.wait()
        self._news = anyio.Event()

    def __await__(self) -> Generator[object, None, None]:
        return self.wait().__await__()


@asynccontextmanager
async def watch(path: Path | None, arrivals: Arrivals) -> AsyncIterator[None]:
    """Wake `arrivals` while the body runs; in memory (no path) only `put` wakes it."""
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
    pace, seen, opened = PollInterval(), None, identity(path)
    with translated(path, disposable=True):
        connection = connect(path, mode="ro")
        try:
            while not stop.is_set():
                if (gone := lost(path, opened)) is not None:  # clients make a new file, which is never read here
                    raise gone
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
    """Return the answer, or None while another process holds the lock."""
    try:
        (answer,) = connection.execute(question).fetchone()
    except sqlite3.OperationalError as error:
        if is_busy(error):
            return None
        raise
    return int(answer)


KEPT_OUTCOMES = 10_000
TAKEN_BYTES = 2 * LARGEST_COMMAND_BYTES
_SETTLE_PATIENCE_S = 0.05

_SETTLE = """
UPDATE commands
   SET state = json_extract(given.value, '$[1]'), seq = json_extract(given.value, '$[2]'),
       reason = json_extract(given.value, '$[3]'), result = json_extract(given.value, '$[4]')
  FROM json_each(?) AS given
 WHERE commands.id = json_extract(given.value, '$[0]') AND commands.state = 'pending'
"""
_FORGET = f"""
DELETE FROM commands
 WHERE state <> 'pending' AND place <= (SELECT max(place) FROM commands) - {KEPT_OUTCOMES}
"""


class Inbox:
    """Take commands and settle them; made by `open_store`."""

    def __init__(self, connection: "aiosqlite.Connection", *, path: Path | None) -> None:
        self._connection = connection
        self._path = path
        self._unwritten: dict[str, CommandOutcome] = {}
        self._waiting: set[Arrivals] = set()
        self._settled = 0

    async def put(self, command: CommandRow) -> None:
        """Queue a command; a second one with the same id changes nothing.

        Raises:
            StoreBusy: If a client has held the file for 5 s.
            DiskFull: If there is no room.
        """
        with translated(self._path, disposable=True):
            await self._do(*put_commands([command]))
        self._wake()

    async def pending(self, limit: int = 500, *, first: Collection[str] = ()) -> list[CommandRow]:
        """Commands without an outcome, oldest first; invalid rows have a fault.

        At most `limit`, and no further ones after `TAKEN_BYTES` of bodies: those come once these are settled.

        Args:
            limit: The most of them.
            first: Kinds of commands that come ahead of those of other senders, in addition to `limit`.
        """
        with translated(self._path, disposable=True):
            found = await self._do(
                *pending_commands(limit=limit, most_bytes=TAKEN_BYTES, but=self._unwritten, first=first)
            )
            unnamed = [row[-1] for row in found if command_of(row) is None]
            if unnamed and await self._named(unnamed):
                return await self.pending(limit, first=first)
        return [row for row in map(command_of, found) if row is not None]

    async def _named(self, places: list[int]) -> bool:
        """Give ids to rows without a valid one, so that they can be settled; False while a client holds the file."""
        try:
            await self._do(NAME_COMMANDS, (json.dumps(places),), patience_s=_SETTLE_PATIENCE_S)
        except sqlite3.OperationalError as error:
            if not is_busy(error):
                raise
            return False
        return True

    async def settle(self, outcomes: Sequence[CommandOutcome]) -> None:
        """Record outcomes of commands; the first outcome of a command stays.

        Also returns while a client holds the file: then the outcomes are kept, and written with the next ones.

        Raises:
            DiskFull: If there is no room; the outcomes are kept as well.
        """
        for outcome in outcomes:
            self._unwritten.setdefault(outcome.id, outcome)
        if not self._unwritten:
            return
        written = list(self._unwritten.values())
        with translated(self._path, disposable=True):
            try:
                await self._do(_SETTLE, (_packed(written),), patience_s=_SETTLE_PATIENCE_S)
                await self._forget(len(written))
            except sqlite3.OperationalError as error:
                if not is_busy(error):
                    raise
                return
        for outcome in written:
            self._unwritten.pop(outcome.id, None)
        # Commands beyond the limit of `pending` need another wake-up. In a file, the write above causes one itself.
        if self._path is None and self._waiting and await self.pending(1):
            self._wake()

    @property
    def has_kept(self) -> bool:
        """True while there are outcomes that could not be written yet."""
        return bool(self._unwritten)

    async def write_kept(self) -> None:
        """Try once more to write kept outcomes; if that fails, the next engine finds the commands pending."""
        with anyio.CancelScope(shield=True), contextlib.suppress(StoreError):
            await self.settle(())

    async def outcome(self, id: str) -> CommandOutcome | None:
        """What became of a command, or None if there was none with this id (or long ago)."""
        if id in self._unwritten:
            return self._unwritten[id]
        with translated(self._path, disposable=True):
            found = await self._do(COMMAND_OUTCOME, (id,))
        return CommandOutcome(*found[0]) if found else None

    @asynccontextmanager
    async def arrivals(self) -> AsyncIterator[Arrivals]:
        """Wake when a command arrives, from this process or another.

        Yields:
            What to await, again and again: a wait ends when there is news and something is pending; the first
            one at once if something was pending already.
        """
        arrivals = Arrivals()
        self._waiting.add(arrivals)
        try:
            if await self.pending(1):
                arrivals.wake()
            async with watch(self._path, arrivals):
                yield arrivals
        finally:
            self._waiting.discard(arrivals)

    def _wake(self) -> None:
        for arrivals in self._waiting:
            arrivals.wake()

    async def _forget(self, settled: int) -> None:
        self._settled += settled
        if self._settled >= KEPT_OUTCOMES // 10:
            self._settled = 0
            await self._do(_FORGET, (), patience_s=_SETTLE_PATIENCE_S)

    async def _do(
        self, sql: str, parameters: Sequence[Any] | Mapping[str, Any], *, patience_s: float = BUSY_S
    ) -> list[Any]:
        deadline = time.monotonic() + patience_s
        delays_s = retry_delays_s()
        while True:
            try:
                with anyio.CancelScope(shield=True):
                    return list(await self._connection.execute_fetchall(sql, parameters))
            except sqlite3.OperationalError as error:
                if not is_busy(error) or time.monotonic() >= deadline:
                    raise
                error.__traceback__ = None  # its frames hold the future that holds it: only the collector frees those
            await anyio.sleep(next(delays_s))


def _packed(outcomes: Sequence[CommandOutcome]) -> str:
    return json.dumps(
        [
            (outcome.id, outcome.state, outcome.seq, outcome.reason, outcome.result and outcome.result.decode())
            for outcome in outcomes
        ]
    )
