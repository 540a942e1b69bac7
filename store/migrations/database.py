"""`team.db`: journal, snapshots, lease."""

from store.migrations import Kind

BLOCK = 1_000
"""Events that are summed up together, once the last of them is there."""

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

_VERSION_3 = (
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

DATABASE = Kind("database", 0x51444A31, (_VERSION_1, _VERSION_2, _VERSION_3), disposable=False, oldest=3)
