"""Lines of styled spans, from which panes, plots and bars are built, and functions that fit text into a width.

A view returns `Line`s for a given size; `widgets/lines.Lines` paints those that have changed.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from rich.cells import cell_len, chop_cells, set_cell_size

from dashboard.clean import clean

_NUMBER = re.compile(r"[-_]?[0-9]{1,6}$")


class Span(NamedTuple):
    """Text in one style."""

    text: str
    tone: str = ""
    """Style names separated by spaces, such as `busy strong`."""


class Line(NamedTuple):
    """One line of a pane."""

    spans: tuple[Span, ...] = ()
    key: str = ""
    """Key of the object that a click opens; empty for none."""
    tone: str = ""
    """Style of the whole line, such as `selected`."""


_RULE = Span("─ ", "line")
BLANK = Line()


def line(*spans: Span | str) -> Line:
    """Return a line of spans; a plain text has no style of its own."""
    return Line(tuple(Span(span) if isinstance(span, str) else span for span in spans))


def cell_width(spans: Iterable[Span]) -> int:
    """Return the width of spans in cells."""
    return sum([_text_width(span.text) for span in spans])


_text_width = lru_cache(maxsize=2_048)(cell_len)


def cut(text: str, width: int) -> str:
    """Return `text` cleaned and at most `width` cells wide; a cut end is marked with `…`."""
    text = clean(text[: _max_characters(width)])
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, width - 1).rstrip() + "…" if width > 0 else ""


def _max_characters(width: int) -> int:
    """Return a number of characters that never fits: at most two of three have no width."""
    return 3 * max(width, 0) + 4


def cut_path(text: str, width: int) -> str:
    """Return a path cut in front at a `/`, such as `…/loader.py`; any other text is cut at its end.

    A `/` alone makes no path, because titles are free text: a path has no spaces, or starts like a path.
    """
    end = clean(text[-_max_characters(width) :])
    _, slash, name = text.rstrip("/").rpartition("/")
    if cell_len(end) <= width or not slash or not _is_path(text):
        return cut(text, width)
    parts = end.split("/")
    for first in range(1, end.rstrip("/").count("/") + 1):
        shorter = "…/" + "/".join(parts[first:])
        if cell_len(shorter) <= width:
            return shorter
    return cut(name, width)


def _is_path(text: str) -> bool:
    return text.startswith(("/", "~/", "./", "../")) or not any(map(str.isspace, text))


def cut_name(text: str, width: int) -> str:
    """Return a name cut before its final number, which distinguishes siblings; any other text is cut at its end."""
    number = _NUMBER.search(text[-_max_characters(width) :])
    if number is None or cell_len(text) <= width or len(number[0]) + 2 > width:
        return cut(text, width)
    return cut(text, width - len(number[0])) + number[0]


def pad(text: str, width: int, *, right: bool = False) -> str:
    """Return `text` cut or padded to exactly `width` cells."""
    text = cut(text, width)
    blank = " " * (width - cell_len(text))
    return blank + text if right else text + blank


def fit_spans(spans: Sequence[Span], width: int) -> tuple[Span, ...]:
    """Return spans cleaned and cut to at most `width` cells."""
    return tuple(fit_and_measure(spans, width)[0])


def fit_and_measure(spans: Sequence[Span], width: int) -> tuple[list[Span], int]:
    """Return spans cleaned and cut to at most `width` cells, and the number of free cells."""
    out: list[Span] = []
    for span in spans:
        raw = span.text
        text, length = _clean_and_measure(raw if len(raw) <= width else raw[: _max_characters(width)])
        if length > width:
            if width > 0:
                out.append(Span(text := cut(text, width), span.tone))
                width -= cell_len(text)
            break
        # Most spans are clean and fit, and a new tuple would cost more than the rest of this function.
        out.append(span if text == raw else Span(text, span.tone))
        width -= length
    return out, width


@lru_cache(maxsize=2_048)
def _clean_and_measure(text: str) -> tuple[str, int]:
    """Return a cleaned text and its width; cached, because most texts are drawn many times."""
    cleaned = clean(text)
    return cleaned, cell_len(cleaned)


def spread(left: Sequence[Span], right: Sequence[Span], width: int, *, key: str = "", fill: Span | None = None) -> Line:
    """Return a line with spans at both ends and `fill` between them; the left spans are cut if necessary."""
    ends, rest = fit_and_measure(right, width)
    available = max(0, rest - (1 if ends else 0))
    begins, gap = fit_and_measure(left, available)
    gap += rest - available
    between = Span(" " * gap) if fill is None else Span((fill.text * gap)[:gap], fill.tone)
    return Line((*begins, between, *ends), key)


def hairline(title: str, width: int, *, right: str = "", tone: str = "muted") -> Line:
    """Return the line between two panes with the title of the lower one: `─ NOW ───── 2 of 3 slots ─`.

    Args:
        title: Title of the pane below.
        right: Text near the right end.
        tone: Style of `right`.
    """
    head = (_RULE, Span(title, "muted bold"), Span(" ", "line")) if title else ()
    tail = (Span(f" {right} ", tone), Span("─", "line")) if right else ()
    tight = cell_width((*head, *tail)) >= width  # the line would touch the title
    return spread(head, tail, width, fill=None if tight else Span("─", "line"))


def is_hairline(line: Line) -> bool:
    """Return whether a line is a hairline with a title."""
    return line.spans[:1] == (_RULE,)


def join_columns(parts: Sequence[tuple[Sequence[Span], int]], *, gap: int = 1, key: str = "") -> Line:
    """Return spans side by side, each part cut or padded to its width."""
    out: list[Span] = []
    for index, (spans, width) in enumerate(parts):
        clipped, left = fit_and_measure(spans, width)
        blank = left + (gap if index < len(parts) - 1 else 0)
        out += [*clipped, Span(" " * blank)]
    return Line(tuple(out), key)


def join_spans(parts: Iterable[tuple[str, str]]) -> tuple[Span, ...]:
    """Return texts with their tones as spans; neighbours of one tone are merged, which is faster to paint."""
    out: list[Span] = []
    texts: list[str] = []
    last = ""
    for text, tone in parts:
        if tone != last and texts:
            out.append(Span("".join(texts), last))
            texts.clear()
        last = tone
        texts.append(text)
    if texts:
        out.append(Span("".join(texts), last))
    return tuple(out)


def indent(line: Line) -> Line:
    """Return a line with a blank cell before it."""
    return line._replace(spans=(Span(" "), *line.spans))


def mark_cursor(line: Line) -> Line:
    """Return a line with the cursor in its first blank cell, before which an edge may stand."""
    for index, span in enumerate(line.spans[:2]):
        if span.text.startswith(" "):
            rest = span._replace(text=span.text[1:])
            return line._replace(spans=(*line.spans[:index], Span("▌", "accent"), rest, *line.spans[index + 1 :]))
        if cell_len(span.text) > 1:
            break
    return line


def fit_height(lines: Sequence[Line], height: int) -> list[Line]:
    """Cut or pad lines to exactly `height`."""
    return [*lines[:height], *[BLANK] * (height - len(lines))]


def fold(line: str, max_width: int) -> list[str]:
    """Wrap a line at spaces if possible, in pieces of at most `room` cells."""
    pieces, start = [], 0
    # Never measure the rest of a long line.
    while cell_len(ahead := line[start : start + _max_characters(max_width)]) > max_width:
        head = chop_cells(ahead, max_width)[0]
        space = head.rstrip().rfind(" ")
        cut = space + 1 if space > max_width // 2 else max(1, len(head))
        pieces.append(ahead[:cut].rstrip())
        start += cut
    pieces.append(line[start:])
    return pieces
