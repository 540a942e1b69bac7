"""Folds the state of a file in the calling thread, for readers without an engine.

All functions raise StoreError if there is no Quarterdeck database or it cannot be read, and CoreError if its journal
cannot be folded.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

from engine.core.encoding.codec import decode_events, decode_state
from engine.core.events import Event, RunFinished, StateImported, SummariesImported
from engine.core.finished import imported_summary, summary_of
from engine.core.fold import fold
from engine.core.state import RunSummary, State
from store import Reader, Record

PAGE_EVENTS = 500
"""Events read and folded at a time; 2,000 exceed the caches of the processor, and take a tenth longer each."""
MAX_EVENTS = 2000
"""Events returned at a time."""
IMPORTS = (StateImported.type, SummariesImported.type)
"""Kinds of events that contain summaries of runs that had finished before they were imported."""


def fold_file(path: str | os.PathLike[str]) -> State:
    """Return the state as of the newest event of the database at `path`."""
    with Reader(path) as reader:
        return fold_from(reader)


def fold_file_at(path: str | os.PathLike[str], seq: int) -> State:
    """Return the state as it was after event `seq`, or after the newest event if the journal ends before it."""
    with Reader(path) as reader:
        return fold_from(reader, seq)


def fold_from(reader: Reader, seq: int | None = None, *, decode: Callable[[bytes], State] = decode_state) -> State:
    """Return the state of an open file after event `seq`.

    Args:
        reader: The open file.
        seq: The last event to fold; None for the newest.
        decode: Decodes a snapshot; use `decode_state_fast` for a short-lived state.
    """
    state = nearest_state(reader, seq, decode)
    for records in pages(reader, state.seq, seq):
        fold(state, events_of(records))
    return state


def nearest_state(reader: Reader, seq: int | None = None, decode: Callable[[bytes], State] = decode_state) -> State:
    """Return the nearest snapshot up to event `seq`, an empty state if there is none.

    Those of other versions, or with the state of another event, are skipped.
    """
    while (snapshot := reader.snapshot(seq)) is not None:
        with suppress(ValueError):
            state = decode(snapshot[1])
            if state.seq == snapshot[0]:
                return state
        seq = snapshot[0] - 1
    return State()


def pages(reader: Reader, after_seq: int, until_seq: int | None = None) -> Iterator[list[Record]]:
    """Yield the records after `after_seq` up to `until_seq` or the newest, `PAGE_EVENTS` at a time."""
    while True:
        limit = PAGE_EVENTS if until_seq is None else min(PAGE_EVENTS, until_seq - after_seq)
        records = reader.linked_records(after_seq, limit) if limit > 0 else []
        if not records:
            return
        yield records
        after_seq = records[-1].seq


def finished_run(reader: Reader, run_id: str) -> RunSummary | None:
    """Return the summary of a run that finished in this file or before it was imported; None if there is none."""
    records = _end_records(reader, run_id)
    return summary_in(records or reader.records(0, MAX_EVENTS, kinds=IMPORTS, contains=run_id), run_id)


def _end_records(reader: Reader, run_id: str) -> list[Record]:
    return reader.records_before(reader.last_seq() + 1, 1, kinds=[RunFinished.type], run_id=run_id)


def end_events_of(reader: Reader, run_ids: Iterable[str]) -> list[Event]:
    """Return the `RunFinished` events of runs, which have the titles of their tasks; open runs have none."""
    return events_of([record for run_id in run_ids for record in _end_records(reader, run_id)])


def summary_in(records: list[Record], run_id: str) -> RunSummary | None:
    """Return the summary of a run from records of finished runs or of imports; None if they do not have it."""
    for record, event in zip(reversed(records), reversed(events_of(records)), strict=True):
        if isinstance(event, RunFinished) and event.run_id == run_id:
            return summary_of(event, record.seq)
        if isinstance(event, StateImported | SummariesImported):
            summary = imported_summary(event, record.seq, run_id)
            if summary is not None:
                return summary
    return None


def events_after(path: str | os.PathLike[str], seq: int) -> list[tuple[int, Event]]:
    """Return the events after `seq`, each with its seq, at most `MAX_EVENTS`."""
    with Reader(path) as reader:
        records = reader.records(seq, MAX_EVENTS)
    return list(zip([record.seq for record in records], events_of(records), strict=True))


def events_of(records: list[Record]) -> list[Event]:
    """Return the decoded events of records; raises CoreError if one does not match its kind, or its kind is unknown."""
    return decode_events([(record.seq, record.kind, record.body) for record in records])
