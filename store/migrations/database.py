"""`team.db`: journal, snapshots, lease."""

from store.migrations import Kind

_VERSION_1 = (
    "CREATE TABLE about (key TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID",
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

_VERSION_2: tuple[str, ...] = ()  # bodies of events are tagged in another way

DATABASE = Kind("database", 0x51444A31, (_VERSION_1, _VERSION_2), disposable=False, oldest=2)
