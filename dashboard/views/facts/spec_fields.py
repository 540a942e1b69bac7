"""The fields of a spec as a person would write them, and how two specs differ."""

from typing import Any

from msgspec import Struct, to_builtins

from dashboard.views.drawing.rows import Cell
from dashboard.views.words.field_names import FIELDS
from engine.core.records.records import fields
from engine.core.specs.failure_policies import Escalate, Retry
from engine.core.specs.spec import AgentSpec

LONGEST = 160
"""Characters of a value that are shown where two specs stand side by side."""
_UNSAID = {one.name: one.default for one in fields(AgentSpec)}


def spec_lines(spec: AgentSpec) -> list[tuple[str, str]]:
    """Return what a spec says, field by field; what it leaves at its default is left out."""
    told = []
    for label, field in FIELDS:
        value = getattr(spec, field)
        if value and value != _UNSAID.get(field):
            told.append((label, _of_field(field, value)))
    return [("name", spec.name), *told]


def changes(old: AgentSpec, new: AgentSpec) -> list[Cell]:
    """Return both specs as lines: what stays, `-` what goes, `+` what comes."""
    cells: list[Cell] = []
    for label, field in FIELDS:
        before, after = getattr(old, field), getattr(new, field)
        if before == after:
            if field == "agent_type":
                cells.append(Cell(written(before), "muted", f"  {label:<12} "))
        elif isinstance(before, dict) and isinstance(after, dict):
            keys = [key for key in {**before, **after} if before.get(key) != after.get(key)]
            for key in keys:
                cells += _change(f"{label}.{key}", before.get(key), after.get(key))
        else:
            cells += _change(label, _of_field(field, before), _of_field(field, after))
    return cells or [Cell("the same as it has now", "muted")]


def _change(label: str, before: Any, after: Any) -> list[Cell]:
    cells = [Cell(_short(before), "warn", f"- {label:<12} ")] if before else []
    return cells + ([Cell(_short(after), "busy", f"+ {label:<12} ")] if after else [])


def _of_field(field: str, value: Any) -> str:
    """Return what a field of a spec says; empty where that is nothing."""
    if not value:
        return ""
    return f"{value:.15g} s" if field.endswith("_s") else written(value)


def _short(value: Any) -> str:
    text = written(value)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def written(value: Any) -> str:
    """Return a field's value as a person would write it."""
    if isinstance(value, tuple | list):
        return ", ".join(written(item) for item in value)
    if isinstance(value, Retry):
        usual = {one.name: one.default for one in fields(Retry)}
        other = {name: item for name, item in to_builtins(value).items() if item and item != usual.get(name, item)}
        times = other.pop("retries", value.retries)
        return f"retry {times}" + (f" ({written(other)})" if other else "")
    if isinstance(value, Escalate):
        return "escalate" + (f" ({value.default} after {value.after_s:.15g} s)" if value.after_s is not None else "")
    if isinstance(value, Struct):
        given = to_builtins(value)
        kind = given.pop("type", "")
        said = [f"{name}={written(item)}" for name, item in given.items() if item not in (None, (), [], {}, "")]
        return " ".join([str(kind), *said] if kind else said)
    if isinstance(value, dict):
        return ", ".join(f"{name}: {written(item)}" for name, item in value.items())
    return str(value)
