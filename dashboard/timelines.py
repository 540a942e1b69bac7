"""Reads what a timeline is made of: once in a thread from the journal, then from what the feed has folded.

Rule: lanes that a thread fills belong to it until it has handed them over; from then on to the drawing thread.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import takewhile

from dashboard.views.event_log import Entry
from dashboard.views.timeline import BODIED, KINDS, Lanes
from engine.core.codec import encode_event
from engine.core.events import Event
from store import Reader, Record

PAGE = 5_000
"""Events that are read at once."""
DETAIL = 60_000
"""So many events are read again, one by one, for a part of the time; of more there is only what was added up."""


def whole(reader: Reader, goes_on: Callable[[float], bool]) -> Lanes:
    """Return the lanes of a whole journal.

    Args:
        reader: Of the database.
        goes_on: Told how much has been read, from 0 to 1; stops the reading by returning False.
    """
    lanes, last_seq = Lanes(), reader.last_seq()
    while goes_on(lanes.seq / max(1, last_seq)):
        found = reader.outlines(lanes.seq, PAGE, kinds=KINDS, bodies_of=BODIED)
        lanes.learn(found)
        if len(found) < PAGE:
            lanes.seq = max(lanes.seq, last_seq)
            break
    return lanes


def part(reader: Reader, first_seq: int, last_seq: int) -> Lanes | None:
    """Return the lanes of a part of a journal, in smaller slots; None where that is too much."""
    if last_seq - first_seq > DETAIL:
        return None
    lanes = Lanes()
    lanes.seq = max(0, first_seq - 1)
    while lanes.seq < last_seq:
        found = reader.outlines(lanes.seq, PAGE, kinds=KINDS, bodies_of=BODIED)
        lanes.learn(record for record in found if record.seq <= last_seq)
        if len(found) < PAGE or found[-1].seq >= last_seq:
            lanes.seq = last_seq
    return lanes


def go_on(lanes: Lanes, recent: Sequence[Entry]) -> bool:
    """Add what was folded since; False where there is more between than the feed has kept."""
    if not recent or recent[-1].seq <= lanes.seq:
        return True
    if recent[0].seq > lanes.seq + 1:
        return False
    since = lanes.seq
    newer = [*takewhile(lambda entry: entry.seq > since, reversed(recent))]
    lanes.learn(_records(reversed(newer)))
    lanes.seq = recent[-1].seq
    return True


def _records(entries: Iterable[Entry]) -> Iterable[Record]:
    for entry in entries:
        if entry.kind in KINDS:
            yield _record(entry, entry.event)


def _record(entry: Entry, event: Event) -> Record:
    return Record(
        seq=entry.seq,
        at_ms=entry.at_ms,
        kind=entry.kind,
        body=encode_event(event) if entry.kind in BODIED else b"",
        run_id=getattr(event, "run_id", None),
        task_id=getattr(event, "task_id", None),
        agent_id=getattr(event, "agent_id", None),
    )
