"""Labels of the fields of specs, settings and states, for every screen and for `diff`; `--json` uses the raw names."""

from engine.core.records.records import field_names
from engine.core.specs.spec import AgentSpec

_FIRST = (
    ("type", "agent_type"),
    ("run", "run"),
    ("run in", "run_in"),
    ("model", "model"),
    ("description", "description"),
    ("specialties", "specialties"),
    ("category", "category"),
    ("tools", "tools"),
    ("tool servers", "mcp"),
    ("approve", "approve"),
    ("may", "may"),
    ("instructions", "instructions"),
    ("output", "output"),
    ("at once", "max_concurrency"),
    ("timeout", "timeout_s"),
    ("step timeout", "step_timeout_s"),
    ("on failure", "on_failure"),
    ("pool", "pool"),
    ("limits", "limits"),
    ("task limits", "task_limits"),
    ("circuit", "circuit"),
    ("weight", "weight"),
    ("options", "options"),
)
FIELDS = (
    *_FIRST,
    *(
        (name.replace("_", " "), name)
        for name in field_names(AgentSpec)
        if name not in {"name", *(field for _, field in _FIRST)}
    ),
)
"""Label and name of every field of a spec except `name`; fields that `_FIRST` does not list come last."""
_LABELS = {
    "aggregation": "joined by",
    "cost_usd": "cost",
    "exhausted": "budget spent",
    "file": "team file",
    "file_sha256": "hash of the team file",
    "max_parallel": "at once",
    "mcp": "tool servers",
    "parent": "under",
    "runs_total": "runs",
    "sha256": "hash",
    "size": "instances",
    "strategies": "by category",
    "tasks_total": "tasks",
    "time_ms": "time at work",
    **{f"spec.{name}": f"spec {label}" for label, name in FIELDS},
}
"""Labels of fields whose names are not clear by themselves."""
_UNITS = ("_ms", "_s")


def field_label(field: str) -> str:
    """Return the label of a field of the state, such as `at once` or `step timeout`."""
    unit = next((unit for unit in _UNITS if field.endswith(unit)), "")
    return _LABELS.get(field) or field.removesuffix(unit).replace("_", " ")
