"""`team.db-inbox`: commands, and what became of them."""

from store.migrations import Kind

_VERSION_1 = (
    "CREATE TABLE about (key TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID",
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

INBOX = Kind("inbox", 0x51444931, (_VERSION_1,), disposable=True)
