"""Facts of an object: the same text in every place, laid out as each place needs it.

`views/facts/` says what is known of agents, supervisors, tasks and runs; a place chooses groups of facts and their
order, and which labels it leaves out.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from dashboard.views.drawing.lines import Line, Span, cell_width, fit_spans, spread
from dashboard.views.drawing.rows import Cell, labelled_cell

_GAP = 3
"""Cells between two facts of a line."""


class Fact(NamedTuple):
    """One thing that is known of an object."""

    label: str
    text: str
    tone: str = ""
    group: str = ""
    """Facts of one group are shown together, such as `alerts`."""
    rank: int = 0
    """A row without room drops the highest rank first, and the last of equals."""
    drawn: tuple[Span, ...] = ()
    """A meter or sparkline before the text."""
    more: str = ""
    """What only the description adds: the rule behind it, or the key that changes it."""


def in_groups(facts: Sequence[Fact], *groups: str) -> list[Fact]:
    """Return the facts of some groups, in the order of `groups`."""
    return [fact for group in groups for fact in facts if fact.group == group]


def to_cells(facts: Sequence[Fact], *, wide: int = 12) -> list[Cell]:
    """Return a labelled cell for each fact, with all that is known of it; labels are padded to `wide` cells."""
    cells = []
    for fact in facts:
        drawn = "".join(span.text for span in fact.drawn)
        text = f"{drawn}  {_text_of(fact)}" if drawn else _text_of(fact)
        cells.append(labelled_cell(fact.label, text, fact.tone, wide=wide))
    return cells


def _text_of(fact: Fact) -> str:
    return f"{fact.text}; {fact.more}" if fact.more else fact.text


def to_cell(label: str, facts: Sequence[Fact]) -> Cell:
    """Return facts in one labelled cell, as words."""
    return labelled_cell(label, ", ".join(f"{fact.label} {fact.text.strip()}" for fact in facts))


def to_lines(
    facts: Sequence[Fact], width: int, *, bare: Collection[str] = (), more: Collection[str] = ()
) -> list[Line]:
    """Return facts in as many lines as they need.

    Args:
        bare: Labels that are left out.
        more: Labels of facts whose `more` is added.
    """
    lines: list[list[Span]] = []
    for fact in facts:
        spans = _spans_of(fact, bare, more)
        if lines and cell_width(lines[-1]) + _GAP + cell_width(spans) <= width:
            lines[-1] += [Span(" " * _GAP), *spans]
        else:
            lines.append(spans)
    return [Line(fit_spans(spans, width)) for spans in lines]


def to_row(facts: Sequence[Fact], width: int, *, bare: Collection[str] = (), max_gap: int = _GAP) -> Line:
    """Return the facts that fit into one line, evenly spaced; a wide gap has a line in it.

    Args:
        bare: Labels that are left out.
        max_gap: Maximum cells between two facts.
    """
    parts = [(fact.rank, _spans_of(fact, bare)) for fact in facts]
    while len(parts) > 1 and sum(cell_width(spans) + _GAP for _, spans in parts) - _GAP > width:
        parts.pop(max(range(len(parts)), key=lambda place: (parts[place][0], place)))
    free = width - sum(cell_width(spans) for _, spans in parts)
    gap = min(max_gap, free // max(1, len(parts) - 1))
    between = Span(("│" if gap > _GAP else "").center(gap), "line")
    row = [span for place, (_, spans) in enumerate(parts) for span in ([between, *spans] if place else spans)]
    return Line(fit_spans(row, width))


def to_title(name: Sequence[Span], facts: Sequence[Fact], width: int, *, bare: Collection[str] = ()) -> Line:
    """Return a name at the left with facts at the right, the state in bold; labels in `bare` are left out."""
    ends = [Span(" ")]
    for fact in reversed(facts):
        shown = fact._replace(tone=f"{fact.tone} bold") if fact.label == "state" else fact
        ends[:0] = [Span("  "), *_spans_of(shown, bare)]
    return spread((Span("▌", "accent"), *name), ends[1:], width)


def _spans_of(fact: Fact, bare: Collection[str], more: Collection[str] = ()) -> list[Span]:
    label = [] if fact.label in bare else [Span(f"{fact.label} ", "muted")]
    drawn = [*fact.drawn, Span(" ")] if fact.drawn else []
    return [*label, *drawn, Span(_text_of(fact) if fact.label in more else fact.text, fact.tone)]
