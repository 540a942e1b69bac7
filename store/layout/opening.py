"""Opens a store for an engine, in this order: checks, lock, files, token, connections."""

import contextlib
import secrets
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import anyio
import anyio.to_thread

from store.errors import LeftoverWal, NoPermission, NotItsTurn, StoreBusy
from store.inbox import Inbox
from store.journals.journal import Journal, read_end
from store.journals.reader import Reader
from store.journals.records import anchor_of
from store.journals.snapshots import Snapshots
from store.journals.verification import Loss, check_loss, forget_answers, last_heartbeat_ms
from store.layout.connection import (
    Durability,
    connect,
    connect_journal_writer,
    is_busy,
    retry_while_busy,
    translate_errors,
)
from store.layout.file_check import check_place, open_checked
from store.layout.files import Files, exists, file_size, is_writable
from store.layout.migrations import DATABASE, INBOX, migrate
from store.layout.sidecar_files import create_file, lay_out, open_inbox, prepare_inbox, prepare_live, read_about
from store.leadership.lease import RELEASE_LEASE, Lease, Watch, raise_token
from store.leadership.lock import FileLock, acquire
from store.leadership.process import Process, kill, this_process
from store.leadership.standby import LeadershipClaim
from store.live import LiveOutput
from store.wall_clock import wall_ms

if TYPE_CHECKING:
    import aiosqlite

_KILL_TIMEOUT_S = 5.0


@dataclass(frozen=True, slots=True)
class Store:
    """An open store, from its engine's side."""

    path: Path | None
    """The database, through links; None in memory."""
    file_id: str
    """Random id, created with the file."""
    journal: Journal
    inbox: Inbox
    snapshots: Snapshots
    live: LiveOutput
    lease: Lease
    loss: Loss | None = None
    """Rows that an earlier engine acknowledged and that are missing."""
    heard_ms: int | None = None
    """Clock of the engine before at its last heartbeat, in UTC milliseconds; None without one."""

    @property
    def token(self) -> int:
        """The fencing token; a larger one in the file means that another engine took over."""
        return self.lease.token


@asynccontextmanager
async def open_store(
    path: str | Path,
    *,
    durability: Durability = "full",
    takeover: bool = False,
    claim: LeadershipClaim | None = None,
    accept_loss: int = 0,
) -> AsyncIterator[Store]:
    """Open a store as its only engine, creating missing files.

    Args:
        path: The database, in an existing folder; ":memory:" for a temporary store.
        durability: Whether an acknowledged append is on disk (`full`) or may be lost in a power cut (`normal`).
        takeover: Kill an engine of this machine that holds the store and has hung for 3 s.
        claim: The claim of a standby on this path; consumed in any case.
        accept_loss: How many rows acknowledged as `full` may be missing; any number of `normal` ones may.

    Raises:
        StoreBusy: If another engine holds the store, also in this process.
        NotItsTurn: If another took over before this `claim` was used.
        MissingFolder, ReadOnlyFolder, NoPermission, NetworkFileSystem: If the files cannot be created there.
        NotOurFile, NewerFile, CorruptFile, LeftoverWal: If the file is not a usable database.
        RowsLost: If more rows are missing at the end of the journal than are accepted.
        DiskFull: If there is no space for new files.
        ValueError: If `durability` is not one of the two.
    """
    if durability not in get_args(Durability):
        raise ValueError(f"durability must be {' or '.join(get_args(Durability))}, not {durability!r:.60}")
    async with AsyncExitStack() as stack:
        if str(path) == ":memory:":
            yield await _open_memory(stack)
        else:
            files = Files.of(path)
            acquire_ownership = partial(
                _acquire_ownership, files, durability, takeover=takeover, claim=claim, accept_loss=accept_loss
            )
            try:
                ownership = await anyio.to_thread.run_sync(acquire_ownership)
            except BaseException:  # also when cancelled before the thread has begun
                if claim is not None:
                    claim.give_up()
                raise
            yield await _open_files(stack, files, durability, ownership)


