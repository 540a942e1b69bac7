"""The disk of a simulated history: the store's SQL on databases in memory, which can fail between any two writes.

`Disk` outlives engines as a file does. Each engine gets a `Store` over connections of its own; `SimulatedConnection`
stands where `aiosqlite` would, answers without a thread, and asks before and after every write whether the engine
lives on.
"""

import itertools
import sqlite3
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, cast

import anyio
from anyio.lowlevel import checkpoint

from engine.core.encoding.codec import decode_events
from engine.core.events import Event
from engine.platform.clock import Clock
from store import CommandRow
from store.errors import StoreError
from store.inbox import Inbox
from store.journals.journal import Journal, read_end
from store.journals.records import anchor_of
from store.journals.snapshots import RECENT_SNAPSHOTS, Snapshots
from store.journals.statements import COMMAND_OUTCOME, RECORD_COLUMNS, parse_command, pending_commands, put_commands
from store.layout.migrations import DATABASE, INBOX, Kind
from store.layout.opening import Store
from store.layout.sidecar_files import lay_out
from store.leadership.lease import Lease, raise_token
from store.leadership.process import Process
from store.live import LiveOutput

FILE_ID = "simulated"
_numbers = itertools.count()
"""Numbers that keep databases in memory apart; the journal does not depend on them."""


class EngineKilled(StoreError):
    """The engine that wrote was killed; none of its writes reach the disk any more."""


class DiskFaults:
    """Disk faults that are planned for one engine.

    Attributes:
        kill_in: Writes until the engine dies; None lets it live.
        kill_after: Whether the last of them is on disk or not.
        full_until_ms: While the clock is before it, there is no room.
        stall_ms: How long the next write takes.
        turns: Returns how many turns of the loop pass before a write is on disk, and then until the engine hears of it.
    """

    def __init__(self, on_killed: Callable[[], None], turns: Callable[[], int] = lambda: 0) -> None:
        self.is_killed = False
        self.kill_in: int | None = None
        self.kill_after = False
        self.full_until_ms = 0
        self.stall_ms = 0
        self.turns = turns
        self._skips_delays = False
        self._stall_scope: anyio.CancelScope | None = None
        self._on_killed = on_killed

    @property
    def is_waiting(self) -> bool:
        """True while a write is delayed."""
        return self._stall_scope is not None

    def kill(self) -> None:
        """Kill the engine at once."""
        self.refuse_writes()
        self._on_killed()

    def refuse_writes(self) -> None:
        """Refuse all writes from now on, and cancel a delayed one."""
        self.is_killed = True
        self.end_delays()

    def end_delays(self) -> None:
        """Delay no further write, and end a present delay; the clock stands still from now on."""
        self._skips_delays = True
        if self._stall_scope is not None:
            self._stall_scope.cancel()

    async def stall(self, clock: Clock) -> None:
        """Delay a write while the clock of the engine goes on."""
        due_ms, self.stall_ms = clock.now_ms() + self.stall_ms, 0
        if self._skips_delays:
            return
        clock.release()
        with anyio.CancelScope() as self._stall_scope:
            await clock.sleep_until(due_ms)
        self._stall_scope = None
        clock.hold()


class SimulatedConnection:
    """A database connection with the interface of `aiosqlite`, without a thread."""

    def __init__(
        self, connection: sqlite3.Connection, clock: Clock, faults: DiskFaults, on_write: Callable[[], None] | None
    ) -> None:
        self._can_stall = on_write is not None  # who writes the journal holds the clock meanwhile
        self._connection = connection
        self._clock = clock
        self._faults = faults
        self._on_write = on_write

    async def execute_fetchall(self, sql: str, parameters: Any = ()) -> Iterable[Any]:
        """Execute one statement and return its rows."""
        return (await self._execute(sql, parameters)).fetchall()

    async def execute(self, sql: str, parameters: Any = ()) -> sqlite3.Cursor:
        """Execute one statement and return its cursor."""
        return await self._execute(sql, parameters)

    async def _execute(self, sql: str, parameters: Any) -> sqlite3.Cursor:
        faults = self._faults
        if faults.is_killed:
            raise EngineKilled("this engine was killed")
        if sql.lstrip().startswith("SELECT"):
            return self._connection.execute(sql, parameters)
        await self._delay_or_fail()
        cursor = self._connection.execute(sql, parameters)
        if self._on_write is not None:
            self._on_write()
        if faults.kill_in == 0:
            faults.kill()
        await self._run_loop_turns()
        if faults.is_killed:
            raise EngineKilled("this engine was killed after it wrote")
        return cursor

    async def _delay_or_fail(self) -> None:
        faults, clock = self._faults, self._clock
        await self._run_loop_turns()
        if faults.is_killed:
            raise EngineKilled("this engine was killed before it wrote")
        if faults.kill_in is not None:
            faults.kill_in -= 1
            if faults.kill_in <= 0 and not faults.kill_after:
                faults.kill()
                raise EngineKilled("this engine was killed before it wrote")
        if faults.stall_ms and self._can_stall:
            await faults.stall(clock)
            if faults.is_killed:
                raise EngineKilled("this engine was killed while it waited for the disk")
        if clock.now_ms() < faults.full_until_ms:
            full = sqlite3.OperationalError("database or disk is full")
            full.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise full

    async def _run_loop_turns(self) -> None:
        """Let the event loop run for some turns while the journal is written."""
        for _ in range(self._faults.turns() if self._can_stall else 0):
            await checkpoint()


