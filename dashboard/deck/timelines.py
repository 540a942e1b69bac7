"""Reads the lanes of a timeline: first in a thread from the journal, then from the events of the feed.

Rule: lanes belong to the thread that fills them until it hands them over to the drawing thread.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise, takewhile

from dashboard.deck.deck import Deck
from dashboard.views.event_log import Entry
from dashboard.views.timeline import BODIED, KINDS, Lanes
from engine.core.encoding.codec import encode_event
from store import Reader, Record

PAGE = 5_000
"""Events that are read at once."""
MAX_DETAIL_EVENTS = 60_000
"""Events that are read again for a zoomed part; a part with more keeps the coarse slots."""

EXTRA_EVENTS = 1_000
"""Events read beyond the start of the last slot, which may belong to it."""
MAX_STRETCH_FACTOR = 4
"""A part this many times as long as the visible range is read again if its slots are too coarse."""


def _read_page(reader: Reader, after_seq: int) -> tuple[list[Record], bool]:
    """Return the next records for lanes, and whether they are the last."""
    outlines = reader.outlines(after_seq, PAGE, kinds=KINDS, bodies_of=BODIED)
    records = list[Record]()
    for record in outlines:
        if record.kind == "engine_started":
            records += reader.records_before(record.seq, 1)  # the last one of the engine before it
        records.append(record)
    return records, len(outlines) < PAGE


def read_all_lanes(reader: Reader, should_continue: Callable[[float], bool]) -> Lanes:
    """Return the lanes of a whole journal.

    Args:
        should_continue: Called with the progress, from 0 to 1; stops the reading by returning False.
    """
    lanes, last_seq = Lanes(), reader.last_seq()
    while should_continue(lanes.seq / max(1, last_seq)):
        records, is_last = _read_page(reader, lanes.seq)
        lanes.add_records(records)
        if is_last:
            lanes.seq = max(lanes.seq, last_seq)
            break
    return lanes


def read_since(reader: Reader, after_seq: int) -> tuple[list[Record], int]:
    """Return the records for lanes after an event, and the last seq that they cover."""
    last_seq, records = reader.last_seq(), list[Record]()
    while True:
        page, is_last = _read_page(reader, records[-1].seq if records else after_seq)
        records += page
        if is_last:
            return records, last_seq


def read_part(reader: Reader, lanes: Lanes, first_seq: int, last_seq: int) -> Lanes | None:
    """Fill the lanes of a part of a journal; None if the part has too many events."""
    if last_seq - first_seq > MAX_DETAIL_EVENTS:
        return None
    seq = max(0, first_seq - 1)
    while seq < last_seq:
        records, is_last = _read_page(reader, seq)
        lanes.add_records(record for record in records if record.seq <= last_seq and lanes.covers(record.at_ms))
        seq = last_seq if is_last else records[-1].seq
    lanes.seq = last_seq
    return lanes


def catch_up(lanes: Lanes, recent: Sequence[Entry]) -> bool:
    """Add the events folded since; False if the feed no longer has all of them."""
    if not recent or recent[-1].seq <= lanes.seq:
        return True
    if recent[0].seq > lanes.seq + 1:
        return False
    since = lanes.seq
    newer = [*takewhile(lambda entry: entry.seq >= since, reversed(recent))]
    lanes.add_records(_records(reversed(newer)))
    lanes.seq = recent[-1].seq
    return True


class TimelineHistory:
    """The lanes of one database: of its whole history, and in smaller slots of a zoomed part."""

    def __init__(self, deck: Deck, changed: Callable[[], None]) -> None:
        """Read through `deck`; call `changed` after each read."""
        self.lanes = Lanes()
        """Lanes of the whole history."""
        self.is_read = False
        self.progress = 0.0
        """Progress of the first read, from 0 to 1."""
        self._deck, self._changed = deck, changed
        self._part: Lanes | None = None
        self._covers: tuple[int, int | None] = (0, 0)
        """First and last position of the part; None as the end follows the newest event."""
        self._cache_key: tuple[int, int | None] | None = None
        """The part that was read last."""
        self.is_behind = False
        """True while missed events are read; until then the lanes do not reach the present."""
        self._reading = self._is_stopped = False

    def leave(self) -> None:
        """Stop reading."""
        self._is_stopped = True

    def update(self) -> None:
        """Add new events, from the file if the feed no longer has them."""
        if self._reading or (self.is_read and catch_up(self.lanes, self._deck.feed.recent)):
            return
        self._reading = True
        if self.is_read and self._deck.feed.state.seq - self.lanes.seq <= MAX_DETAIL_EVENTS:
            self._catch_up(self.lanes.seq)
            return

        def should_continue(share: float) -> bool:
            self.progress = share
            return not self._is_stopped

        def receive(lanes: Lanes) -> None:
            self._reading, self.is_read, self.lanes = False, True, lanes
            self._changed()

        self._deck.background.read(
            lambda reader: read_all_lanes(reader, should_continue), receive, on_failure=self._handle_read_failure
        )

    def _catch_up(self, after_seq: int) -> None:
        """Read the events that the feed no longer has, such as after a while on another screen."""
        self.is_behind = True

        def receive(result: tuple[list[Record], int]) -> None:
            self._reading = self.is_behind = False
            self.lanes.add_records(result[0])
            self.lanes.seq = max(self.lanes.seq, result[1])
            self._changed()

        self._deck.background.read(
            lambda reader: read_since(reader, after_seq), receive, on_failure=self._handle_read_failure
        )

    def _handle_read_failure(self) -> None:
        """Allow another read at the next redraw."""
        self._reading, self._cache_key = False, None

    def zoom_lanes(self, begin: int, end: int, *, step_ms: float, follows: bool) -> Lanes:
        """Return lanes with slots of at most `step_ms` if they were read, else the best ones so far.

        Args:
            begin: First position, in the lanes of the whole history.
            end: Last position.
            step_ms: Duration of a column, in milliseconds.
            follows: Whether the end follows the newest event.
        """
        lanes, zoomed_lanes, margin = self.lanes, self._part, (end - begin) // 2
        if step_ms >= lanes.slot_ms:
            return lanes
        if zoomed_lanes is not None and not self._includes(zoomed_lanes, begin, end, follows=follows):
            zoomed_lanes = None
        if zoomed_lanes is not None and (
            zoomed_lanes.slot_ms <= step_ms
            or zoomed_lanes.position_at(zoomed_lanes.last_ms) <= MAX_STRETCH_FACTOR * (end - begin)
        ):
            return zoomed_lanes
        low, high = max(0, begin - margin), None if follows else end + margin
        cache_key = (low // (margin + 1), high)  # coarse, so that a part that moves is not read at each redraw
        if not self._reading and cache_key != self._cache_key:
            self._reading, self._cache_key = True, cache_key
            first, empty = lanes.seq_at(low), lanes.part(low, high)
            last = lanes.seq if high is None else (lanes.seq_at(high + lanes.slot_ms) or lanes.seq) + EXTRA_EVENTS

            def receive(part_lanes: Lanes | None) -> None:
                self._reading, self._part, self._covers = False, part_lanes, (low, high)
                self._changed()

            self._deck.background.read(
                lambda reader: read_part(reader, empty, first, last), receive, on_failure=self._handle_read_failure
            )
        return zoomed_lanes or lanes

    def _includes(self, lanes: Lanes, begin: int, end: int, *, follows: bool) -> bool:
        """Add new events to a part, and tell whether it covers a range."""
        low, high = self._covers
        if high is None and not catch_up(lanes, self._deck.feed.recent):
            self._cache_key = None  # the feed no longer has all events
            return False
        return low <= begin and (high is None or (end <= high and not follows))


def _records(entries: Iterable[Entry]) -> Iterable[Record]:
    for entry, later in pairwise([*entries, None]):
        if entry is not None and (entry.kind in KINDS or (later is not None and later.kind == "engine_started")):
            yield Record(
                seq=entry.seq,
                at_ms=entry.at_ms,
                kind=entry.kind,
                body=encode_event(entry.event) if entry.kind in BODIED else b"",
                run_id=getattr(entry.event, "run_id", None),
                task_id=getattr(entry.event, "task_id", None),
                agent_id=getattr(entry.event, "agent_id", None),
            )