async def _open_memory(stack: AsyncExitStack) -> Store:
    file_id = secrets.token_hex(16)
    database = await _connect_on_stack(stack, partial(_memory_database, file_id))
    inbox = await _connect_on_stack(stack, _memory_inbox)
    lease = Lease(token=1)
    return Store(
        path=None,
        file_id=file_id,
        journal=Journal(database, database, path=None, token=1, end=(0, anchor_of(file_id))),
        inbox=Inbox(inbox, path=None),
        snapshots=Snapshots(database, database, path=None, token=1),
        live=LiveOutput(lease, None),
        lease=lease,
    )


def _memory_database(file_id: str) -> sqlite3.Connection:
    connection = connect(None, mode="rw")
    lay_out(connection, DATABASE, _about_database(file_id))
    raise_token(connection, this_process(), _now_ms())
    return connection


def _memory_inbox() -> sqlite3.Connection:
    connection = connect(None, mode="rw")
    lay_out(connection, INBOX, {})
    return connection


@dataclass(frozen=True, slots=True)
class _Ownership:
    """Facts about a store after its lock and token were acquired."""

    lock: FileLock
    file_id: str
    token: int
    end: tuple[int, bytes]
    loss: Loss | None
    heard_ms: int | None


async def _open_files(stack: AsyncExitStack, files: Files, durability: Durability, ownership: _Ownership) -> Store:
    stack.callback(ownership.lock.release)
    path = files.database
    watch = Watch(path, ownership.token)
    deferred_readers: list[aiosqlite.Connection] = []
    stack.push_async_callback(_close_each, deferred_readers)
    with translate_errors(path):
        writer = await _connect_on_stack(stack, partial(connect_journal_writer, path, durability=durability))
        stack.push_async_callback(_release_lease, writer, watch, ownership.token)
        reader = await _connect_async(partial(connect, path, mode="ro"))
        stack.push_async_callback(_close_reader, reader, watch, deferred_readers)
    with translate_errors(files.inbox, disposable=True):
        # The last client to close it checkpoints the log under an exclusive lock.
        connector = partial(retry_while_busy, partial(open_inbox, files, ownership.file_id, as_engine=True))
        inbox = Inbox(await _connect_on_stack(stack, connector), path=files.inbox)
    # Callbacks run in reverse: outcomes are written before the connections close, and the lock is released last.
    stack.push_async_callback(inbox.write_pending_outcomes)
    lease_watch = Watch(path, ownership.token)
    stack.callback(lease_watch.close)
    lease = Lease(ownership.token, lease_watch.loss)
    live = LiveOutput(lease, files.live, watch, seq=ownership.end[0], durability=durability)
    stack.push_async_callback(_run_in_thread, live.stop)
    live.start()
    return Store(
        path=path,
        file_id=ownership.file_id,
        journal=Journal(
            writer, reader, path=path, token=ownership.token, end=ownership.end, on_append=live.acknowledge
        ),
        inbox=inbox,
        snapshots=Snapshots(writer, reader, path=path, token=ownership.token),
        live=live,
        lease=lease,
        loss=ownership.loss,
        heard_ms=ownership.heard_ms,
    )


async def _connect_on_stack(
    stack: AsyncExitStack, connector: Callable[[], sqlite3.Connection]
) -> "aiosqlite.Connection":
    connection = await _connect_async(connector)
    stack.push_async_callback(_close, connection)
    return connection


async def _connect_async(connector: Callable[[], sqlite3.Connection]) -> "aiosqlite.Connection":
    import aiosqlite  # 60 ms, with asyncio: readers do without it

    return await aiosqlite.Connection(connector, 64)


async def _close_reader(reader: "aiosqlite.Connection", watch: Watch, deferred: list["aiosqlite.Connection"]) -> None:
    # The last writer that closes a database removes the WAL at its path. If the file was replaced, that WAL belongs to
    # the new file, so the connection is closed last, after the writers.
    if watch.file_was_replaced:
        deferred.append(reader)
    else:
        await _close(reader)


async def _close_each(connections: list["aiosqlite.Connection"]) -> None:
    for connection in connections:
        await _close(connection)


async def _close(connection: "aiosqlite.Connection") -> None:
    with anyio.CancelScope(shield=True):
        await connection.close()


async def _run_in_thread(work: Callable[[], None]) -> None:
    with anyio.CancelScope(shield=True):
        await anyio.to_thread.run_sync(work)


