"""Schemas of the files, as migrations: one tuple of statements per version, oldest first.

A released version never changes; a change of the schema is a new version. `expected_schema` runs the same statements in
memory, and the schema of a file must equal the result before anything is written to it.
"""

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of file of this package."""

    name: str
    """Its name in messages."""
    application_id: int
    """Written in the header of the file (PRAGMA application_id)."""
    versions: tuple[tuple[str, ...], ...]
    """Statements from each version to the next; version 1 starts from an empty file."""
    disposable: bool
    """True if the file may be deleted while no engine runs."""
    oldest: int = 1
    """The oldest version whose content this program reads."""

    @property
    def newest(self) -> int:
        """The version that this program writes."""
        return len(self.versions)


def migrate(connection: sqlite3.Connection, kind: Kind) -> None:
    """Migrate a file to the newest version, in one transaction.

    Args:
        connection: In autocommit mode, on an empty file or on one whose schema was compared.
        kind: Kind of the file.
    """
    version = read_version(connection)
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


def read_version(connection: sqlite3.Connection) -> int:
    """Return the schema version of an open file, 0 for an empty one."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


Schema = frozenset[tuple[str, str, str]]
"""Type, name and statement of each table, index, trigger and view."""


def read_schema(connection: sqlite3.Connection) -> Schema:
    """Return the schema of an open file, without SQLite's own tables."""
    entries = connection.execute("SELECT type, name, ifnull(sql, '') FROM sqlite_master").fetchall()
    return frozenset(entry for entry in entries if not str(entry[1]).startswith("sqlite_"))


@cache
def expected_schema(kind: Kind, version: int) -> Schema:
    """Return the schema of a kind of file at a version."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        for statements in kind.versions[:version]:
            for statement in statements:
                connection.execute(statement)
        return read_schema(connection)


BLOCK = 1_000
"""Events per summary; a block is summarized when its last event is appended."""

_ABOUT = "CREATE TABLE about (key TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID"

_DATABASE_1 = (
    _ABOUT,
    """CREATE TABLE lease (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        token INTEGER NOT NULL,
        pid INTEGER,
        started TEXT,
        boot_id TEXT,
        host TEXT,
        since_ms INTEGER,
        ended_ms INTEGER
    )""",
    "INSERT INTO lease (one, token) VALUES (1, 0)",
    """CREATE TABLE journal (
        seq INTEGER PRIMARY KEY,
        at_ms INTEGER NOT NULL,
        kind TEXT NOT NULL,
        run_id TEXT,
        task_id TEXT,
        agent_id TEXT,
        body TEXT NOT NULL,
        hash BLOB NOT NULL
    )""",
    # The page of a run reads by it, and every task belongs to one run. An index by agent would cost each
    # append a quarter more; that filter reads backward from the newest record instead.
    "CREATE INDEX journal_run ON journal (run_id) WHERE run_id IS NOT NULL",
    "CREATE TABLE snapshots (seq INTEGER PRIMARY KEY, body BLOB NOT NULL)",
)

_DATABASE_2: tuple[str, ...] = ()  # Same schema; the bodies of events are tagged differently.

_DATABASE_3 = (
    """CREATE TABLE blocks (
        kind TEXT NOT NULL,
        block INTEGER NOT NULL,
        count INTEGER NOT NULL,
        first_ms INTEGER NOT NULL,
        last_ms INTEGER NOT NULL,
        PRIMARY KEY (kind, block)
    ) WITHOUT ROWID""",
    # In the statement that appends, so in its transaction; 0.3 ms once in a block.
    f"""CREATE TRIGGER block_is_full AFTER INSERT ON journal WHEN NEW.seq % {BLOCK} = 0 BEGIN
        INSERT INTO blocks
        SELECT kind, NEW.seq / {BLOCK} - 1, count(*), min(at_ms), max(at_ms)
          FROM journal WHERE seq > NEW.seq - {BLOCK} AND seq <= NEW.seq GROUP BY kind;
    END""",
)

_DATABASE_4: tuple[str, ...] = ()  # Same schema; imported agents carry the time that they worked themselves.

DATABASE = Kind(
    "database", 0x51444A31, (_DATABASE_1, _DATABASE_2, _DATABASE_3, _DATABASE_4), disposable=False, oldest=4
)
"""`team.db`: journal, snapshots, lease."""

_INBOX_1 = (
    _ABOUT,
    """CREATE TABLE commands (
        place INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        kind TEXT NOT NULL,
        body TEXT NOT NULL,
        sender TEXT NOT NULL,
        role TEXT NOT NULL,
        at_ms INTEGER NOT NULL,
        state TEXT NOT NULL DEFAULT 'pending',
        seq INTEGER,
        reason TEXT,
        result TEXT
    )""",
    "CREATE INDEX commands_pending ON commands (place) WHERE state = 'pending'",
)

_INBOX_2 = (
    "CREATE INDEX commands_by_kind ON commands (kind, place) WHERE state = 'pending'",
    "CREATE INDEX commands_by_sender ON commands (sender, place) WHERE state = 'pending'",
)

INBOX = Kind("inbox", 0x51444931, (_INBOX_1, _INBOX_2), disposable=True)
"""`team.db-inbox`: commands and their outcomes."""

_LIVE_1 = (
    _ABOUT,
    """CREATE TABLE heartbeat (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        token INTEGER NOT NULL,
        boot_id TEXT NOT NULL,
        beat_ms INTEGER NOT NULL,
        loop_ms INTEGER
    )""",
    "CREATE TABLE texts (key TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID",
)

_LIVE_2 = ("ALTER TABLE heartbeat ADD COLUMN at_ms INTEGER",)

_LIVE_3 = (
    """CREATE TABLE mark (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        token INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        durability TEXT NOT NULL
    )""",
)

LIVE = Kind("live output", 0x51444C31, (_LIVE_1, _LIVE_2, _LIVE_3), disposable=True)
"""`team.db-live`: heartbeat, streamed text, and the last acknowledged seq of the journal."""
