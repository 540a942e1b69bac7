"""Folds the state of a file in the calling thread; for all readers but the engine itself.

Everything here raises StoreError where there is no Quarterdeck database or it cannot be read, and CoreError where its
journal cannot be folded.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

from engine.core.encoding.codec import decode_events, decode_state, kind_of
from engine.core.events import Event, RunFinished, StateImported, SummariesImported
from engine.core.finished import imported_summary, summary_of
from engine.core.fold import fold
from engine.core.state import RunSummary, State
from store import Reader, Record

PAGE_EVENTS = 500
"""Events read and folded at a time; 2,000 leave the caches of the processor, and each takes a tenth longer."""
MAX_EVENTS = 2000
"""Events returned at a time."""
IMPORTS = (kind_of(StateImported), kind_of(SummariesImported))
"""Kinds of events that carry what is remembered of runs that ended before they were imported."""


def fold_file(path: str | os.PathLike[str]) -> State:
    """Return the state as of the newest event of the database at `path`."""
    with Reader(path) as reader:
        return fold_from(reader)


def fold_file_at(path: str | os.PathLike[str], seq: int) -> State:
    """Return the state as it was after event `seq`, or as of the newest where the journal ends before it."""
    with Reader(path) as reader:
        return fold_from(reader, seq)


def fold_from(reader: Reader, seq: int | None = None, *, decode: Callable[[bytes], State] = decode_state) -> State:
    """Return the state that an open file holds, as of event `seq` or of the newest.

    Args:
        reader: Reads the file.
        seq: The last event to fold.
        decode: Reads a snapshot: `decode_state_fast` for a state that is soon dropped.
    """
    state = _nearest_state(reader, seq, decode)
    for records in pages(reader, state.seq, seq):
        fold(state, events_of(records))
    return state


def _nearest_state(reader: Reader, seq: int | None, decode: Callable[[bytes], State]) -> State:
    """Return the nearest stored state; one of another shape, or of another event, is passed over."""
    while (snapshot := reader.snapshot(seq)) is not None:
        with suppress(ValueError):
            state = decode(snapshot[1])
            if state.seq == snapshot[0]:
                return state
        seq = snapshot[0] - 1
    return State()


def pages(reader: Reader, after_seq: int, until_seq: int | None = None) -> Iterator[list[Record]]:
    """Yield the records after one seq up to another, or up to the newest, `PAGE_EVENTS` at a time."""
    while True:
        limit = PAGE_EVENTS if until_seq is None else min(PAGE_EVENTS, until_seq - after_seq)
        records = reader.linked_records(after_seq, limit) if limit > 0 else []
        if not records:
            return
        yield records
        after_seq = records[-1].seq


def finished_run(reader: Reader, run_id: str) -> RunSummary | None:
    """Return the summary of a run that ended in this file, or before it was imported; None if none did."""
    records = _end_records(reader, run_id)
    return summary_in(records or reader.records(0, MAX_EVENTS, kinds=IMPORTS, contains=run_id), run_id)


def _end_records(reader: Reader, run_id: str) -> list[Record]:
    return reader.records_before(reader.last_seq() + 1, 1, kinds=[kind_of(RunFinished)], run_id=run_id)


def end_events_of(reader: Reader, run_ids: Iterable[str]) -> list[Event]:
    """Return how runs ended, which says what their tasks were called; nothing of those that have not."""
    return events_of([record for run_id in run_ids for record in _end_records(reader, run_id)])


def summary_in(records: list[Record], run_id: str) -> RunSummary | None:
    """Return the summary of a run out of the records of its end, or of imports."""
    for record, event in zip(reversed(records), reversed(events_of(records)), strict=True):
        if isinstance(event, RunFinished) and event.run_id == run_id:
            return summary_of(event, record.seq)
        if isinstance(event, StateImported | SummariesImported):
            summary = imported_summary(event, record.seq, run_id)
            if summary is not None:
                return summary
    return None


def events_after(path: str | os.PathLike[str], seq: int) -> list[tuple[int, Event]]:
    """Return the next events after `seq`, each with its own, at most `MAX_EVENTS`."""
    with Reader(path) as reader:
        records = reader.records(seq, MAX_EVENTS)
    return list(zip([record.seq for record in records], events_of(records), strict=True))


def events_of(records: list[Record]) -> list[Event]:
    """Return the events that records hold.

    Raises:
        CoreError: If one of them is not what its kind says, or is of a newer kind.
    """
    return decode_events([(record.seq, record.kind, record.body) for record in records])
