"""`team.db-live`: heartbeat, streamed text, and how far the journal was acknowledged."""

from store.migrations import Kind

_VERSION_1 = (
    "CREATE TABLE about (key TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID",
    """CREATE TABLE heartbeat (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        token INTEGER NOT NULL,
        boot_id TEXT NOT NULL,
        beat_ms INTEGER NOT NULL,
        loop_ms INTEGER
    )""",
    "CREATE TABLE texts (key TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID",
)

_VERSION_2 = ("ALTER TABLE heartbeat ADD COLUMN at_ms INTEGER",)

_VERSION_3 = (
    """CREATE TABLE mark (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        token INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        durability TEXT NOT NULL
    )""",
)

LIVE = Kind("live output", 0x51444C31, (_VERSION_1, _VERSION_2, _VERSION_3), disposable=True)
