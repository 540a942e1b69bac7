"""Writing what was decided, also while the disk is full: nothing starts, and nothing that was acknowledged is lost."""

import logging

from engine.clock import Clock
from engine.core.codec import encode_state
from engine.core.state import State
from engine.errors import DiskStayedFull
from engine.host.batch import Batch
from store import DiskFull, StoreError
from store.opening import Store

BANNER = "engine.banner"
"""The live key of what every screen has to say about the engine."""
TRY_AGAIN_MS = 1_000
GIVE_UP_MS = 60_000

log = logging.getLogger(__name__)


async def append(store: Store, batch: Batch, clock: Clock) -> None:
    """Append a batch; on a full disk, try again each second.

    Raises:
        DiskStayedFull: If there was no room for a minute.
        Deposed: If another engine took over.
        SeqTaken: If somebody else wrote.
    """
    full_since_ms: int | None = None
    while True:
        try:
            await store.journal.append(batch.first_seq, batch.rows)
        except DiskFull as full:
            if full_since_ms is None:
                full_since_ms = clock.now_ms()
                log.error("%s; nothing starts until there is room", full)
                store.live.put(BANNER, "The disk is full: nothing starts until there is room. Nothing is lost.")
            waited_ms = clock.now_ms() - full_since_ms
            if waited_ms >= GIVE_UP_MS:
                raise DiskStayedFull(waited_ms / 1000) from full
            clock.release()
            await clock.sleep_until(clock.now_ms() + TRY_AGAIN_MS)
            clock.hold()
        else:
            break
    if full_since_ms is not None:
        log.warning("there is room again after %d s", (clock.now_ms() - full_since_ms) // 1000)
        store.live.put(BANNER, "")


def encoded(state: State) -> tuple[int, bytes]:
    """Return the state as it is now, to be saved as a snapshot."""
    return state.seq, encode_state(state)


async def save(store: Store, seq: int, body: bytes) -> None:
    """Save a snapshot; one that cannot be saved costs time at the next start and nothing else."""
    try:
        await store.snapshots.save(seq, body)
    except StoreError as error:
        log.warning("no snapshot at seq %d: %s", seq, error)
