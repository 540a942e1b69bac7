"""What goes into a store and what comes out of it, and the hash that ties each record to the one before.

Records are opaque here: a kind, and a body of UTF-8 JSON that this package never looks into. Times are UTC
milliseconds.
"""

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal, TypeVar, dataclass_transform

from store.errors import CommandTooLarge

T = TypeVar("T")

LARGEST_COMMAND_BYTES = 8_000_000
"""Of the body of a command in an inbox: several times the largest request or team file."""


@dataclass_transform(frozen_default=True)
def _row(cls: type[T]) -> type[T]:
    """Slotted, and frozen for the type checker only: a truly frozen one costs a microsecond more a record."""
    make: Callable[[type[T]], type[T]] = dataclass(slots=True)
    return make(cls)


@_row
class Row:
    """A record that is about to be appended."""

    at_ms: int
    kind: str
    body: bytes
    run_id: str | None = None
    task_id: str | None = None
    agent_id: str | None = None


@_row
class Record:
    """A record as it stands in the journal."""

    seq: int
    """Place in the journal, 1 for the first; without gaps."""
    at_ms: int
    kind: str
    body: bytes
    run_id: str | None
    task_id: str | None
    agent_id: str | None


@dataclass(frozen=True, slots=True)
class CommandRow:
    """A request that waits in the inbox."""

    id: str
    """Made by the sender; a second put with the same id changes nothing."""
    kind: str
    body: bytes
    sender: str
    role: str
    """What the sender claims to be, for the audit; file modes decide who may write."""
    at_ms: int
    fault: str = ""
    """Of a row that was read: why it cannot be a command, whatever its body says; empty where it can."""

    def __post_init__(self) -> None:
        """Refuse what no engine would take.

        Raises:
            CommandTooLarge: If the body is larger than `LARGEST_COMMAND_BYTES`.
        """
        if len(self.body) > LARGEST_COMMAND_BYTES:
            raise CommandTooLarge(len(self.body), LARGEST_COMMAND_BYTES)


@dataclass(frozen=True, slots=True)
class CommandOutcome:
    """What became of a command."""

    id: str
    state: Literal["pending", "applied", "refused"]
    seq: int | None
    """Record that applied or refused it."""
    reason: str | None
    """Why it was refused."""
    result: bytes | None
    """UTF-8 JSON for the sender."""


HUNG_AFTER_MS = 3_000
"""A heartbeat, or a tick of the loop, older than this is taken for a hung or stopped engine."""


@dataclass(frozen=True, slots=True)
class EngineInfo:
    """Who holds the lease of a file, or held it last."""

    pid: int
    alive: bool
    """True while the operating system's lock is held."""
    since_ms: int
    """When it acquired the lease."""
    token: int
    heartbeat_ms: int | None
    """Age of its last heartbeat in milliseconds; None when there is none from this boot."""
    loop_ms: int | None
    """Milliseconds since its loop last turned; None when it never did."""
    host: str
    ended_ms: int | None = None
    """When it let go in order; None while it runs, and for one that was killed."""
    started: str = ""
    """When its process started, as its operating system counts."""
    boot_id: str = ""
    """Boot of the machine that it runs on."""
    heard_ms: int | None = None
    """Its time at its last heartbeat, in UTC milliseconds, also once it is gone; None when it left none."""
    ahead_ms: int = 0
    """How far its time is ahead of this computer's, in milliseconds: what it writes is stamped with its time."""

    @property
    def hung(self) -> bool:
        """True when it holds the lease and its heartbeat or its loop has stood still for 3 s."""
        ages = [age for age in (self.heartbeat_ms, self.loop_ms) if age is not None]
        return self.alive and any(age > HUNG_AFTER_MS for age in ages)


@dataclass(frozen=True, slots=True)
class StandbyInfo:
    """An engine that stands by: it takes over when the one at work is gone."""

    pid: int
    since_ms: int
    """When it began to wait."""
    beat_ms: int | None
    """Age of its last beat in milliseconds; None when it is of another boot."""

    @property
    def hung(self) -> bool:
        """True when it waits, and has stood still for 3 s: it will not take over."""
        return self.beat_ms is None or self.beat_ms > HUNG_AFTER_MS


@dataclass(frozen=True, slots=True)
class BlockSummary:
    """What happened in `BLOCK` events that follow each other, or in those since the last full block."""

    number: int
    """It holds the events `number * BLOCK + 1` to `(number + 1) * BLOCK`, as far as they are there."""
    counts: dict[str, int]
    """How many events, by kind."""
    first_ms: int
    """Time of the first, in UTC milliseconds."""
    last_ms: int


@dataclass(frozen=True, slots=True)
class Span:
    """What happened in some events that follow each other."""

    first_seq: int
    last_seq: int
    first_ms: int
    """Time of the first, in UTC milliseconds."""
    last_ms: int
    counts: dict[str, int]
    """How many events, by kind."""


@dataclass(frozen=True, slots=True)
class SnapshotInfo:
    """A stored state, without what it holds."""

    seq: int
    at_ms: int
    """Time of that record, in UTC milliseconds."""
    bytes: int
    """As it is stored: packed."""


@dataclass(frozen=True, slots=True)
class VerifyResult:
    """What a walk along the hash chain found."""

    checked: int
    """Records whose hash is right, counted from the first."""
    bad_seq: int | None = None
    """First record that is missing or altered; None when all is well."""
    reason: str | None = None

    @property
    def ok(self) -> bool:
        """True when every record is as it was appended."""
        return self.bad_seq is None


HASH_BYTES = 16


def anchor_of(file_id: str) -> bytes:
    """What the first record of a file is tied to: rows moved from another file do not fit."""
    return blake2b(file_id.encode(), digest_size=HASH_BYTES).digest()


def linked(previous: bytes, seq: int, row: Row | Record) -> bytes:
    """Hash of one record.

    Args:
        previous: Hash of the record before, or the anchor.
        seq: Place of this one.
        row: What it holds.

    Returns:
        16 bytes.

    Raises:
        ValueError: If its kind or an id holds a NUL, which would make two records look alike.
    """
    run, task, agent = row.run_id, row.task_id, row.agent_id
    # "=" tells an empty id from none.
    head = (
        f"{seq}\0{row.at_ms}\0{row.kind}\0{'' if run is None else '=' + run}"
        f"\0{'' if task is None else '=' + task}\0{'' if agent is None else '=' + agent}\0"
    )
    if head.count("\0") != 6:
        raise ValueError(f"the kind and ids of record {seq} must not hold a NUL character")
    return blake2b(previous + head.encode() + row.body, digest_size=HASH_BYTES).digest()
