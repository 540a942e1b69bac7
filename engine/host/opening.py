"""The state that a store holds, as its engine reads it: the latest snapshot and what came after."""

import logging

import anyio.to_thread

from engine.core.codec import decode_events, decode_state
from engine.core.fold import fold
from engine.core.state import State
from store import Record
from store.opening import Store

PAGE = 2000
"""Events read and folded at a time."""

log = logging.getLogger(__name__)


async def folded(store: Store, state: State | None = None) -> State:
    """Return the state as of the last event of `store`.

    Args:
        store: Where the events are.
        state: As of an earlier one, to go on from; None begins with the latest snapshot.

    Raises:
        CoreError: If the journal cannot be folded.
        StoreError: If it cannot be read.
    """
    if state is None:
        state = await _from_snapshot(store)
    while records := await store.journal.read(state.seq, PAGE):
        await anyio.to_thread.run_sync(_fold_page, state, records)
    return state


async def _from_snapshot(store: Store) -> State:
    """Return the newest stored state; one that an earlier version wrote in another shape is passed over."""
    found = await store.snapshots.latest()
    while found is not None:
        seq, body = found
        try:
            return await anyio.to_thread.run_sync(decode_state, body)
        except ValueError as error:
            log.info("the snapshot at %d is of another version and is passed over: %s", seq, str(error).split("\n")[0])
        found = await store.snapshots.latest(seq - 1) if seq > 1 else None
    return State()


def _fold_page(state: State, records: list[Record]) -> None:
    fold(state, decode_events([(record.seq, record.kind, record.body) for record in records]))
