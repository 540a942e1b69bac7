"""How a file comes to be: built whole under another name, on disk, then given its own name.

So nobody ever sees half a file, also after a crash in between.
"""

import sqlite3
import time
from collections.abc import Mapping
from pathlib import Path

from store.connection import connect, translated
from store.files import new_beside, put_in_place
from store.migrations import Kind, migrate


def create_file(path: Path, kind: Kind, about: Mapping[str, object]) -> None:
    """Make an empty file of a kind, unless another process was first.

    Args:
        path: Where it is to stand; nothing or an empty file is there.
        kind: What it is.
        about: What to note in it, beside the time.

    Raises:
        ReadOnlyFolder, DiskFull: What stands in the way.
    """
    temporary = new_beside(path)
    try:
        with translated(path):
            connection = connect(temporary, mode="rw")
            try:
                # Nobody can see it yet: one sync of the whole file at the end does.
                connection.execute("PRAGMA journal_mode = MEMORY").fetchone()
                connection.execute("PRAGMA synchronous = OFF")
                lay_out(connection, kind, about)
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
    noted = {"created_ms": time.time_ns() // 1_000_000, **about}
    for key, value in noted.items():
        connection.execute("INSERT INTO about (key, value) VALUES (?, ?)", (key, value))


def about_of(connection: sqlite3.Connection) -> dict[str, object]:
    """What a file notes about itself."""
    return dict(connection.execute("SELECT key, value FROM about").fetchall())
