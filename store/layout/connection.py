"""Opens SQLite files, and translates SQLite's errors.

Only the engine's connection to a file checkpoints: SQLite 3.7.0 to 3.51.2 can corrupt a
write-ahead log that two connections checkpoint at once. See docs/decisions/measurements.md.
"""

import random
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, TypeVar

from store.errors import CorruptFile, DiskFailed, DiskFull, ReadOnlyFolder, StoreBusy, StoreError
from store.layout.files import finds_no_room

T = TypeVar("T")

Durability = Literal["full", "normal"]
"""`full`: on disk when acknowledged. `normal`: a power cut can lose the last moments, never the order."""

BUSY_S = 5.0
"""How long anything waits for a lock in a file before it gives up."""
SEND_PATIENCE_S = 30.0
"""How long a client tries to put a command beside others, of which hundreds may write at once."""
_LONGEST_RETRY_DELAY_S = 0.032

OLDEST_SQLITE = (3, 33)
"""Has UPDATE FROM."""

WAL_LIMIT_BYTES = 4 * 1024 * 1024
CHECKPOINT_PAGES = 1_000

_NOT_WRITTEN = {sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE}
"""What SQLite says of a failing disk, of a spent quota and of a limit on the size of files alike."""
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_LOCKED = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_GONE = {sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN}
"""What SQLite says of a file that is not there any more; the second where it had yet to open the log beside it."""
SQLITE_ERRORS = (sqlite3.Error, UnicodeDecodeError)
"""What a call of SQLite raises; the second where its message quotes a damaged schema."""
_NOT_WRITABLE = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM}


def connect(
    path: Path | None,
    *,
    mode: Literal["ro", "rw"],
    immutable: bool = False,
    busy_s: float = BUSY_S,
) -> sqlite3.Connection:
    """Open a file that is there, in autocommit mode, never as a checkpointer.

    Args:
        path: An absolute path; None for a new database in memory.
        mode: `ro` never writes, not even to recover.
        immutable: Read the main file alone, without locks; only for a file without a writer.
        busy_s: How long SQLite itself waits for a lock, in seconds.

    Raises:
        sqlite3.Error: As SQLite says it; see `translated`.
        StoreError: If SQLite is older than 3.33.
    """
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        raise StoreError(f"SQLite {sqlite3.sqlite_version} is too old: use a Python that comes with 3.33 or later")
    address = ":memory:" if path is None else f"{path.as_uri()}?mode={mode}{'&immutable=1' if immutable else ''}"
    connection = sqlite3.connect(address, uri=True, timeout=busy_s, isolation_level=None, check_same_thread=False)
    try:
        # Nothing that a file declares may run functions with side effects.
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA wal_autocheckpoint = 0")
    except BaseException:
        connection.close()
        raise
    return connection


def connect_journal_writer(path: Path | None, *, durability: Durability) -> sqlite3.Connection:
    """Open the database as its engine: the one connection that appends and checkpoints.

    Raises:
        sqlite3.Error: As SQLite says it.
    """
    connection = connect(path, mode="rw")
    try:
        connection.execute("PRAGMA journal_mode = WAL").fetchone()
        connection.execute(f"PRAGMA synchronous = {'FULL' if durability == 'full' else 'NORMAL'}")
        connection.execute(f"PRAGMA fullfsync = {'ON' if durability == 'full' else 'OFF'}")
        checkpoint_here(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def checkpoint_here(connection: sqlite3.Connection) -> None:
    """Make this the one connection that takes the log of its file in, and keeps it short."""
    connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}").fetchone()
    connection.execute(f"PRAGMA journal_size_limit = {WAL_LIMIT_BYTES}").fetchone()


@contextmanager
def translated(path: Path | None, *, disposable: bool = False) -> Iterator[None]:
    """Turn SQLite's errors into ours.

    Args:
        path: The file that is worked on; None for memory.
        disposable: As in `CorruptFile`.
    """
    try:
        yield
    except SQLITE_ERRORS as error:
        raise store_error(error, path, disposable=disposable) from error


def store_error(error: Exception, path: Path | None, *, disposable: bool = False) -> StoreError:
    """What one error of SQLite means for a caller."""
    where = path or Path(":memory:")
    code = getattr(error, "sqlite_errorcode", 0)
    primary = code & 0xFF
    if code == sqlite3.SQLITE_FULL:
        return DiskFull(where)
    if code in _NOT_WRITTEN:
        return DiskFull(where) if path is None or finds_no_room(path) else DiskFailed(where)
    if primary in _DAMAGED:
        return CorruptFile(where, str(error), disposable=disposable)
    if isinstance(error, UnicodeDecodeError):
        return CorruptFile(where, "it holds what is no text", disposable=disposable)
    if primary in _LOCKED:
        return StoreBusy(None, None, where)
    if primary in _NOT_WRITABLE:
        return ReadOnlyFolder(where.parent)
    if primary in _GONE and path is not None and not path.exists():
        return StoreError(f"{path} was deleted or moved away while it was open: start again")
    if primary == sqlite3.SQLITE_IOERR:
        return StoreError(
            f"{where}: the disk reports an I/O error ({error}): look at the disk, then run `quarterdeck doctor` on it"
        )
    return StoreError(f"{where}: SQLite says {error}: run `quarterdeck doctor` on it")


def is_busy(error: sqlite3.Error) -> bool:
    """True if another connection holds the lock that was needed."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _LOCKED


def retry_delays_s() -> Iterator[float]:
    """Yield random waits between tries for a lock: SQLite's own back-off starves under contention.

    They grow, so that hundreds of writers leave the processor to the one that holds the lock.
    """
    longest_s = 0.001
    while True:
        yield random.uniform(0.0002, longest_s)
        longest_s = min(2 * longest_s, _LONGEST_RETRY_DELAY_S)


def patiently(work: Callable[[], T], *, limit_s: float = BUSY_S) -> T:
    """Call `work` until no other connection is in its way.

    Args:
        work: One statement on a connection that itself does not wait.
        limit_s: When to give up, in seconds.

    Raises:
        sqlite3.OperationalError: The last refusal, once `limit_s` have passed.
    """
    deadline = time.monotonic() + limit_s
    delays_s = retry_delays_s()
    while True:
        try:
            return work()
        except sqlite3.OperationalError as error:
            if not is_busy(error) or time.monotonic() >= deadline:
                raise
        time.sleep(next(delays_s))
