"""The state document of an archive: which parts of the state it holds, and where texts and ids stand in it.

The document is the state as `codec` writes it, fields at their defaults left out, and at rest: nothing runs in it. Left
out besides is what belongs to one file and one engine (`seq`, the engine, command outcomes, the team file, trust) and
every index that follows from the rest. A `TextRef` in it is
`{"seq": 0, "path": "texts.N"}`: line N of the texts beside it.
"""

from collections.abc import Iterator
from typing import Any, TypeAlias

from engine.core.fact import JsonValue
from engine.core.spec import BOUND
from engine.core.state import State
from engine.core.values import TextRef

Document: TypeAlias = dict[str, JsonValue]
Fields: TypeAlias = dict[str, Any]
"""One entity of a document, as JSON has it."""

OF_ONE_FILE = ("seq", "engine", "team", "trusted", "code", "commands", "declared", "incoming")
"""Fields of the state that mean nothing in another file; trust is the operator's, never an archive's."""
DERIVED = {
    "supervisors": (
        "taken",
        "restarts_ms",
    ),
    "agents": (
        "away",
        "running",
        "parked",
        "stuck",
        "created_seq",
        "drained",
        "idle_since_ms",
        "idle_ms",
        "turn_seq",
        "pace",
        "probe",
    ),
    "queues": ("ready", "pace"),
    "runs": ("running", "suspended", "deadline_ms", "at_work", "since_ms", "turns"),
    "tasks": (
        "ready",
        "held_back",
        "ready_seq",
        "ready_ms",
        "taking",
        "yields_to",
        "attempt",
        "retry_at_ms",
        "deadline_ms",
        "begun_ms",
    ),
}
"""What is built anew on import, by the kind of entity."""
INDEXES = (
    "pools",
    "leaving",
    "limited",
    "schedule",
)
"""Fields of the state that follow from its entities, and are built anew on import."""
CLOCK_AND_PAUSE = {
    "supervisors": ("paused",),
    "agents": ("paused",),
    "runs": ("paused",),
    "timers": ("due_ms",),
    "escalations": ("asked_ms", "due_ms"),
}
"""What the canonical form leaves out besides: the same work, at another time or in a pause, is the same state."""
TEXTS = ("runs", "tasks", "finished")
"""Kinds that hold texts or references to them, all in the fields `request`, `input`, `output` and `steps`."""
_FIELDS = ("request", "input", "output")


def entities(document: Document, kind: str) -> list[Fields]:
    """Return the entities of one kind, such as `tasks`, in the order in which they came to be."""
    found: Any = document.get(kind) or {}
    return list(found.values()) if isinstance(found, dict) else list(found)


def text_places(document: Document) -> Iterator[tuple[Fields, str]]:
    """Yield every place that holds a reference to a text: the object and its key, in a fixed order."""
    for kind in TEXTS:
        for entity in entities(document, kind):
            for name in _FIELDS:
                if type(entity.get(name)) is dict:
                    yield entity, name
            if "steps" in entity:
                steps = entity["steps"]
                yield from ((steps, key) for key, value in steps.items() if type(value) is dict)


def text_refs(state: State) -> Iterator[TextRef]:
    """Yield every reference to a text in `state`."""
    for run in state.runs.values():
        if type(run.request) is TextRef:
            yield run.request
    for task in state.tasks.values():
        if type(task.input) is TextRef:
            yield task.input
        if type(task.output) is TextRef:
            yield task.output
        if task.steps:
            yield from (value for value in task.steps.values() if type(value) is TextRef)
    for summary in state.finished:
        yield from (value for value in (summary.request, summary.output) if type(value) is TextRef)


def references_in(document: Document) -> list[str]:
    """Return every symbolic reference that agents of a document would import, sorted."""
    return sorted(name for name in _code_of(document) if ":" in name and not name.startswith(BOUND))


def bound_in(document: Document) -> list[str]:
    """Return what its agents call that has no importable name, and so works in the process that made it alone."""
    return sorted(name for name in _code_of(document) if name.startswith(BOUND))


def _code_of(document: Document) -> set[str]:
    found: set[str] = set()
    for spec in entities(document, "specs"):
        found.update(spec.get("tools") or ())
        if spec.get("run"):
            found.add(spec["run"])
    return found
