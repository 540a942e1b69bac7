"""JSON values as readable, highlighted lines, cut to a width. Pure.

A value is written on one line if it fits; nested values are indented below their names. `raw` shows the JSON itself.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from rich.cells import cell_len

from dashboard.clean import clean
from dashboard.views.changes.drafts import as_markdown, values_in
from dashboard.views.drawing.lines import BLANK, Line, Span, cell_width, cut, fit_spans
from dashboard.views.drawing.prose import prose, wrap_spans

MAX_LINES = 400
MAX_TEXT_CHARACTERS = 600
"""Characters of a text inside a value."""
_MAX_NAME_WIDTH = 16
_STEP = 2
_MAX_DEPTH = 12


def output_lines(output: Any, width: int) -> list[Line]:
    """Return the output or input of an agent: a text as markdown, a value, or JSON in a text, as a value."""
    values = values_in(output) if isinstance(output, str) else [output]
    if values is None:
        return prose(as_markdown(output), width)
    lines: list[Line] = []
    for value in values:
        lines += [*([BLANK] if lines else []), *value_lines(value, width)]
    return lines


def value_lines(value: Any, width: int, *, max_lines: int = MAX_LINES) -> list[Line]:
    """Return a JSON value as at most `max_lines` lines; the last one is `…` if there are more."""
    laid = islice(_layout(value, max(12, width), 0), max_lines + 1)
    lines = [line._replace(spans=fit_spans(line.spans, max(12, width))) for line in laid]
    if len(lines) <= max_lines:
        return lines
    return [*lines[: max(0, max_lines - 1)], Line((Span("…", "faint"),))][:max_lines]


def value_spans(value: Any, max_width: int, *, without: str = "", deep: int = 0) -> list[Span]:
    """Return a JSON value in one line: the plain fields of an object, or of the first object in it.

    Fields equal to `without`, which is shown beside them, are left out.
    """
    if isinstance(value, Mapping):
        plain = {
            name: field for name, field in value.items() if not isinstance(field, Mapping | list) and field != without
        }
        if plain:
            return list(fit_spans(_fields(plain), max_width))
        inner = next((field for field in value.values() if field), None)
        if inner is None or deep >= _MAX_DEPTH:
            return [Span("{}" if inner is None else "{…}", "muted")]
        return value_spans(inner, max_width, without=without, deep=deep + 1)
    if isinstance(value, list):
        if len(value) == 1 and deep < _MAX_DEPTH:
            return value_spans(value[0], max_width, without=without, deep=deep + 1)
        if not value or any(isinstance(item, Mapping | list) for item in value):
            return [Span(f"{len(value):,} items", "muted")]
        return list(fit_spans(_inline(value), max_width))
    text = " ".join(value[: 2 * max_width].split()) if isinstance(value, str) else value
    return list(fit_spans([_scalar(text)], max_width))


def _layout(value: Any, width: int, depth: int) -> Iterator[Line]:
    """Yield the lines of a value, without the indent of an enclosing value."""
    if depth > _MAX_DEPTH:
        yield Line((Span("…", "faint"),))
    elif isinstance(value, Mapping) and value:
        yield from _object(value, width, depth)
    elif isinstance(value, list) and value:
        yield from _items(value, width, depth)
    else:
        yield from (Line(spans) for spans in wrap_spans(_inline(value), width))


def _object(value: Mapping[str, Any], width: int, depth: int) -> Iterator[Line]:
    names = {name: cut(name, width) for name in value}
    label_width = min(_MAX_NAME_WIDTH, max(map(cell_len, names.values())), width // 3)
    for name, field in value.items():
        label = Span(names[name] + " " * (1 + max(0, label_width - cell_len(names[name]))), "tool")
        value_width = width - cell_width([label])
        spans = [] if _is_tall(field) else _inline(field)
        if spans and cell_width(spans) <= value_width:
            yield Line((label, *spans))
        elif isinstance(field, Mapping | list):
            yield Line((Span(names[name], "tool"), Span(_size(field), "faint")))
            yield from _indent(_layout(field, width - _STEP, depth + 1))
        elif value_width >= width // 2:
            for at, piece in enumerate(wrap_spans(spans, value_width)):
                yield Line((label if not at else Span(" " * cell_width([label])), *piece))
        else:
            yield Line((Span(names[name], "tool"),))
            yield from _indent(Line(piece) for piece in wrap_spans(spans, max(8, width - _STEP)))


def _items(value: Sequence[Any], width: int, depth: int) -> Iterator[Line]:
    if not any(isinstance(item, Mapping | list) for item in value):
        yield from (Line(spans) for spans in wrap_spans(_inline(value), width))
        return
    for item in value:
        inner = [Line(tuple(_inline(item)))] if not _is_tall(item) else []
        if not inner or cell_width(inner[0].spans) > width - _STEP:
            inner = list(islice(_layout(item, max(12, width - _STEP), depth + 1), MAX_LINES))
        for at, line in enumerate(inner):
            yield line._replace(spans=(Span("  " if at else "• ", "guide"), *line.spans))


def _indent(lines: Iterator[Line]) -> Iterator[Line]:
    for line in lines:
        yield line._replace(spans=(Span(" " * _STEP), *line.spans))


def _is_tall(value: Any) -> bool:
    """Return whether a value contains values that are not plain."""
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return any(isinstance(part, Mapping | list) and part for part in inner)


def _size(value: Mapping[str, Any] | Sequence[Any]) -> str:
    return f"  {len(value):,} items" if isinstance(value, list) and len(value) > 1 else ""


def _inline(value: Any) -> list[Span]:
    """Return a value that is not tall in one line, however long."""
    if isinstance(value, Mapping):
        return _fields(value) or [Span("{}", "muted")]
    if isinstance(value, list):
        spans = [Span("[", "muted")]
        for at, item in enumerate(value[:100]):
            spans += [*([Span(", ", "muted")] if at else []), *_inline(item)]
        return [*spans, Span("]", "muted")] if len(value) <= 100 else [*spans, Span(", …]", "muted")]
    return [_scalar(value)]


def _fields(value: Mapping[str, Any]) -> list[Span]:
    spans: list[Span] = []
    for name, field in list(value.items())[:100]:
        spans += [*([Span("  ")] if spans else []), Span(f"{cut(name, 40)} ", "tool"), *_inline(field)]
    return spans


def _scalar(value: Any) -> Span:
    if isinstance(value, str):
        text = value[:MAX_TEXT_CHARACTERS] + ("…" if len(value) > MAX_TEXT_CHARACTERS else "")
        return Span(clean(" ".join(text.split())) or '""')
    if isinstance(value, bool) or value is None:
        return Span(json.dumps(value), "muted")
    return Span(json.dumps(value)[:MAX_TEXT_CHARACTERS], "plot-high")
