"""The fields of a spec as a person would write them, and how two specs differ."""

from typing import Any

from msgspec import Struct, to_builtins

from dashboard.views.drawing.rows import Cell
from dashboard.views.words.field_names import FIELDS
from engine.core.records.records import fields
from engine.core.specs.failure_policies import Escalate, Retry
from engine.core.specs.spec import AgentSpec

MAX_CHARACTERS = 160
"""Characters of a value in a comparison of two specs."""
_DEFAULTS = {field.name: field.default for field in fields(AgentSpec)}


def spec_lines(spec: AgentSpec) -> list[tuple[str, str]]:
    """Return the fields of a spec that are not at their default."""
    rows = []
    for label, field in FIELDS:
        value = getattr(spec, field)
        if value and value != _DEFAULTS.get(field):
            rows.append((label, _format_field(field, value)))
    return [("name", spec.name), *rows]


def spec_changes(old: AgentSpec, new: AgentSpec) -> list[Cell]:
    """Return the differences of two specs as lines: `-` for old values, `+` for new ones."""
    cells: list[Cell] = []
    for label, field in FIELDS:
        before, after = getattr(old, field), getattr(new, field)
        if before == after:
            if field == "agent_type":
                cells.append(Cell(format_value(before), "muted", f"  {label:<12} "))
        elif isinstance(before, dict) and isinstance(after, dict):
            keys = [key for key in {**before, **after} if before.get(key) != after.get(key)]
            for key in keys:
                cells += _change(f"{label}.{key}", before.get(key), after.get(key))
        else:
            cells += _change(label, _format_field(field, before), _format_field(field, after))
    return cells or [Cell("the same as it has now", "muted")]


def _change(label: str, before: Any, after: Any) -> list[Cell]:
    cells = [Cell(_truncate(before), "warn", f"- {label:<12} ")] if before else []
    return cells + ([Cell(_truncate(after), "busy", f"+ {label:<12} ")] if after else [])


def _format_field(field: str, value: Any) -> str:
    """Format the value of a field; empty for an empty value."""
    if not value:
        return ""
    return f"{value:.15g} s" if field.endswith("_s") else format_value(value)


def _truncate(value: Any) -> str:
    text = format_value(value)
    return text if len(text) <= MAX_CHARACTERS else text[: MAX_CHARACTERS - 1] + "…"


def format_value(value: Any) -> str:
    """Return a field's value as a person would write it."""
    if isinstance(value, tuple | list):
        return ", ".join(format_value(item) for item in value)
    if isinstance(value, Retry):
        usual = {field.name: field.default for field in fields(Retry)}
        other = {name: item for name, item in to_builtins(value).items() if item and item != usual.get(name, item)}
        times = other.pop("retries", value.retries)
        return f"retry {times}" + (f" ({format_value(other)})" if other else "")
    if isinstance(value, Escalate):
        return "escalate" + (f" ({value.default} after {value.after_s:.15g} s)" if value.after_s is not None else "")
    if isinstance(value, Struct):
        values = to_builtins(value)
        kind = values.pop("type", "")
        assignments = [
            f"{name}={format_value(item)}" for name, item in values.items() if item not in (None, (), [], {}, "")
        ]
        return " ".join([str(kind), *assignments] if kind else assignments)
    if isinstance(value, dict):
        return ", ".join(f"{name}: {format_value(item)}" for name, item in value.items())
    return str(value)
