"""What fields of specs, settings and states are called, for every screen and for `diff`; `--json` has the fields."""

from engine.core.records import names
from engine.core.spec import AgentSpec

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
    *((name.replace("_", " "), name) for name in names(AgentSpec) if name not in {"name", *(one for _, one in _FIRST)}),
)
"""Every field of a spec but its name, with what it is called; one that is not listed above comes at the end."""
_CALLED = {
    "aggregation": "joined by", "cost_usd": "cost", "exhausted": "budget spent", "file": "team file",
    "file_sha256": "hash of the team file", "max_parallel": "at once", "mcp": "tool servers", "parent": "under",
    "runs_total": "runs", "sha256": "hash", "size": "instances", "strategies": "by category", "tasks_total": "tasks",
    "time_ms": "time at work",
    **{f"spec.{name}": f"spec {label}" for label, name in FIELDS},
}  # fmt: skip
"""What fields are called whose names do not say it."""
_UNITS = ("_ms", "_s")


def called(field: str) -> str:
    """Return what a field of the state is called, such as `at once` or `step timeout`."""
    unit = next((unit for unit in _UNITS if field.endswith(unit)), "")
    return _CALLED.get(field) or field.removesuffix(unit).replace("_", " ")
