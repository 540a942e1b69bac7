"""The states of a team's members in one row: a bar of their marks."""

from collections import Counter

from dashboard.views.drawing.lines import Span
from dashboard.views.words.glyphs import ACTIVITY
from engine.core.activities import ActivityKind


def bar_of_kinds(kinds: Counter[ActivityKind], width: int) -> tuple[Span, ...]:
    """Return one mark for each member; if there is no room for all, in proportion, with each mark at least once."""
    shown = [(ACTIVITY[kind], kinds[kind]) for kind in ACTIVITY if kinds[kind]]
    total = sum(number for _, number in shown)
    cells = [number for _, number in shown]
    if total > width:
        cells = [max(1, number * width // total) for number in cells]
        while sum(cells) > max(width, len(cells)):
            cells[cells.index(max(cells))] -= 1
    return tuple(Span(mark.glyph * count, mark.tone) for (mark, _), count in zip(shown, cells, strict=True))
