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
from store.layout.files import is_disk_full

T = TypeVar("T")

Durability = Literal["full", "normal"]
"""`full`: on disk when acknowledged. `normal`: a power cut can lose the newest rows, never one in between."""

BUSY_S = 5.0
"""Timeout for a lock in a file, in seconds."""
SEND_TIMEOUT_S = 30.0
"""Timeout of a client that queues a command, in seconds: hundreds of others may write at the same time."""
_MAX_RETRY_DELAY_S = 0.032

MIN_SQLITE_VERSION = (3, 33)
"""First version with UPDATE FROM."""

WAL_LIMIT_BYTES = 4 * 1024 * 1024
CHECKPOINT_PAGES = 1_000

_WRITE_FAILURES = {sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE}
"""Codes of SQLite for a failing disk, an exhausted quota and a limit on file sizes alike."""
_CORRUPTION_CODES = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_BUSY_CODES = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_MISSING_FILE_CODES = {sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN}
"""Codes of SQLite for a file that no longer exists; the second if its log was not open yet."""
SQLITE_ERRORS = (sqlite3.Error, UnicodeDecodeError)
"""Exceptions of a call of SQLite; the second if its message quotes a damaged schema."""
_READ_ONLY_CODES = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM}


def connect(
    path: Path | None, *, mode: Literal["ro", "rw"], immutable: bool = False, busy_s: float = BUSY_S
) -> sqlite3.Connection:
    """Open an existing file in autocommit mode, without automatic checkpoints.

    Args:
        path: An absolute path; None for a new database in memory.
        mode: `ro` never writes, not even to recover.
        immutable: Read the main file alone, without locks; only for a file without a writer.
        busy_s: SQLite's own timeout for a lock, in seconds.

    Raises:
        sqlite3.Error: SQLite's error; see `translate_errors`.
        StoreError: If SQLite is older than 3.33.
    """
    if sqlite3.sqlite_version_info < MIN_SQLITE_VERSION:
        raise StoreError(f"SQLite {sqlite3.sqlite_version} is too old: use a Python that comes with 3.33 or later")
    address = ":memory:" if path is None else f"{path.as_uri()}?mode={mode}{'&immutable=1' if immutable else ''}"
    connection = sqlite3.connect(address, uri=True, timeout=busy_s, isolation_level=None, check_same_thread=False)
    with closed_on_error(connection):
        # The schema of a file must not call functions with side effects.
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA wal_autocheckpoint = 0")
    return connection


@contextmanager
def closed_on_error(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """Close a connection if the body, which prepares it, fails."""
    try:
        yield connection
    except BaseException:
        connection.close()
        raise


def connect_journal_writer(path: Path | None, *, durability: Durability) -> sqlite3.Connection:
    """Open the database as its engine: the only connection that appends and checkpoints.

    Raises:
        sqlite3.Error: SQLite's error.
    """
    with closed_on_error(connect(path, mode="rw")) as connection:
        connection.execute("PRAGMA journal_mode = WAL").fetchone()
        connection.execute(f"PRAGMA synchronous = {'FULL' if durability == 'full' else 'NORMAL'}")
        connection.execute(f"PRAGMA fullfsync = {'ON' if durability == 'full' else 'OFF'}")
        enable_checkpoints(connection)
    return connection


def enable_checkpoints(connection: sqlite3.Connection) -> None:
    """Let this connection checkpoint its file and limit the size of the log; only one connection per file may."""
    connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}").fetchone()
    connection.execute(f"PRAGMA journal_size_limit = {WAL_LIMIT_BYTES}").fetchone()


@contextmanager
def translate_errors(path: Path | None, *, disposable: bool = False) -> Iterator[None]:
    """Translate SQLite's errors about a file, or memory, into those of this package."""
    try:
        yield
    except SQLITE_ERRORS as error:
        raise to_store_error(error, path, disposable=disposable) from error


def to_store_error(error: Exception, path: Path | None, *, disposable: bool = False) -> StoreError:
    """Return the error of this package for an error of SQLite."""
    target = path or Path(":memory:")
    code = getattr(error, "sqlite_errorcode", 0)
    primary = code & 0xFF
    if code == sqlite3.SQLITE_FULL:
        return DiskFull(target)
    if code in _WRITE_FAILURES:
        return DiskFull(target) if path is None or is_disk_full(path) else DiskFailed(target)
    if primary in _CORRUPTION_CODES:
        return CorruptFile(target, str(error), disposable=disposable)
    # For the text of a row, `sqlite3` raises an error of its own, which has no code.
    if isinstance(error, UnicodeDecodeError) or str(error).startswith("Could not decode to UTF-8"):
        return CorruptFile(target, "it contains invalid UTF-8", disposable=disposable)
    if primary in _BUSY_CODES:
        return StoreBusy(None, None, target)
    if primary in _READ_ONLY_CODES:
        return ReadOnlyFolder(target.parent)
    if primary in _MISSING_FILE_CODES and path is not None and not path.exists():
        return StoreError(f"{path} was deleted or moved away while it was open: start again")
    if primary == sqlite3.SQLITE_IOERR:
        return StoreError(
            f"{target}: the disk reports an I/O error ({error}): look at the disk, then run `quarterdeck doctor` on it"
        )
    return StoreError(f"{target}: SQLite says {error}: run `quarterdeck doctor` on it")


def is_busy(error: sqlite3.Error) -> bool:
    """Return whether another connection holds the lock."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _BUSY_CODES


def retry_delays_s() -> Iterator[float]:
    """Yield random delays between attempts at a lock: SQLite's own back-off starves under contention.

    They grow, so that hundreds of waiting writers leave the processor to the holder of the lock.
    """
    max_delay_s = 0.001
    while True:
        yield random.uniform(0.0002, max_delay_s)
        max_delay_s = min(2 * max_delay_s, _MAX_RETRY_DELAY_S)


def retry_while_busy(work: Callable[[], T], *, limit_s: float = BUSY_S) -> T:
    """Call `work` until it is not refused because of another connection's lock.

    Args:
        work: One statement on a connection without a timeout of its own.
        limit_s: Timeout in seconds.

    Raises:
        sqlite3.OperationalError: The last refusal, after `limit_s`.
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
