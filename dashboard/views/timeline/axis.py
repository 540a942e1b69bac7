"""Divides a period into columns of whole slots, so that bars keep their shape; idle time folds to a few columns."""

from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from typing import NamedTuple

from dashboard.views.measures.attempts import SlotCounts
from dashboard.views.measures.idle_gaps import fold_columns, longest_gaps
from dashboard.views.timeline.lanes import SLOT_MS, Lanes

SHORT_MS = (2, 4, 10, 20, 50, 100)
"""Durations of columns shorter than `SLOT_MS`: round numbers, so that the scale of a young file changes rarely."""


class AxisColumn(NamedTuple):
    """A column: its first position and the one after its last; for folded time, its duration."""

    begin: int
    end: int
    folded_ms: int = 0


@dataclass(frozen=True, slots=True)
class Axis:
    """Columns from left to right."""

    columns: tuple[AxisColumn, ...]
    step: int
    """Duration of a column, in milliseconds."""

    def column_of(self, at: int) -> int | None:
        """Return the column of a position; None if it is not visible."""
        index = next(
            (x for x, column in enumerate(self.columns) if not column.folded_ms and column.begin <= at < column.end),
            None,
        )
        if index is None and self.columns and at == self.columns[-1].end:
            return len(self.columns) - 1
        return index


def cut_axis(lanes: Lanes, begin: int, end: int, width: int, *, unfolded: bool = False) -> Axis:
    """Divide the time between two positions into at most `width` columns.

    Args:
        lanes: Has the slots and gaps.
        unfolded: Whether idle time has its full length.
    """
    end = max(end, begin + 1)
    gaps = [(at, length) for at, length in lanes.gaps if begin < at < end]
    if unfolded:
        return _unfolded_axis(lanes, begin, end, width)
    folded_gaps = [gaps[place] for place in longest_gaps([length for _, length in gaps], width)]
    each = fold_columns(len(folded_gaps), width)
    available = max(1, width - each * len(folded_gaps) - len(folded_gaps))  # a column that a gap divides becomes two
    step = _step(lanes, (end - begin) / available)
    columns: list[AxisColumn] = []
    at = begin // step * step
    for gap_at, length in (*folded_gaps, (end, 0)):
        while at < gap_at:
            to = min((at // step + 1) * step, gap_at if length else max(end, at + 1))
            columns.append(AxisColumn(at, to))
            at = to
        columns += [AxisColumn(gap_at, gap_at, length)] * (each if length else 0)
    return Axis(tuple(columns[-width:] if len(columns) > width else columns), step)


def _step(lanes: Lanes, min_ms: float) -> int:
    """Return the duration of a column: whole slots, at least `least` milliseconds."""
    unit = max(lanes.slot_ms, SLOT_MS)
    short = (step_ms for step_ms in SHORT_MS if step_ms >= min_ms and step_ms % lanes.slot_ms == 0)
    return next(short, max(1, ceil(min_ms / unit)) * unit)


def _unfolded_axis(lanes: Lanes, begin: int, end: int, width: int) -> Axis:
    first_ms, last_ms = lanes.moment(begin), lanes.moment(end)
    step = _step(lanes, (last_ms - first_ms) / max(1, width - 1))  # the first column may begin before the period
    first_ms = first_ms // step * step
    columns = []
    for place in range(width):
        from_ms = first_ms + place * step
        if from_ms > last_ms:
            break
        low, high = lanes.position_at(from_ms), lanes.position_at(from_ms + step)
        columns.append(AxisColumn(low, high) if high > low else AxisColumn(low, low, step))
    return Axis(tuple(columns), step)


def column_sums(counts: SlotCounts, lanes: Lanes, axis: Axis) -> list[int]:
    """Return the sum of a counter in each column; a slot that two columns share counts for the first one."""
    values = counts.until(lanes.newest)
    return [sum(values[first:end]) for first, end in slots_of(axis.columns, lanes.slot_ms)]


@lru_cache(maxsize=8)
def slots_of(columns: tuple[AxisColumn, ...], slot_ms: int) -> tuple[tuple[int, int], ...]:
    """Return the first slot of each column, and the slot after its last one; an empty range for folded time."""
    return tuple(
        (0, 0) if column.folded_ms else (ceil(column.begin / slot_ms), max(ceil(column.end / slot_ms), 0))
        for column in columns
    )
