"""The state that a file holds, folded by a reader in the calling thread; for everybody but the engine itself."""

import os
from collections.abc import Iterator

from engine.core.codec import decode_events, decode_state
from engine.core.events import Event
from engine.core.fold import fold
from engine.core.state import State
from store import Reader, Record

PAGE = 2000
"""Events read and folded at a time."""


def folded(path: str | os.PathLike[str]) -> State:
    """Return the state as of the newest event of the database at `path`.

    Raises:
        StoreError: If there is no database of ours.
        CoreError: If its journal cannot be folded.
    """
    with Reader(path) as reader:
        return folded_from(reader)


def folded_at(path: str | os.PathLike[str], seq: int) -> State:
    """Return the state as it was after event `seq`, or as of the newest where the journal ends before it.

    Raises:
        StoreError, CoreError: As `folded`.
    """
    with Reader(path) as reader:
        return folded_from(reader, seq)


def folded_from(reader: Reader, seq: int | None = None) -> State:
    """Return the state that an open file holds, as of event `seq` or of the newest.

    Raises:
        StoreError, CoreError: As `folded`.
    """
    state = _snapshot(reader, seq)
    for records in pages(reader, state.seq, seq):
        fold(state, events_of(records))
    return state


def _snapshot(reader: Reader, seq: int | None) -> State:
    """Return the nearest stored state; one that an earlier version wrote in another shape is passed over."""
    while (found := reader.snapshot(seq)) is not None:
        try:
            return decode_state(found[1])
        except ValueError:
            seq = found[0] - 1
    return State()


def pages(reader: Reader, after_seq: int, until_seq: int | None = None) -> Iterator[list[Record]]:
    """Yield the records after one seq up to another, or up to the newest, `PAGE` at a time."""
    while True:
        limit = PAGE if until_seq is None else min(PAGE, until_seq - after_seq)
        records = reader.records(after_seq, limit) if limit > 0 else []
        if not records:
            return
        yield records
        after_seq = records[-1].seq


def events_of(records: list[Record]) -> list[Event]:
    """Return the events that records hold.

    Raises:
        CoreError: If one of them is not what its kind says, or is of a newer kind.
    """
    return decode_events([(record.seq, record.kind, record.body) for record in records])
