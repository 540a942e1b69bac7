"""Writes events to the journal, and loads the state from it.

On disk the writer is write-ahead: effects follow the append. In memory it is write-behind, because nothing outlives the
process, so many batches are appended at once.
"""

import logging
from typing import Protocol

import anyio
import anyio.to_thread

from engine.core.encoding.codec import decode_state, encode_state
from engine.core.fold import fold
from engine.core.state import State
from engine.errors import DiskStayedBroken, DiskStayedFull
from engine.host.batch import Batch
from engine.platform.clock import Clock
from engine.reading.folding import events_of
from store import DiskFailed, DiskFull, Record, Row, StoreBusy, StoreError
from store.layout.opening import Store

BANNER = "engine.banner"
"""Key in the live file of the notice about the engine that every screen shows."""
RETRY_MS = 1_000
GIVE_UP_MS = 60_000
"""How long a full disk, or a program that holds the file, is waited for before the engine ends."""
BEHIND_S = 0.02
"""Delay of the in-memory writer, in which batches gather."""
MAX_BEHIND_ROWS = 2_000
"""Pending rows above which the loop waits for the in-memory writer."""
PAGE_EVENTS = 2000
"""Events read and folded at a time."""

log = logging.getLogger(__name__)


class Writer(Protocol):
    """How batches get into the journal."""

    takes_time: bool
    """The loop keeps deciding while a batch is written."""

    async def write(self, batch: Batch) -> None:
        """Accept a batch; its effects may be performed when this returns."""

    async def flush(self) -> None:
        """Return once all accepted batches are in the journal."""

    async def run(self) -> None:
        """Run the writer's background work for the life of the engine."""


def writer_for(store: Store, clock: Clock) -> Writer:
    """Return the writer for a store."""
    return InMemory(store) if store.path is None else OnDisk(store, clock)


class OnDisk:
    """Write-ahead: appends each batch before its effects are performed."""

    takes_time = True

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def write(self, batch: Batch) -> None:
        """Append a batch; raises the errors of `append`."""
        await append(self._store, batch, self._clock)

    async def flush(self) -> None:
        """Return at once: nothing is pending."""

    async def run(self) -> None:
        """Do nothing: there is no background work."""


class InMemory:
    """Write-behind: appends within `BEHIND_S`, or sooner when many events are pending."""

    takes_time = False

    def __init__(self, store: Store) -> None:
        self._store = store
        self._rows: list[Row] = []
        self._first_seq = 0
        self._news = anyio.Event()
        self._lock = anyio.Lock(fast_acquire=True)

    async def write(self, batch: Batch) -> None:
        """Accept a batch."""
        if not self._rows:
            self._first_seq = batch.first_seq
            self._news.set()
        self._rows += batch.rows
        if len(self._rows) >= MAX_BEHIND_ROWS:
            await self.flush()

    async def flush(self) -> None:
        """Append the pending rows."""
        # Two flushes at once could append in the wrong order: the rows are taken out before the append awaits.
        async with self._lock:
            first_seq, rows = self._first_seq, self._rows
            self._rows = []
            if rows:
                await self._store.journal.append(first_seq, rows)

    async def run(self) -> None:
        """Append pending rows `BEHIND_S` after the first of them."""
        while True:
            await self._news.wait()
            self._news = anyio.Event()
            await anyio.sleep(BEHIND_S)
            await self.flush()


async def append(store: Store, batch: Batch, clock: Clock) -> None:
    """Append a batch; on a full or failing disk, or while another program holds the file, try again each second.

    Raises:
        DiskStayedFull: If there was no room for a minute; DiskStayedBroken if the disk failed.
        StoreBusy: If another program, such as a backup, held the file for a minute.
        Deposed: If another engine took over.
        SeqTaken: If another process wrote.
    """
    since_ms: int | None = None
    while True:
        try:
            await store.journal.append(batch.first_seq, batch.rows)
        except (DiskFull, StoreBusy) as error:
            failed, full = isinstance(error, DiskFailed), isinstance(error, DiskFull)
            if since_ms is None:
                since_ms = clock.now_ms()
                cause, until = _cause(error)
                log.error("%s; nothing starts until %s", error, until)
                store.live.put(BANNER, f"{cause}: nothing starts until {until}. Nothing is lost.")
            waited_ms = clock.now_ms() - since_ms
            if waited_ms >= GIVE_UP_MS:
                if full:
                    raise (DiskStayedBroken if failed else DiskStayedFull)(waited_ms / 1000) from error
                raise
            # A virtual clock must be free to advance, or the wait would never end.
            clock.release()
            await clock.sleep_until(clock.now_ms() + RETRY_MS)
            clock.hold()
        else:
            break
    if since_ms is not None:
        log.warning("the journal can be written again after %d s", (clock.now_ms() - since_ms) // 1000)
        store.live.put(BANNER, "")


def _cause(error: StoreError) -> tuple[str, str]:
    """Return why nothing can be written, and until when."""
    if isinstance(error, DiskFailed):
        return "The disk reports an I/O error", "it can be written"
    if isinstance(error, DiskFull):
        return "The disk is full", "there is room"
    return "Another program holds the file", "it lets go"


def encode_snapshot(state: State) -> tuple[int, bytes]:
    """Return the present state, encoded as a snapshot."""
    return state.seq, encode_state(state)


async def save(store: Store, seq: int, body: bytes) -> None:
    """Save a snapshot. A failure is only logged: it costs time at the next start and nothing else."""
    try:
        await store.snapshots.save(seq, body)
    except StoreError as error:
        log.warning("no snapshot at seq %d: %s", seq, error)


async def load_state(store: Store, state: State | None = None) -> State:
    """Return the state after the last event of `store`, from an earlier one or the latest snapshot on."""
    if state is None:
        state = await _from_snapshot(store)
    while records := await store.journal.read(state.seq, PAGE_EVENTS):
        await anyio.to_thread.run_sync(_fold_page, state, records)
    return state


async def _from_snapshot(store: Store) -> State:
    """Return the newest readable snapshot; those of other versions are skipped, since the journal can replace them."""
    snapshot = await store.snapshots.latest()
    while snapshot is not None:
        seq, body = snapshot
        try:
            state = await anyio.to_thread.run_sync(decode_state, body)
            if state.seq == seq:
                return state
            log.warning("the snapshot at %d is of event %d and is passed over", seq, state.seq)
        except ValueError as error:
            log.info("the snapshot at %d is of another version and is passed over: %s", seq, str(error).split("\n")[0])
        snapshot = await store.snapshots.latest(seq - 1) if seq > 1 else None
    return State()


def _fold_page(state: State, records: list[Record]) -> None:
    fold(state, events_of(records))
