"""The records of a store, and the hash chain over them.

Records are opaque to this package: a kind, and a body of UTF-8 JSON that it never parses. Times are UTC milliseconds.
"""

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal, TypeVar, dataclass_transform

from store.errors import CommandTooLarge

T = TypeVar("T")

MAX_COMMAND_BYTES = 8_000_000
"""Limit on the body of a command in the inbox: several times the largest request or team file."""


@dataclass_transform(frozen_default=True)
def _row(cls: type[T]) -> type[T]:
    """Make a slotted dataclass, frozen for the type checker only: a frozen one costs a microsecond more per record."""
    make: Callable[[type[T]], type[T]] = dataclass(slots=True)
    return make(cls)


@_row
class Row:
    """A record to append."""

    at_ms: int
    kind: str
    body: bytes
    run_id: str | None = None
    task_id: str | None = None
    agent_id: str | None = None


@_row
class Record:
    """A record of the journal."""

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
    """Chosen by the sender; putting the same id again changes nothing."""
    kind: str
    body: bytes
    sender: str
    role: str
    """Claimed by the sender, for the audit; the modes of the files decide who may write."""
    at_ms: int
    fault: str = ""
    """Why a row that was read is not a command, whatever its body; empty if it is one."""

    def __post_init__(self) -> None:
        """Raise CommandTooLarge if the body is larger than `MAX_COMMAND_BYTES`, which every engine would refuse."""
        if len(self.body) > MAX_COMMAND_BYTES:
            raise CommandTooLarge(len(self.body), MAX_COMMAND_BYTES)


@dataclass(frozen=True, slots=True)
class CommandOutcome:
    """The outcome of a command."""

    id: str
    state: Literal["pending", "applied", "refused"]
    seq: int | None
    """Seq of the record that applied or refused it."""
    reason: str | None
    """Why it was refused."""
    result: bytes | None
    """UTF-8 JSON for the sender."""


HUNG_AFTER_MS = 3_000
"""An engine counts as hung when its heartbeat or the last tick of its loop is older than this."""


@dataclass(frozen=True, slots=True)
class EngineInfo:
    """The current or last holder of the lease of a file."""

    pid: int
    alive: bool
    """True while the operating system's lock is held."""
    since_ms: int
    """When it acquired the lease."""
    token: int
    heartbeat_age_ms: int | None
    """Age of its last heartbeat in milliseconds; None when there is none from this boot."""
    loop_age_ms: int | None
    """Milliseconds since the last tick of its loop; None if there was none."""
    host: str
    ended_ms: int | None = None
    """When it released the lease; None while it runs, and if it was killed."""
    started: str = ""
    """Start time of its process, as the operating system reports it; distinguishes processes with the same pid."""
    boot_id: str = ""
    """Id of the boot of its machine."""
    heard_ms: int | None = None
    """Its clock at its last heartbeat, in UTC milliseconds, also after its end; None without a heartbeat."""
    ahead_ms: int = 0
    """How far its clock is ahead of this computer's, in milliseconds: its records have the times of its clock."""
    no_room: bool = False
    """True when its disk is full: it writes nothing, and may still have a heartbeat."""

    @property
    def silent_ms(self) -> int | None:
        """How long its heartbeat or its loop has stopped, the longer of the two; None when neither is known."""
        return max((age for age in (self.heartbeat_age_ms, self.loop_age_ms) if age is not None), default=None)

    @property
    def hung(self) -> bool:
        """True when it holds the lease, and its heartbeat or its loop has stopped for 3 s."""
        return self.alive and (self.silent_ms or 0) > HUNG_AFTER_MS


@dataclass(frozen=True, slots=True)
class StandbyInfo:
    """A standby engine: it takes over when the active engine is gone."""

    pid: int
    since_ms: int
    """When it began to wait."""
    beat_ms: int | None
    """Age of its last beat in milliseconds; None if the beat is from another boot."""

    @property
    def hung(self) -> bool:
        """True when its beat has stopped for 3 s: it will not take over."""
        return self.beat_ms is None or self.beat_ms > HUNG_AFTER_MS


@dataclass(frozen=True, slots=True)
class BlockSummary:
    """Summary of `BLOCK` consecutive events, or of the events since the last full block."""

    number: int
    """The block holds the events `number * BLOCK + 1` to `(number + 1) * BLOCK`, as far as they exist."""
    counts: dict[str, int]
    """How many events, by kind."""
    first_ms: int
    """Time of the first, in UTC milliseconds."""
    last_ms: int


@dataclass(frozen=True, slots=True)
class EventSpan:
    """Summary of consecutive events."""

    first_seq: int
    last_seq: int
    first_ms: int
    """Time of the first, in UTC milliseconds."""
    last_ms: int
    counts: dict[str, int]
    """How many events, by kind."""


@dataclass(frozen=True, slots=True)
class SnapshotInfo:
    """A snapshot, without its content."""

    seq: int
    at_ms: int
    """Time of that record, in UTC milliseconds."""
    bytes: int
    """Size on disk, compressed."""


@dataclass(frozen=True, slots=True)
class VerifyResult:
    """The result of checking the hash chain."""

    checked: int
    """Number of records with the right hash, from the first."""
    bad_seq: int | None = None
    """Seq of the first missing or altered record; None if the chain is intact."""
    reason: str | None = None

    @property
    def ok(self) -> bool:
        """True when every record is unaltered."""
        return self.bad_seq is None


HASH_BYTES = 16


def anchor_of(file_id: str) -> bytes:
    """Return the start of a file's hash chain: it depends on the file, so that rows from another file do not fit."""
    return blake2b(file_id.encode(), digest_size=HASH_BYTES).digest()


def record_hash(previous_hash: bytes, seq: int, row: Row | Record) -> bytes:
    """Return the hash of a record.

    Args:
        previous_hash: Hash of the previous record, or the anchor.
        seq: Seq of this record.

    Returns:
        16 bytes.

    Raises:
        ValueError: If its kind or an id holds a NUL, which would make two records look alike.
    """
    run, task, agent = row.run_id, row.task_id, row.agent_id
    # "=" distinguishes an empty id from None.
    head = (
        f"{seq}\0{row.at_ms}\0{row.kind}\0{'' if run is None else '=' + run}"
        f"\0{'' if task is None else '=' + task}\0{'' if agent is None else '=' + agent}\0"
    )
    if head.count("\0") != 6:
        raise ValueError(f"the kind and ids of record {seq} must not hold a NUL character")
    return blake2b(previous_hash + head.encode() + row.body, digest_size=HASH_BYTES).digest()
