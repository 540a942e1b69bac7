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
from store.journals.journal import Journal, end_of
from store.journals.reader import Reader
from store.journals.records import anchor_of
from store.journals.snapshots import Snapshots
from store.journals.verification import Loss, accepted_loss, forget_answers
from store.layout.connection import Durability, connect, connect_journal_writer, is_busy, patiently, translated
from store.layout.file_check import check_place, open_recognised
from store.layout.files import Files, exists, file_size, is_writable
from store.layout.migrations import DATABASE, INBOX, migrate
from store.layout.sidecar_files import about_of, create_file, lay_out, open_inbox, prepare_inbox, prepare_live
from store.leadership.lease import LET_GO, Lease, Watch, raise_token
from store.leadership.lock import FileLock, acquire
from store.leadership.process import Process, kill, this_process
from store.leadership.standby import Turn
from store.live import LiveOutput
from store.wall_clock import wall_ms

if TYPE_CHECKING:
    import aiosqlite

_AFTER_KILL_S = 5.0


@dataclass(frozen=True, slots=True)
class Store:
    """An open store, from its engine's side."""

    path: Path | None
    """The database, through links; None in memory."""
    file_id: str
    """Random, made with the file."""
    journal: Journal
    inbox: Inbox
    snapshots: Snapshots
    live: LiveOutput
    lease: Lease
    loss: Loss | None = None
    """Rows that an earlier engine acknowledged and that are missing."""

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
    turn: Turn | None = None,
    accept_loss: int = 0,
) -> AsyncIterator[Store]:
    """Open a store as its only engine, creating missing files.

    Args:
        path: The database, in an existing folder; ":memory:" for a temporary store.
        durability: Whether an acknowledged append is on disk (`full`) or may be lost in a power cut (`normal`).
        takeover: Kill an engine of this machine that holds the store and has hung for 3 s.
        turn: The turn of a standby on this path; consumed in any case.
        accept_loss: How many rows acknowledged as `full` may be missing; any number of `normal` ones may.

    Raises:
        StoreBusy: If another engine holds the store, also in this process.
        NotItsTurn: If another took over before this `turn` was used.
        MissingFolder, ReadOnlyFolder, NoPermission, NetworkFileSystem: If the files cannot be created there.
        NotOurFile, NewerFile, CorruptFile, LeftoverWal: If the file is not a usable database.
        RowsLost: If more rows are missing at the end of the journal than are accepted.
        DiskFull: If there is no room to make them.
        ValueError: If there is no such durability.
    """
    if durability not in get_args(Durability):
        raise ValueError(f"durability must be {' or '.join(get_args(Durability))}, not {durability!r:.60}")
    async with AsyncExitStack() as stack:
        if str(path) == ":memory:":
            yield await _open_memory(stack)
        else:
            files = Files.of(path)
            hold = partial(_take_hold, files, durability, takeover=takeover, turn=turn, accept_loss=accept_loss)
            try:
                held = await anyio.to_thread.run_sync(hold)
            except BaseException:  # also when cancelled before the thread has begun
                if turn is not None:
                    turn.give_up()
                raise
            yield await _open_files(stack, files, durability, held)


async def _open_memory(stack: AsyncExitStack) -> Store:
    file_id = secrets.token_hex(16)
    database = await _started(stack, partial(_memory_database, file_id))
    inbox = await _started(stack, _memory_inbox)
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
class _Held:
    """Facts about a store after its lock and token were acquired."""

    lock: FileLock
    file_id: str
    token: int
    end: tuple[int, bytes]
    loss: Loss | None


async def _open_files(stack: AsyncExitStack, files: Files, durability: Durability, held: _Held) -> Store:
    stack.callback(held.lock.release)
    path = files.database
    watch = Watch(path, held.token)
    last: list[aiosqlite.Connection] = []
    stack.push_async_callback(_close_each, last)
    with translated(path):
        writer = await _started(stack, partial(connect_journal_writer, path, durability=durability))
        stack.push_async_callback(_let_go, writer, held.token)
        reader = await _connected(partial(connect, path, mode="ro"))
        stack.push_async_callback(_close_reader, reader, watch, last)
    with translated(files.inbox, disposable=True):
        # The last client to close it checkpoints the log under an exclusive lock.
        opened = partial(patiently, partial(open_inbox, files, held.file_id, as_engine=True))
        inbox = Inbox(await _started(stack, opened), path=files.inbox)
    # Callbacks run in reverse: outcomes are written before the connections close, and the lock is released last.
    stack.push_async_callback(inbox.write_kept)
    asked = Watch(path, held.token)
    stack.callback(asked.close)
    lease = Lease(held.token, asked.loss)
    live = LiveOutput(lease, files.live, watch, seq=held.end[0], durability=durability)
    stack.push_async_callback(_in_thread, live.stop)
    live.start()
    return Store(
        path=path,
        file_id=held.file_id,
        journal=Journal(writer, reader, path=path, token=held.token, end=held.end, acknowledged=live.acknowledge),
        inbox=inbox,
        snapshots=Snapshots(writer, reader, path=path, token=held.token),
        live=live,
        lease=lease,
        loss=held.loss,
    )


