"""Creates the files of a database. The inbox and the live file are tied to their database by its id.

A file is built whole under a temporary name, synced, then renamed: no reader ever sees half a file, even after a crash.
"""

import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path

from store.errors import CorruptFile, NoPermission, NotOurFile
from store.journals.statements import ANY_PENDING
from store.layout.connection import checkpoint_here, connect, translated
from store.layout.file_check import open_recognised
from store.layout.files import Files, exists, is_writable, new_beside, put_in_place
from store.layout.migrations import INBOX, LIVE, Kind, migrate
from store.wall_clock import wall_ms


def create_file(
    path: Path, kind: Kind, about: Mapping[str, object], *, fill: Callable[[sqlite3.Connection], None] = lambda _: None
) -> None:
    """Make an empty file of a kind, unless another process was first.

    Args:
        path: Where it is to stand; nothing or an empty file is there.
        about: What to note in it, beside the time.
        fill: Called with the file before other processes can see it.

    Raises:
        ReadOnlyFolder, DiskFull: What stands in the way.
    """
    temporary = new_beside(path)
    try:
        with translated(path):
            connection = connect(temporary, mode="rw")
            try:
                # It is not visible yet, so one sync of the whole file at the end is enough.
                connection.execute("PRAGMA journal_mode = MEMORY").fetchone()
                connection.execute("PRAGMA synchronous = OFF")
                lay_out(connection, kind, about)
                fill(connection)
                connection.execute("PRAGMA journal_mode = WAL").fetchone()
            finally:
                connection.close()
        put_in_place(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def lay_out(connection: sqlite3.Connection, kind: Kind, about: Mapping[str, object]) -> None:
    """Fill an empty database with the tables of a kind."""
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    migrate(connection, kind)
    noted = {"created_ms": wall_ms(), **about}
    for key, value in noted.items():
        connection.execute("INSERT INTO about (key, value) VALUES (?, ?)", (key, value))


def about_of(connection: sqlite3.Connection) -> dict[str, object]:
    """What a file notes about itself."""
    return dict(connection.execute("SELECT key, value FROM about").fetchall())


def prepare_inbox(files: Files, file_id: str) -> None:
    """Have an inbox for this database; for the engine, under its lock.

    One that was left over from another database is replaced, unless commands wait in it.

    Raises:
        NotOurFile, CorruptFile, NewerFile: If something else stands there.
    """
    if exists(files.inbox, disposable=True):
        connection, _ = open_recognised(files.inbox, INBOX)
        try:
            with translated(files.inbox, disposable=True):
                if about_of(connection).get("file_id") == file_id:
                    return
                (waiting,) = connection.execute(ANY_PENDING).fetchone()
        finally:
            connection.close()
        if waiting:
            raise _of_another_database(files.inbox)
        _remove(files.inbox)
    create_file(files.inbox, INBOX, {"file_id": file_id})


def open_inbox(files: Files, file_id: str, *, as_engine: bool = False) -> sqlite3.Connection:
    """Open the inbox to write commands or outcomes; it never waits for a lock by itself.

    The engine is its one checkpointer. A client's command is on disk once it is put; an outcome that a power
    cut takes back is found again by the command's id.

    Raises:
        NotOurFile, CorruptFile, NewerFile, NoPermission: If it cannot be used.
        sqlite3.OperationalError: If another connection is in the way.
    """
    open_recognised(files.inbox, INBOX)[0].close()
    if not is_writable(files.inbox):
        raise NoPermission(files.inbox)
    connection = connect(files.inbox, mode="rw", busy_s=0)
    try:
        if about_of(connection).get("file_id") != file_id:
            raise _of_another_database(files.inbox)
        migrate(connection, INBOX)
        connection.execute(f"PRAGMA synchronous = {'NORMAL' if as_engine else 'FULL'}")
        if as_engine:
            checkpoint_here(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def prepare_live(files: Files, file_id: str) -> None:
    """Have a sound live file; for the engine, under its lock.

    Nothing in it outlives an engine, so one that a power cut damaged is made again.

    Raises:
        NotOurFile, NewerFile: If something else stands there.
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
    connection, _ = open_recognised(path, LIVE)
    try:
        with translated(path, disposable=True):
            (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
            return bool(found == "ok" and about_of(connection).get("file_id") == file_id)
    finally:
        connection.close()


def _of_another_database(path: Path) -> NotOurFile:
    return NotOurFile(path, "holds commands for another database", disposable=True)


def _remove(path: Path) -> None:
    for suffix in ("-wal", "-shm", ""):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
