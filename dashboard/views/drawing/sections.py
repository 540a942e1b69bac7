"""A pane of sections: a head, then sections below each other, separated by hairlines with their titles."""

from collections.abc import Sequence, Set
from typing import NamedTuple

from dashboard.clean import clean_lines
from dashboard.views.drawing.lines import BLANK, Line, Span, cut, fit_spans, fold, hairline, join_columns

EDGE_WIDTH = 3
"""Cells for the line at the left of a pane and the blanks at both sides."""


class Section(NamedTuple):
    """Lines under a title."""

    title: str
    lines: Sequence[Line]
    right: str = ""
    """Text at the right end of its hairline."""


def height_of(sections: Sequence[Section]) -> int:
    """Return the number of lines of sections with their hairlines."""
    return sum(1 + len(section.lines) for section in sections)


def draw_frame(
    head: Sequence[Line], sections: Sequence[Section], width: int, height: int, *, joins: Set[int] = frozenset()
) -> list[Line]:
    """Return a pane whose left edge is the line between it and its neighbour.

    Args:
        head: Lines above the first section.
        sections: From top to bottom, cut off at `height`.
        width: In cells, the edge included.
        joins: Lines at which a hairline of the neighbour meets the edge.
    """
    rows: list[tuple[Line, bool]] = [(line, False) for line in head]  # each with whether it is a rule
    for section in sections:
        rows.append((hairline(section.title, width - 1, right=section.right), True))
        rows += [(line, False) for line in section.lines]
    rows += [(BLANK, False)] * (height - len(rows))
    return [
        _add_edge(line, width, is_rule=is_rule, is_joined=y in joins) for y, (line, is_rule) in enumerate(rows[:height])
    ]


def draw_side_by_side(panes: Sequence[tuple[Sequence[Section], int]], height: int) -> list[Line]:
    """Return panes beside each other, separated by vertical lines.

    Args:
        panes: The sections of each pane with its width in cells, from left to right.
        height: In lines; sections are cut off there.
    """
    # The first pane has no left edge: its frame is drawn a cell wider, and the edge is dropped below.
    frames = [
        draw_frame((), sections, width if index else width + 1, height) for index, (sections, width) in enumerate(panes)
    ]
    lines = []
    for y in range(height):
        parts: list[tuple[Sequence[Span], int]] = []
        for index, (_, width) in enumerate(panes):
            edge, *inner = frames[index][y].spans
            top = [edge._replace(text="┬" if y == 0 else edge.text)] if index else []
            parts.append(([*top, *inner], width))
        lines.append(join_columns(parts, gap=0))
    return lines


def _add_edge(line: Line, width: int, *, is_rule: bool, is_joined: bool) -> Line:
    edge = ("┼" if is_joined else "├") if is_rule else ("┤" if is_joined else "│")
    inner = line.spans if is_rule else (Span(" "), *fit_spans(line.spans, width - EDGE_WIDTH))
    return Line((Span(edge, "line"), *inner), line.key, line.tone)


def wrap_end(text: str, width: int, max_lines: int) -> list[str]:
    """Return the last `max_lines` lines of a text, cleaned and broken at spaces to `width` cells."""
    width = max(1, width)
    tail = text[-(max_lines + 1) * width * 2 :]  # twice what fits, so that only shown lines are cleaned and wrapped
    pieces = [piece for line in clean_lines(tail) for piece in fold(line.rstrip(), width)]
    return pieces[-max_lines:] if max_lines > 0 else []


def wrap_beginning(text: str, width: int, max_lines: int) -> list[str]:
    """Return the first `max_lines` lines of a text like `wrap_end`; if there are more, the last one ends with `…`."""
    width = max(1, width)
    head = text[: (max_lines + 1) * width * 2]
    pieces = [piece for line in clean_lines(head) for piece in fold(line.rstrip(), width)]
    if len(pieces) <= max_lines and len(head) == len(text):
        return pieces
    *lines, last = pieces[:max_lines]
    return [*lines, cut(f"{last} …", width)]
