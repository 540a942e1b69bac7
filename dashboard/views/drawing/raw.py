"""An object of the state as JSON, and JSON as highlighted lines. Pure."""

import json
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import msgspec

from dashboard.clean import clean_lines
from dashboard.views.drawing.lines import Line, Span
from dashboard.views.drawing.prose import wrap_spans
from engine.core.state import State

MAX_CHARACTERS, MAX_LINES = 50_000, 4_000
"""Limits of the part that is shown; `Y` copies all."""
_FIELD = re.compile(r'^(\s*)("(?:[^"\\]|\\.)*":)?(.*)$', re.DOTALL)


def object_of(state: State, key: str) -> Any:
    """Return the object of an id, or None."""
    homes: Iterable[Mapping[str, Any]] = (
        state.agents,
        state.supervisors,
        state.tasks,
        state.runs,
        state.escalations,
        state.grants,
        state.insights,
        state.timers,
    )
    for home in homes:
        if key in home:
            return home[key]
    return state.summary(key)


def as_json(entity: Any) -> str:
    """Return an object of the state as indented JSON."""
    return json.dumps(msgspec.to_builtins(entity, str_keys=True, enc_hook=str), indent=2, ensure_ascii=False)


@lru_cache(4)
def raw_lines(text: str, width: int) -> list[Line]:
    """Return JSON as highlighted lines, wrapped to a width."""
    lines: list[Line] = []
    for raw in clean_lines(text[:MAX_CHARACTERS]):
        field = _FIELD.match(raw)
        assert field is not None
        indent, name, value = field.group(1), field.group(2) or "", field.group(3)
        spans = [Span(name, "tool"), Span(value, _tone(value))] if name else [Span(value, _tone(value))]
        max_width = max(8, width - len(indent))
        for at, folded in enumerate(wrap_spans(spans, max_width)):
            lines.append(Line((Span(indent + ("  " if at else "")), *folded)))
        if len(lines) >= MAX_LINES:
            break
    is_all = len(lines) < MAX_LINES and len(text) <= MAX_CHARACTERS
    return lines if is_all else [*lines[:MAX_LINES], Line((Span("… more; Y copies all of it", "muted"),))]


def _tone(value: str) -> str:
    value = value.strip().rstrip(",")
    if value in ("null", "true", "false", "{", "}", "[", "]", "{}", "[]"):
        return "muted"
    return "" if value.startswith('"') else "plot-high"