async def _release_lease(writer: "aiosqlite.Connection", watch: Watch, token: int) -> None:
    with anyio.CancelScope(shield=True), contextlib.suppress(sqlite3.Error):
        # Informational: readers see from the lock as well that the engine has ended.
        await writer.execute_fetchall(RELEASE_LEASE, (_now_ms(), token))
        ((is_released,),) = await writer.execute_fetchall("SELECT changes()")
        if is_released and not watch.file_was_replaced:
            # A reader that is open now would keep SQLite from it, and a file moved without its log would lack rows.
            await writer.execute_fetchall("PRAGMA wal_checkpoint(PASSIVE)")


def _acquire_ownership(
    files: Files, durability: Durability, *, takeover: bool, claim: LeadershipClaim | None, accept_loss: int
) -> _Ownership:
    """Check everything, take the lock, create or open the files, raise the token."""
    try:
        # Before anything is created, so that a refusal leaves no files behind, not even the lock file.
        check_place(files.database)
        if claim is not None and not _has_database(files):
            raise NotItsTurn(files.database)
        claim = claim or LeadershipClaim(_acquire_lock(files, takeover=takeover), files.lock)
        if not _has_database(files):
            _create(files)
        loss = check_loss(files.database, durability, accept_loss)
        file_id, token, end = _prepare_database(files, durability, claim)
        heard_ms = last_heartbeat_ms(files, file_id, token - 1)
        prepare_inbox(files, file_id)
        if loss is not None:
            forget_answers(files, end[0])
        prepare_live(files, file_id)
        return _Ownership(claim.lock, file_id, token, end, loss, heard_ms)
    except BaseException:
        if claim is not None:
            claim.give_up()
        raise


def _has_database(files: Files) -> bool:
    """Return whether the database exists; an empty file counts as missing, because nothing in it can be lost."""
    return exists(files.database) and file_size(files.database) > 0


def _acquire_lock(files: Files, *, takeover: bool) -> FileLock:
    try:
        return acquire(files.lock, files.database)
    except StoreBusy:
        if not takeover or not _kill_hung(files.database):
            raise
    return acquire(files.lock, files.database, timeout_s=_KILL_TIMEOUT_S)


def _kill_hung(database: Path, token: int | None = None) -> bool:
    """Kill the engine with `token`, or whose heartbeat stopped, if it hangs and its identity is certain."""
    with Reader(database) as reader:
        engine = reader.engine()
    if engine is None or not (engine.hung if token is None else engine.alive and engine.token == token):
        return False
    return kill(Process(engine.pid, engine.started, engine.boot_id, engine.host))


def _create(files: Files) -> None:
    for leftover in (files.wal, files.database.with_name(files.database.name + "-journal")):
        if exists(leftover) and file_size(leftover) > 0:
            raise LeftoverWal(leftover)
    create_file(files.database, DATABASE, _about_database(secrets.token_hex(16)))


def _about_database(file_id: str) -> dict[str, object]:
    return {"file_id": file_id, "anchor_seq": 0, "anchor_hash": anchor_of(file_id)}


def _prepare_database(
    files: Files, durability: Durability, claim: LeadershipClaim
) -> tuple[str, int, tuple[int, bytes]]:
    """Check and migrate the database, and raise the token; return file id, token and end of the journal."""
    open_checked(files.database, DATABASE)[0].close()
    if not is_writable(files.database):
        raise NoPermission(files.database)
    # A process suspended inside a write keeps all others out of that file until it continues or ends.
    if claim.deposed_token is not None and any(map(_is_blocked, (files.database, files.inbox, files.live))):
        _kill_hung(files.database, claim.deposed_token)
    writer = partial(connect_journal_writer, files.database, durability=durability)
    with translate_errors(files.database), contextlib.closing(writer()) as connection:
        migrate(connection, DATABASE)
        token = raise_token(connection, this_process(), _now_ms(), check_candidate=partial(claim.check, files.database))
        return str(read_about(connection)["file_id"]), token, read_end(connection)


def _is_blocked(path: Path) -> bool:
    """Return whether a process holds a file for longer than a write takes."""
    try:
        with contextlib.closing(connect(path, mode="rw")) as connection:
            connection.execute("BEGIN IMMEDIATE")
    except sqlite3.Error as error:
        return is_busy(error)
    return False


def _now_ms() -> int:
    return wall_ms()
