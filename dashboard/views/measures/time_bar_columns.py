"""The time bar: the number of events and the rarest mark in each column of time.

Pure: from summaries of the journal to columns. Every column knows its events, so that a click maps to a moment, and a
moment to a column. Quiet time is folded to a few columns, whose moment is that of the last event before them.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from dashboard.views.event_log import Entry
from dashboard.views.measures.idle_gaps import FOLD, QuietGap, fold_columns, longest_gaps, quiet_gaps
from dashboard.views.words.amounts import countdown
from dashboard.views.words.glyphs import MARK_TONES, MARKS, TIME
from store.journals.records import EventSpan

TONES = {**MARK_TONES, MARKS["run_submitted"]: "muted"}
"""Styles of the marks; of equally rare marks, the first one wins a column."""
LEGEND = (("◆", "swap"), ("◇", "strategy"), ("✕", "failure"), ("⚑", "person"))
EMPTY_CELL = "·"
_BLOCKS = " ▁▂▃▄▅▆▇█"
_EXPONENT = 0.7
"""Exponent of the height, below 1, so that small counts stay visible beside large ones."""
ASKS = TIME["person"].glyph
_LABEL_WIDTH = 4
"""Cells of the duration of folded time."""
_PLACES = {sign: place for place, sign in enumerate(TONES)}


class Slot(NamedTuple):
    """The events of one column."""

    events: int = 0
    height: int = 0
    """In eighths of a row; 0 without events."""
    mark: str = ""
    """The rarest sign of its events; empty for none."""
    first_seq: int = 0
    last_seq: int = 0
    gap: str = ""
    """The character of a column of folded time; empty for others."""


@dataclass(frozen=True, slots=True)
class TimeBar:
    """A period, divided into columns of equal length, and of folds."""

    slots: Sequence[Slot]

    def column_of(self, seq: int) -> int:
        """Return the column of an event, or the nearest column with events."""
        busy = [column for column, slot in enumerate(self.slots) if slot.events]
        place = bisect_left(busy, seq, key=lambda column: self.slots[column].last_seq)
        return busy[min(place, len(busy) - 1)] if busy else 0

    def seq_at(self, column: int) -> int:
        """Return the last event up to the end of a column; before all events the first one, 0 for an empty bar."""
        before = [slot.last_seq for slot in self.slots[: max(0, column) + 1] if slot.events]
        return before[-1] if before else next((slot.first_seq for slot in self.slots if slot.events), 0)

    def blocks(self, rows: int = 1) -> list[str]:
        """Return the blocks as text, top row first.

        Args:
            rows: Height of the blocks, as passed to `time_bar`.
        """
        return ["".join(self._cell(slot, row) for slot in self.slots) for row in reversed(range(rows))]

    def _cell(self, slot: Slot, row: int) -> str:
        if not slot.events:
            return " " if row else slot.gap or EMPTY_CELL
        return _BLOCKS[min(max(slot.height - 8 * row, 0), 8)]


def time_bar(spans: Sequence[EventSpan], *, width: int, rows: int = 1) -> TimeBar:
    """Return the bar of a history.

    Args:
        spans: Summaries, the oldest first; those wider than a column are spread.
        rows: Height of the blocks.
    """
    columns = [_Column() for _ in range(width)]
    signs: Counter[str] = Counter()
    axis = _cut_axis(spans, width)
    for span in spans:
        _spread(span, columns, axis, signs)
    max_events = max((column.events for column in columns), default=0)

    def rarity(sign: str) -> tuple[int, int]:
        return signs[sign], _PLACES[sign]

    slots = [
        Slot(
            column.events,
            max(1, round(8 * rows * (column.events / max_events) ** _EXPONENT)),
            min(column.signs, key=rarity, default=""),
            column.first_seq,
            column.last_seq,
        )
        if column.events
        else Slot()
        for column in columns
    ]
    for gap in axis.folds:
        first, end = axis.column_of(gap.begin_ms) + 1, axis.column_of(gap.end_ms)
        label = countdown(gap.duration_ms, max_width=_LABEL_WIDTH)
        text = (label if end - first > len(label) else "").center(end - first, FOLD if gap.is_idle else ASKS)
        slots[first:end] = [Slot(gap=character) for character in text]
    return TimeBar(slots)


class _Column:
    __slots__ = ("events", "first_seq", "last_seq", "signs")

    def __init__(self) -> None:
        self.events = self.first_seq = self.last_seq = 0
        self.signs: set[str] = set()

    def add(self, first_seq: int, last_seq: int) -> None:
        self.first_seq = self.first_seq or first_seq
        self.last_seq = last_seq
        self.events += last_seq - first_seq + 1


class _Axis(NamedTuple):
    """Maps moments to columns."""

    width: int
    from_ms: int
    length_ms: float
    """Duration of all columns, with what folds take of it."""
    folds: Sequence[QuietGap] = ()
    removed_ms: Sequence[float] = (0,)
    """By how much the moments before and after each fold are moved."""

    def column_of(self, at_ms: int) -> int:
        place = bisect_left(self.folds, at_ms, key=lambda gap: gap.end_ms - 1)
        column = int((at_ms - self.from_ms - self.removed_ms[place]) * self.width / self.length_ms)
        return min(max(column, 0), self.width - 1)


def _cut_axis(spans: Sequence[EventSpan], width: int) -> _Axis:
    if not spans:
        return _Axis(width, 0, 1)
    from_ms, length_ms = spans[0].first_ms, spans[-1].last_ms - spans[0].first_ms + 1
    gaps = [*quiet_gaps(spans)]
    folds = [gaps[place] for place in longest_gaps([gap.duration_ms for gap in gaps], width)]
    each = fold_columns(len(folds), width) + 1  # between two columns with events there is one less
    active_ms = length_ms - sum(gap.duration_ms for gap in folds)
    fold_ms = each * active_ms / max(1, width - each * len(folds))
    removed_ms = [*accumulate((gap.duration_ms - fold_ms for gap in folds), initial=0.0)]
    return _Axis(width, from_ms, active_ms + fold_ms * len(folds), folds, removed_ms)


def _spread(span: EventSpan, columns: Sequence[_Column], axis: _Axis, signs: Counter[str]) -> None:
    """Distribute a span over its columns: its events evenly, its marks at equal distances."""
    width = len(columns)
    first, last = axis.column_of(span.first_ms), axis.column_of(span.last_ms)
    over, events = last - first + 1, span.last_seq - span.first_seq + 1
    for part in range(over):
        begins, ends = span.first_seq + events * part // over, span.first_seq + events * (part + 1) // over - 1
        if ends >= begins and 0 <= first + part < width:
            columns[first + part].add(begins, ends)
    for kind, count in span.counts.items():
        if (sign := MARKS.get(kind)) is None:
            continue
        marked = min(count, 2 * over)
        for event in {events * (2 * number + 1) // (2 * marked) for number in range(marked)}:
            column = first + -(-over * (event + 1) // events) - 1  # the column of the part with this event
            if 0 <= column < width:
                columns[column].signs.add(sign)
        signs[sign] += count


def spans_of(entries: Iterable[Entry], after_seq: int) -> list[EventSpan]:
    """Return events after `after_seq` as spans of one event."""
    return [
        EventSpan(entry.seq, entry.seq, entry.at_ms, entry.at_ms, {entry.kind: 1})
        for entry in entries
        if entry.seq > after_seq
    ]
