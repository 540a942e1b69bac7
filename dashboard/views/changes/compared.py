"""The page of a comparison of two teams: their moments, and the differences by subject."""

from collections.abc import Sequence
from dataclasses import dataclass

from dashboard.views.changes.differences import difference_lines
from dashboard.views.drawing.rows import Cell, labelled_cell
from dashboard.views.words.amounts import duration, moment, pluralize
from engine.core.queries.differences import Difference

MAX_SHOWN = 200
"""Differences of one subject that are listed."""


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two teams, at one moment."""

    path: str
    """Its database; empty for that of the dashboard."""
    seq: int
    at_ms: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two teams, and the differences from one to the other."""

    base: Side
    other: Side
    differences: Sequence[Difference]


def comparison_lines(comparison: Comparison, *, now_ms: int) -> list[Cell]:
    """Return the page."""
    apart_ms = comparison.other.at_ms - comparison.base.at_ms
    apart = f", {duration(abs(apart_ms))} {'later' if apart_ms >= 0 else 'earlier'}"
    return [
        Cell(f"What differs: {pluralize(len(comparison.differences), 'difference')}", "strong"),
        labelled_cell("from", _describe_side(comparison.base, now_ms)),
        labelled_cell("to", f"{_describe_side(comparison.other, now_ms)}{apart}"),
        Cell(""),
        *difference_lines(comparison.differences, limit=MAX_SHOWN),
    ]


def _describe_side(side: Side, now_ms: int) -> str:
    path = f"{side.path} at " if side.path else ""
    return f"{path}seq {side.seq:,}, {moment(side.at_ms, now_ms)}"
