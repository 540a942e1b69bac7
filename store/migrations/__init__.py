"""How each kind of file is laid out, one tuple of statements a version, oldest first.

A released version never changes: what is different later is one more version. `schema_of` runs
the same statements in memory, and what a file holds must equal that before it is written to.
"""

import sqlite3
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, slots=True)
class Kind:
    """One of the kinds of file that this package writes."""

    name: str
    """What it is, in messages."""
    application_id: int
    """Stands in the header of the file (PRAGMA application_id)."""
    versions: tuple[tuple[str, ...], ...]
    """Statements that lead from each version to the next; version 1 starts from an empty file."""
    disposable: bool
    """True if the file may be deleted while no engine runs."""
    oldest: int = 1
    """The first version whose content this program reads."""

    @property
    def newest(self) -> int:
        """Version that this program writes."""
        return len(self.versions)


def migrate(connection: sqlite3.Connection, kind: Kind) -> None:
    """Bring a file to the newest version, in one transaction.

    Args:
        connection: In autocommit mode, on an empty file or on one whose schema was compared.
        kind: What the file is.
    """
    version = version_of(connection)
    if version == kind.newest:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        for statements in kind.versions[version:]:
            for statement in statements:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {kind.application_id}")
        connection.execute(f"PRAGMA user_version = {kind.newest}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def version_of(connection: sqlite3.Connection) -> int:
    """Version of the layout of an open file, 0 for an empty one."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


Schema = frozenset[tuple[str, str, str]]
"""Type, name and statement of each table, index, trigger and view."""


def schema_in(connection: sqlite3.Connection) -> Schema:
    """What an open file declares; SQLite's own tables aside."""
    found = connection.execute("SELECT type, name, ifnull(sql, '') FROM sqlite_master").fetchall()
    return frozenset(entry for entry in found if not str(entry[1]).startswith("sqlite_"))


@cache
def schema_of(kind: Kind, version: int) -> Schema:
    """What a file of a kind declares at a version."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        for statements in kind.versions[:version]:
            for statement in statements:
                connection.execute(statement)
        return schema_in(connection)
    finally:
        connection.close()
