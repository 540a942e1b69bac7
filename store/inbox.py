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
from store.journals.records import MAX_COMMAND_BYTES, CommandOutcome, CommandRow
from store.journals.statements import (
    ANY_PENDING,
    ASSIGN_COMMAND_IDS,
    COMMAND_OUTCOME,
    parse_command,
    pending_commands,
    put_commands,
)
from store.journals.tail import PollInterval
from store.layout.connection import BUSY_S, connect, is_busy, retry_delays_s, translate_errors
from store.leadership.lock import find_file_loss, identity

if TYPE_CHECKING:
    import aiosqlite


class Arrivals:
    """Notification of new commands, for one waiting task; several at once are merged."""

    def __init__(self) -> None:
        self._arrival = anyio.Event()

    def wake(self) -> None:
        """End the current wait, or the next one; in the loop only."""
        self._arrival.set()

    async def wait(self) -> None:
        """Return once something has arrived since the last call."""
        await self._arrival.wait()
        self._arrival = anyio.Event()

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
    interval = PollInterval()
    checked_version = None
    file_identity = identity(path)
    with translate_errors(path, disposable=True), contextlib.closing(connect(path, mode="ro")) as connection:
        while not stop.is_set():
            if (file_loss := find_file_loss(path, file_identity)) is not None:
                raise file_loss  # clients create a new file, which this connection would never read
            version = _query_value(connection, "PRAGMA data_version")
            if version is not None and version != checked_version:
                pending = _query_value(connection, ANY_PENDING)
                checked_version = checked_version if pending is None else version
                if pending:
                    interval.note_records()
                    anyio.from_thread.run_sync(arrivals.wake)
            stop.wait(interval.wait_s)


def _query_value(connection: sqlite3.Connection, sql: str) -> int | None:
    """Return the answer, or None while another process holds the lock."""
    try:
        (value,) = connection.execute(sql).fetchone()
    except sqlite3.OperationalError as error:
        if is_busy(error):
            return None
        raise
    return int(value)


MAX_OUTCOMES = 10_000
MAX_PENDING_BYTES = 2 * MAX_COMMAND_BYTES
_SETTLE_TIMEOUT_S = 0.05

_SETTLE = """
UPDATE commands
   SET state = json_extract(outcome.value, '$[1]'), seq = json_extract(outcome.value, '$[2]'),
       reason = json_extract(outcome.value, '$[3]'), result = json_extract(outcome.value, '$[4]')
  FROM json_each(?) AS outcome
 WHERE commands.id = json_extract(outcome.value, '$[0]') AND commands.state = 'pending'
"""
_DELETE_OLD_OUTCOMES = f"""
DELETE FROM commands
 WHERE state <> 'pending' AND place <= (SELECT max(place) FROM commands) - {MAX_OUTCOMES}
"""