async def _started(stack: AsyncExitStack, connector: Callable[[], sqlite3.Connection]) -> "aiosqlite.Connection":
    connection = await _connected(connector)
    stack.push_async_callback(_closed, connection)
    return connection


async def _connected(connector: Callable[[], sqlite3.Connection]) -> "aiosqlite.Connection":
    import aiosqlite  # 60 ms, with asyncio: readers do without it

    return await aiosqlite.Connection(connector, 64)


async def _close_reader(reader: "aiosqlite.Connection", watch: Watch, last: list["aiosqlite.Connection"]) -> None:
    # The last writer that closes a database removes the WAL at its path. If the file was replaced, that WAL belongs to
    # the new file, so the connection is closed last, after the writers.
    if watch.file_is_lost:
        last.append(reader)
    else:
        await _closed(reader)


async def _close_each(connections: list["aiosqlite.Connection"]) -> None:
    for connection in connections:
        await _closed(connection)


async def _closed(connection: "aiosqlite.Connection") -> None:
    with anyio.CancelScope(shield=True):
        await connection.close()


async def _in_thread(work: Callable[[], None]) -> None:
    with anyio.CancelScope(shield=True):
        await anyio.to_thread.run_sync(work)


async def _let_go(writer: "aiosqlite.Connection", token: int) -> None:
    # Informational: readers see from the lock as well that the engine has ended.
    with anyio.CancelScope(shield=True), contextlib.suppress(sqlite3.Error):
        await writer.execute_fetchall(LET_GO, (_now_ms(), token))


def _take_hold(files: Files, durability: Durability, *, takeover: bool, turn: Turn | None, accept_loss: int) -> _Held:
    """Check everything, take the lock, create or open the files, raise the token."""
    try:
        # First, so that a refusal leaves no files behind, not even the lock file.
        check_place(files.database)
        if turn is not None and not _is_there(files):
            raise NotItsTurn(files.database)
        turn = turn or Turn(_locked(files, takeover=takeover), files.lock)
        if not _is_there(files):
            _create(files)
        loss = accepted_loss(files.database, durability, accept_loss)
        file_id, token, end = _raised(files, durability, turn)
        prepare_inbox(files, file_id)
        if loss is not None:
            forget_answers(files, end[0])
        prepare_live(files, file_id)
        return _Held(turn.lock, file_id, token, end, loss)
    except BaseException:
        if turn is not None:
            turn.give_up()
        raise


def _is_there(files: Files) -> bool:
    """Return whether the database exists; an empty file counts as missing, because nothing in it can be lost."""
    return exists(files.database) and file_size(files.database) > 0


def _locked(files: Files, *, takeover: bool) -> FileLock:
    try:
        return acquire(files.lock, files.database)
    except StoreBusy:
        if not takeover or not _killed_hung(files.database):
            raise
    return acquire(files.lock, files.database, patience_s=_AFTER_KILL_S)


def _killed_hung(database: Path, token: int | None = None) -> bool:
    """Kill the engine that holds the store, if it hangs and is certainly the recorded process.

    Args:
        token: Token of the engine that is known to hang; None checks the heartbeat.
    """
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


def _raised(files: Files, durability: Durability, turn: Turn) -> tuple[str, int, tuple[int, bytes]]:
    """Check and migrate the database, and raise the token; return file id, token and end of the journal."""
    open_recognised(files.database, DATABASE)[0].close()
    if not is_writable(files.database):
        raise NoPermission(files.database)
    # A process suspended inside a write keeps all others out of that file until it continues or ends.
    if turn.instead_of is not None and any(map(_is_blocked, (files.database, files.inbox, files.live))):
        _killed_hung(files.database, turn.instead_of)
    with translated(files.database):
        connection = connect_journal_writer(files.database, durability=durability)
        try:
            migrate(connection, DATABASE)
            token = raise_token(connection, this_process(), _now_ms(), rightful=partial(turn.check, files.database))
            return str(about_of(connection)["file_id"]), token, end_of(connection)
        finally:
            connection.close()


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
