"""Creates the files of a database. The inbox and the live file contain the id of their database.

A file is built whole under a temporary name, synced, then renamed: no reader ever sees half a file, even after a crash.
"""

import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

from store.errors import CorruptFile, NoPermission, NotOurFile
from store.journals.statements import ANY_PENDING
from store.layout.connection import closed_on_error, connect, enable_checkpoints, translate_errors
from store.layout.file_check import open_checked
from store.layout.files import Files, create_temporary, exists, is_writable, put_in_place
from store.layout.migrations import INBOX, LIVE, Kind, migrate
from store.wall_clock import wall_ms


def create_file(
    path: Path, kind: Kind, about: Mapping[str, object], *, fill: Callable[[sqlite3.Connection], None] = lambda _: None
) -> None:
    """Create a file of a kind, unless another process was first.

    Args:
        path: Path of the file; it does not exist or is empty.
        about: Rows for its table `about`, in addition to the creation time.
        fill: Called with the connection before other processes can see the file.

    Raises:
        ReadOnlyFolder, DiskFull: If it cannot be created.
    """
    temporary = create_temporary(path)
    try:
        with translate_errors(path), closing(connect(temporary, mode="rw")) as connection:
            # It is not visible yet, so one sync of the whole file at the end is enough.
            connection.execute("PRAGMA journal_mode = MEMORY").fetchone()
            connection.execute("PRAGMA synchronous = OFF")
            lay_out(connection, kind, about)
            fill(connection)
            connection.execute("PRAGMA journal_mode = WAL").fetchone()
        put_in_place(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def lay_out(connection: sqlite3.Connection, kind: Kind, about: Mapping[str, object]) -> None:
    """Fill an empty database with the tables of a kind."""
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    migrate(connection, kind)
    entries = {"created_ms": wall_ms(), **about}
    for key, value in entries.items():
        connection.execute("INSERT INTO about (key, value) VALUES (?, ?)", (key, value))


def read_about(connection: sqlite3.Connection) -> dict[str, object]:
    """Return the rows of the table `about`."""
    return dict(connection.execute("SELECT key, value FROM about").fetchall())


def prepare_inbox(files: Files, file_id: str) -> None:
    """Create the inbox of this database if it is missing; called by the engine, under its lock.

    The inbox of another database is replaced, unless it has pending commands.

    Raises:
        NotOurFile, CorruptFile, NewerFile: If an existing file cannot be used.
    """
    if exists(files.inbox, disposable=True):
        inbox = closing(open_checked(files.inbox, INBOX)[0])
        with inbox as connection, translate_errors(files.inbox, disposable=True):
            if read_about(connection).get("file_id") == file_id:
                return
            (is_pending,) = connection.execute(ANY_PENDING).fetchone()
        if is_pending:
            raise _foreign_inbox(files.inbox)
        _remove(files.inbox)
    create_file(files.inbox, INBOX, {"file_id": file_id})


def open_inbox(files: Files, file_id: str, *, as_engine: bool = False) -> sqlite3.Connection:
    """Open the inbox to write commands or outcomes, without a timeout for locks.

    Only the engine checkpoints it. A client's command is on disk when it is queued; an outcome that is lost in a power
    cut is restored by the command's id.

    Raises:
        NotOurFile, CorruptFile, NewerFile, NoPermission: If it cannot be used.
        sqlite3.OperationalError: If another connection holds a lock.
    """
    open_checked(files.inbox, INBOX)[0].close()
    if not is_writable(files.inbox):
        raise NoPermission(files.inbox)
    with closed_on_error(connect(files.inbox, mode="rw", busy_s=0)) as connection:
        if read_about(connection).get("file_id") != file_id:
            raise _foreign_inbox(files.inbox)
        migrate(connection, INBOX)
        connection.execute(f"PRAGMA synchronous = {'NORMAL' if as_engine else 'FULL'}")
        if as_engine:
            enable_checkpoints(connection)
    return connection


def prepare_live(files: Files, file_id: str) -> None:
    """Create the live file if it is missing or damaged; called by the engine, under its lock.

    Its content is not needed after a restart.

    Raises:
        NotOurFile, NewerFile: If an existing file cannot be used.
    """
    if exists(files.live, disposable=True):
        try:
            if _is_sound(files.live, file_id):
                return
        except CorruptFile:
            pass
        _remove(files.live)
    create_file(files.live, LIVE, {"file_id": file_id})


def _is_sound(path: Path, file_id: str) -> bool:
    with closing(open_checked(path, LIVE)[0]) as connection, translate_errors(path, disposable=True):
        (result,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        return bool(result == "ok" and read_about(connection).get("file_id") == file_id)


def _foreign_inbox(path: Path) -> NotOurFile:
    return NotOurFile(path, "holds commands for another database", disposable=True)


def _remove(path: Path) -> None:
    for suffix in ("-wal", "-shm", ""):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
