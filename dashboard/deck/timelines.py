"""Reads what a timeline is made of: once in a thread from the journal, then from what the feed has folded.

Rule: lanes that a thread fills belong to it until it has handed them over; from then on to the drawing thread.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import takewhile

from dashboard.deck.deck import Deck
from dashboard.views.event_log import Entry
from dashboard.views.timeline import BODIED, KINDS, Lanes
from engine.core.encoding.codec import encode_event
from engine.core.events import Event
from store import Reader, Record

PAGE = 5_000
"""Events that are read at once."""
DETAIL = 60_000
"""So many events are read again, one by one, for a part of the time; of more there is only what was added up."""

BEYOND = 1_000
"""Events after the one that a slot begins with which may still be of the part."""
LONG = 4
"""A part that is so many times as long as what is shown is read again where its slots are too large."""


def whole(reader: Reader, goes_on: Callable[[float], bool]) -> Lanes:
    """Return the lanes of a whole journal.

    Args:
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


def since(reader: Reader, after_seq: int) -> tuple[list[Record], int]:
    """Return what lanes have to learn after an event, and up to which event that is all."""
    last_seq, found = reader.last_seq(), list[Record]()
    while True:
        page = reader.outlines(found[-1].seq if found else after_seq, PAGE, kinds=KINDS, bodies_of=BODIED)
        found += page
        if len(page) < PAGE:
            return found, last_seq


def part(reader: Reader, lanes: Lanes, first_seq: int, last_seq: int) -> Lanes | None:
    """Let the lanes of a part of a journal learn what happened in it; None where that is too much."""
    if last_seq - first_seq > DETAIL:
        return None
    seq = max(0, first_seq - 1)
    while seq < last_seq:
        found = reader.outlines(seq, PAGE, kinds=KINDS, bodies_of=BODIED)
        lanes.learn(record for record in found if record.seq <= last_seq and lanes.holds(record.at_ms))
        seq = found[-1].seq if len(found) == PAGE else last_seq
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


class History:
    """The lanes of one database: of all its time, and in smaller slots of the part that is zoomed into."""

    def __init__(self, deck: Deck, changed: Callable[[], None]) -> None:
        """Read through `deck`; call `changed` when something was read."""
        self.lanes = Lanes()
        """Of all the time."""
        self.is_read = False
        self.progress = 0.0
        """How much has been read, from 0 to 1."""
        self._deck, self._changed = deck, changed
        self._part: Lanes | None = None
        self._covers: tuple[int, int | None] = (0, 0)
        """Positions of its begin and its end; None goes on with the newest event."""
        self._asked: tuple[int, int | None] | None = None
        """Which part was read last."""
        self.is_behind = False
        """True while what happened meanwhile is read: until then lanes must not be counted up to now."""
        self._reading = self._left = False

    def leave(self) -> None:
        """Stop reading."""
        self._left = True

    def go_on(self) -> None:
        """Take what has happened since; read the file where the feed does not have it any more."""
        if self._reading or (self.is_read and go_on(self.lanes, self._deck.feed.recent)):
            return
        self._reading = True
        if self.is_read and self._deck.feed.state.seq - self.lanes.seq <= DETAIL:
            self._catch_up(self.lanes.seq)
            return

        def goes_on(share: float) -> bool:
            self.progress = share
            return not self._left

        def then(found: Lanes) -> None:
            self._reading, self.is_read, self.lanes = False, True, found
            self._changed()

        self._deck.read(lambda reader: whole(reader, goes_on), then, failed=self._not_read)

    def _catch_up(self, after_seq: int) -> None:
        """Read only what the feed does not have any more, such as after a while on another screen."""
        self.is_behind = True

        def then(found: tuple[list[Record], int]) -> None:
            self._reading = self.is_behind = False
            self.lanes.learn(found[0])
            self.lanes.seq = max(self.lanes.seq, found[1])
            self._changed()

        self._deck.read(lambda reader: since(reader, after_seq), then, failed=self._not_read)

    def _not_read(self) -> None:
        """Read again at the next look."""
        self._reading, self._asked = False, None

    def zoomed(self, begin: int, end: int, *, step_ms: float, follows: bool) -> Lanes:
        """Return lanes whose slots are small enough for columns of `step_ms`, as soon as they were read.

        Args:
            begin: Position from which on they are wanted, in the lanes of all the time.
            end: Position up to which.
            step_ms: Milliseconds of a column.
            follows: Whether the end goes on with the newest event.
        """
        lanes, found, margin = self.lanes, self._part, (end - begin) // 2
        if step_ms >= lanes.slot_ms:
            return lanes
        if found is not None and not self._has(found, begin, end, follows=follows):
            found = None
        if found is not None and (found.slot_ms <= step_ms or found.at(found.last_ms) <= LONG * (end - begin)):
            return found
        low, high = max(0, begin - margin), None if follows else end + margin
        asked = (low // (margin + 1), high)  # what follows is not read at each look where that is too much
        if not self._reading and asked != self._asked:
            self._reading, self._asked = True, asked
            first, empty = lanes.seq_at(low), lanes.part(low, high)
            last = lanes.seq if high is None else (lanes.seq_at(high + lanes.slot_ms) or lanes.seq) + BEYOND

            def then(found: Lanes | None) -> None:
                self._reading, self._part, self._covers = False, found, (low, high)
                self._changed()

            self._deck.read(lambda reader: part(reader, empty, first, last), then, failed=self._not_read)
        return found or lanes

    def _has(self, found: Lanes, begin: int, end: int, *, follows: bool) -> bool:
        """Tell whether a part has all of a stretch of time, once it has taken what has happened since."""
        low, high = self._covers
        if high is None and not go_on(found, self._deck.feed.recent):
            self._asked = None  # the feed does not have all of it any more
            return False
        return low <= begin and (high is None or (end <= high and not follows))


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
