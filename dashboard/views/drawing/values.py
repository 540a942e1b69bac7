"""JSON values as lines a person reads: names, numbers and texts in their colours, cut to the room there is. Pure.

What fits in a line stands in one; deeper values are indented below their names. `raw` shows the JSON itself.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from rich.cells import cell_len

from dashboard.clean import clean
from dashboard.views.changes.drafts import as_markdown, values_in
from dashboard.views.drawing.lines import BLANK, Line, Span, cells, cut, fit_spans
from dashboard.views.drawing.prose import prose, wrapped

MOST_LINES = 400
LONGEST_TEXT = 600
"""Characters of a text inside a value."""
_WIDEST_NAME = 16
_STEP = 2
_DEEPEST = 12


def output_lines(said: Any, width: int) -> list[Line]:
    """Return what an agent put out or was given: a value laid out, a text as markdown, JSON in a text as its value."""
    values = values_in(said) if isinstance(said, str) else [said]
    if values is None:
        return prose(as_markdown(said), width)
    lines: list[Line] = []
    for value in values:
        lines += [*([BLANK] if lines else []), *value_lines(value, width)]
    return lines


def value_lines(value: Any, width: int, *, most: int = MOST_LINES) -> list[Line]:
    """Return a JSON value as at most `most` lines; the last one says that there is more."""
    laid = islice(_laid(value, max(12, width), 0), most + 1)
    lines = [line._replace(spans=fit_spans(line.spans, max(12, width))) for line in laid]
    if len(lines) <= most:
        return lines
    return [*lines[: max(0, most - 1)], Line((Span("…", "faint"),))][:most]


def value_spans(value: Any, room: int, *, without: str = "", deep: int = 0) -> list[Span]:
    """Return a JSON value in one line: the plain fields of an object, or of the first one in it.

    Fields that say no more than `without`, which stands beside them, are left out.
    """
    if isinstance(value, Mapping):
        plain = {name: one for name, one in value.items() if not isinstance(one, Mapping | list) and one != without}
        if plain:
            return list(fit_spans(_fields(plain), room))
        inner = next((one for one in value.values() if one), None)
        if inner is None or deep >= _DEEPEST:
            return [Span("{}" if inner is None else "{…}", "muted")]
        return value_spans(inner, room, without=without, deep=deep + 1)
    if isinstance(value, list):
        if len(value) == 1 and deep < _DEEPEST:
            return value_spans(value[0], room, without=without, deep=deep + 1)
        if not value or any(isinstance(one, Mapping | list) for one in value):
            return [Span(f"{len(value):,} items", "muted")]
        return list(fit_spans(_inline(value), room))
    text = " ".join(value[: 2 * room].split()) if isinstance(value, str) else value
    return list(fit_spans([_scalar(text)], room))


def _laid(value: Any, width: int, depth: int) -> Iterator[Line]:
    """Yield the lines of a value, those inside another one without its indent."""
    if depth > _DEEPEST:
        yield Line((Span("…", "faint"),))
    elif isinstance(value, Mapping) and value:
        yield from _object(value, width, depth)
    elif isinstance(value, list) and value:
        yield from _items(value, width, depth)
    else:
        yield from (Line(spans) for spans in wrapped(_inline(value), width))


def _object(value: Mapping[str, Any], width: int, depth: int) -> Iterator[Line]:
    names = {name: cut(name, width) for name in value}
    wide = min(_WIDEST_NAME, max(map(cell_len, names.values())), width // 3)
    for name, one in value.items():
        label = Span(names[name] + " " * (1 + max(0, wide - cell_len(names[name]))), "tool")
        room = width - cells([label])
        spans = [] if _is_tall(one) else _inline(one)
        if spans and cells(spans) <= room:
            yield Line((label, *spans))
        elif isinstance(one, Mapping | list):
            yield Line((Span(names[name], "tool"), Span(_size(one), "faint")))
            yield from _indented(_laid(one, width - _STEP, depth + 1))
        elif room >= width // 2:
            for at, piece in enumerate(wrapped(spans, room)):
                yield Line((label if not at else Span(" " * cells([label])), *piece))
        else:
            yield Line((Span(names[name], "tool"),))
            yield from _indented(Line(piece) for piece in wrapped(spans, max(8, width - _STEP)))


def _items(value: Sequence[Any], width: int, depth: int) -> Iterator[Line]:
    if not any(isinstance(one, Mapping | list) for one in value):
        yield from (Line(spans) for spans in wrapped(_inline(value), width))
        return
    for one in value:
        inner = [Line(tuple(_inline(one)))] if not _is_tall(one) else []
        if not inner or cells(inner[0].spans) > width - _STEP:
            inner = list(islice(_laid(one, max(12, width - _STEP), depth + 1), MOST_LINES))
        for at, line in enumerate(inner):
            yield line._replace(spans=(Span("  " if at else "• ", "guide"), *line.spans))


def _indented(lines: Iterator[Line]) -> Iterator[Line]:
    for line in lines:
        yield line._replace(spans=(Span(" " * _STEP), *line.spans))


def _is_tall(value: Any) -> bool:
    """Whether a value has others inside that have parts of their own."""
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return any(isinstance(one, Mapping | list) and one for one in inner)


def _size(value: Mapping[str, Any] | Sequence[Any]) -> str:
    return f"  {len(value):,} items" if isinstance(value, list) and len(value) > 1 else ""


def _inline(value: Any) -> list[Span]:
    """Return a value that is not tall in one line, however long."""
    if isinstance(value, Mapping):
        return _fields(value) or [Span("{}", "muted")]
    if isinstance(value, list):
        spans = [Span("[", "muted")]
        for at, one in enumerate(value[:100]):
            spans += [*([Span(", ", "muted")] if at else []), *_inline(one)]
        return [*spans, Span("]", "muted")] if len(value) <= 100 else [*spans, Span(", …]", "muted")]
    return [_scalar(value)]


def _fields(value: Mapping[str, Any]) -> list[Span]:
    spans: list[Span] = []
    for name, one in list(value.items())[:100]:
        spans += [*([Span("  ")] if spans else []), Span(f"{cut(name, 40)} ", "tool"), *_inline(one)]
    return spans


def _scalar(value: Any) -> Span:
    if isinstance(value, str):
        text = value[:LONGEST_TEXT] + ("…" if len(value) > LONGEST_TEXT else "")
        return Span(clean(" ".join(text.split())) or '""')
    if isinstance(value, bool) or value is None:
        return Span(json.dumps(value), "muted")
    return Span(json.dumps(value)[:LONGEST_TEXT], "plot-high")