class MemorySnapshots:
    """Snapshots in memory; the store's own compress in a thread, whose timing is not deterministic."""

    def __init__(self, bodies: dict[int, bytes], faults: DiskFaults, journal: sqlite3.Connection) -> None:
        self._bodies = bodies
        self._faults = faults
        self._journal = journal

    async def save(self, seq: int, body: bytes) -> None:
        """Keep the state as it was after record `seq`; raises ValueError if the journal does not reach it."""
        faults = self._faults
        if faults.is_killed:
            raise EngineKilled("this engine was killed")
        if seq > read_end(self._journal)[0]:
            raise ValueError(f"cannot save a snapshot at {seq}: the journal does not reach it")
        self._bodies[seq] = body
        for old in sorted(self._bodies)[:-RECENT_SNAPSHOTS]:
            del self._bodies[old]

    async def latest(self, at_seq: int | None = None) -> tuple[int, bytes] | None:
        """Return the newest snapshot at or before a record."""
        seqs = [seq for seq in self._bodies if at_seq is None or seq <= at_seq]
        return (max(seqs), self._bodies[max(seqs)]) if seqs else None


class Disk:
    """The parts that outlive engines: journal, inbox, snapshots and the token of the lease."""

    def __init__(self) -> None:
        number = next(_numbers)
        self._database = f"file:simulated-{number}?mode=memory&cache=shared"
        self._inbox = f"file:simulated-{number}-inbox?mode=memory&cache=shared"
        self._connections: list[sqlite3.Connection] = []
        self.snapshots: dict[int, bytes] = {}
        self.heard_ms: int | None = None
        """The last heartbeat of the engine before."""
        self._journal_reader = self._create_database(
            self._database, DATABASE, {"file_id": FILE_ID, "anchor_seq": 0, "anchor_hash": anchor_of(FILE_ID)}
        )
        self._inbox_reader = self._create_database(self._inbox, INBOX, {})

    def _create_database(self, address: str, kind: Kind, about: dict[str, object]) -> sqlite3.Connection:
        connection = self._connect(address)
        lay_out(connection, kind, about)
        return connection

    def _connect(self, address: str) -> sqlite3.Connection:
        connection = sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False)
        self._connections.append(connection)
        return connection

    def open(self, clock: Clock, faults: DiskFaults, on_write: Callable[[], None]) -> Store:
        """Open the disk as a new engine: raise the token, so that an earlier engine can write no more."""
        writer = self._connect(self._database)
        inbox = self._connect(self._inbox)
        token = raise_token(writer, Process(1, "", "", "simulated"), clock.now_ms())
        lease = Lease(token)
        connection = cast(Any, SimulatedConnection(writer, clock, faults, on_write))
        # With a path the host writes each batch before it acts on it, and takes snapshots.
        return Store(
            path=Path("simulated"),
            file_id=FILE_ID,
            journal=Journal(connection, connection, path=None, token=token, end=read_end(writer)),
            inbox=Inbox(cast(Any, SimulatedConnection(inbox, clock, faults, None)), path=None),
            snapshots=cast(Snapshots, MemorySnapshots(self.snapshots, faults, writer)),
            live=LiveOutput(lease, None),
            lease=lease,
            heard_ms=self.heard_ms,
        )

    def depose(self, at_ms: int) -> None:
        """Raise the token without writing, as an engine does that has just taken over."""
        raise_token(self._journal_reader, Process(2, "", "", "simulated"), at_ms)

    @property
    def end(self) -> tuple[int, bytes]:
        """Seq and hash of the last record; the hash stands for the whole history."""
        return read_end(self._journal_reader)

    def events(self, after_seq: int) -> list[Event]:
        """Return the records of the journal after a record."""
        rows = self._journal_reader.execute(
            f"SELECT {RECORD_COLUMNS} FROM journal WHERE seq > ? ORDER BY seq", (after_seq,)
        )
        return decode_events([(row[0], row[2], row[3]) for row in rows])

    def put(self, row: CommandRow) -> None:
        """Queue a command in the inbox, as a client does without an engine."""
        self._inbox_reader.execute(*put_commands([row]))

    def outcome(self, command_id: str) -> tuple[str, int | None] | None:
        """Return state and seq of a command in the inbox; None if none has this id."""
        row = self._inbox_reader.execute(COMMAND_OUTCOME, (command_id,)).fetchone()
        return (row[1], row[2]) if row else None

    def pending(self) -> list[str]:
        """Return the ids of commands in the inbox that have no outcome yet."""
        rows = self._inbox_reader.execute(*pending_commands(limit=10_000))
        return [row.id for row in map(parse_command, rows) if row is not None]

    def close(self) -> None:
        """Close all connections, which drops the databases."""
        for connection in self._connections:
            connection.close()