class Inbox:
    """Take commands and settle them; made by `open_store`."""

    def __init__(self, connection: "aiosqlite.Connection", *, path: Path | None) -> None:
        self._connection = connection
        self._path = path
        self._unwritten: dict[str, CommandOutcome] = {}
        self._listeners: set[Arrivals] = set()
        self._settled_count = 0

    async def put(self, command: CommandRow) -> None:
        """Queue a command; a second one with the same id changes nothing.

        Raises:
            StoreBusy: If a client has held the file for 5 s.
            DiskFull: If there is no room.
        """
        with translate_errors(self._path, disposable=True):
            await self._execute(*put_commands([command]))
        self._wake()

    async def pending(self, limit: int = 500, *, priority_kinds: Collection[str] = ()) -> list[CommandRow]:
        """Return commands without an outcome, oldest first; invalid rows have a fault.

        At most `limit`, and no further ones after `MAX_PENDING_BYTES` of bodies; call it again after settling these.

        Args:
            limit: Largest number of commands.
            priority_kinds: Kinds of commands that precede those of other senders; they do not count towards `limit`.
        """
        with translate_errors(self._path, disposable=True):
            rows = await self._execute(
                *pending_commands(
                    limit=limit,
                    max_bytes=MAX_PENDING_BYTES,
                    excluded_ids=self._unwritten,
                    priority_kinds=priority_kinds,
                )
            )
            commands = [parse_command(row) for row in rows]
            unnamed_places = [place for (*_, place), command in zip(rows, commands, strict=True) if command is None]
            if unnamed_places and await self._assign_ids(unnamed_places):
                return await self.pending(limit, priority_kinds=priority_kinds)
        return [command for command in commands if command is not None]

    async def _assign_ids(self, places: list[int]) -> bool:
        """Give ids to rows without a valid one, so that they can be settled; False while a client holds the file."""
        try:
            await self._execute(ASSIGN_COMMAND_IDS, (json.dumps(places),), timeout_s=_SETTLE_TIMEOUT_S)
        except sqlite3.OperationalError as error:
            if not is_busy(error):
                raise
            return False
        return True

    async def settle(self, outcomes: Sequence[CommandOutcome]) -> None:
        """Record outcomes of commands; the first outcome of a command stays.

        If a client holds the file, the outcomes are kept in memory and written with the next ones.

        Raises:
            DiskFull: If there is no room; the outcomes are kept as well.
        """
        for outcome in outcomes:
            self._unwritten.setdefault(outcome.id, outcome)
        if not self._unwritten:
            return
        outcomes_to_write = list(self._unwritten.values())
        with translate_errors(self._path, disposable=True):
            try:
                await self._execute(_SETTLE, (_encode_outcomes(outcomes_to_write),), timeout_s=_SETTLE_TIMEOUT_S)
                await self._delete_old_outcomes(len(outcomes_to_write))
            except sqlite3.OperationalError as error:
                if not is_busy(error):
                    raise
                return
        for outcome in outcomes_to_write:
            self._unwritten.pop(outcome.id, None)
        # Commands beyond the limit of `pending` need another wake-up. In a file, the write above causes one itself.
        if self._path is None and self._listeners and await self.pending(1):
            self._wake()

    @property
    def has_unwritten(self) -> bool:
        """True while there are outcomes that could not be written yet."""
        return bool(self._unwritten)

    async def write_pending_outcomes(self) -> None:
        """Try once more to write kept outcomes; if that fails, the next engine finds the commands pending."""
        with anyio.CancelScope(shield=True), contextlib.suppress(StoreError):
            await self.settle(())

    async def outcome(self, id: str) -> CommandOutcome | None:
        """Return the outcome of a command; None if the id is unknown, or its outcome was deleted as an old one."""
        if id in self._unwritten:
            return self._unwritten[id]
        with translate_errors(self._path, disposable=True):
            rows = await self._execute(COMMAND_OUTCOME, (id,))
        return CommandOutcome(*rows[0]) if rows else None

    @asynccontextmanager
    async def arrivals(self) -> AsyncIterator[Arrivals]:
        """Wake when a command arrives, from this process or another.

        Yields:
            An object to await repeatedly: a wait ends when a command arrives; the first one ends at once if a command
            is already pending.
        """
        arrivals = Arrivals()
        self._listeners.add(arrivals)
        try:
            if await self.pending(1):
                arrivals.wake()
            async with watch(self._path, arrivals):
                yield arrivals
        finally:
            self._listeners.discard(arrivals)

    def _wake(self) -> None:
        for arrivals in self._listeners:
            arrivals.wake()

    async def _delete_old_outcomes(self, settled: int) -> None:
        self._settled_count += settled
        if self._settled_count >= MAX_OUTCOMES // 10:
            self._settled_count = 0
            await self._execute(_DELETE_OLD_OUTCOMES, (), timeout_s=_SETTLE_TIMEOUT_S)

    async def _execute(
        self, sql: str, parameters: Sequence[Any] | Mapping[str, Any], *, timeout_s: float = BUSY_S
    ) -> list[Any]:
        deadline = time.monotonic() + timeout_s
        delays_s = retry_delays_s()
        while True:
            try:
                with anyio.CancelScope(shield=True):
                    return list(await self._connection.execute_fetchall(sql, parameters))
            except sqlite3.OperationalError as error:
                if not is_busy(error) or time.monotonic() >= deadline:
                    raise
                error.__traceback__ = None  # a cycle with the future in its frames, which only the collector would free
            await anyio.sleep(next(delays_s))


def _encode_outcomes(outcomes: Sequence[CommandOutcome]) -> str:
    return json.dumps(
        [
            (outcome.id, outcome.state, outcome.seq, outcome.reason, outcome.result and outcome.result.decode())
            for outcome in outcomes
        ]
    )
