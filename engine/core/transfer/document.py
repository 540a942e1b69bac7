"""The state document of an archive: which parts of the state it holds, where texts stand in it, and its hash.

The document is the state as `codec` writes it, and at rest: nothing runs in it. At their defaults, and so left out, are
what belongs to one file and one engine (`seq`, the engine, command outcomes, the team file, trust) and every index that
follows from the rest. A `TextRef` in it is `{"seq": 0, "path": "texts.N"}`: line N of the texts beside it.
"""

import hashlib
from collections.abc import Iterator
from functools import cache
from operator import attrgetter
from typing import Any

import msgspec
from msgspec.structs import force_setattr

from engine.core.code import references_of
from engine.core.codec import encode_state
from engine.core.fact import JsonValue, changed, fields
from engine.core.spec import BOUND
from engine.core.state import State
from engine.core.values import TextRef

OF_ONE_FILE = ("seq", "engine", "team", "trusted", "code", "commands", "declared", "incoming")
"""Fields of the state that mean nothing in another file; trust is the operator's, never an archive's."""
DERIVED = {
    "supervisors": ("taken", "restarts_ms"),
    "agents": (
        "away", "running", "parked", "stuck", "created_seq", "drained", "idle_since_ms", "idle_ms", "turn_seq", "pace",
        "probe",
    ),
    "queues": ("ready", "pace"),
    "runs": ("running", "suspended", "deadline_ms", "at_work", "since_ms", "turns"),
    "tasks": (
        "ready", "held_back", "ready_seq", "ready_ms", "taking", "yields_to", "attempt", "retry_at_ms", "deadline_ms",
        "begun_ms",
    ),
}  # fmt: skip
"""What is built anew on import, by the kind of entity."""
INDEXES = ("pools", "leaving", "limited")
"""Fields of the state that follow from its entities, and are built anew on import."""
KINDS = ("specs", "registry", "supervisors", "agents", "queues", "runs", "tasks", "timers", "escalations", "ledgers")
"""Fields of the state that map ids and names to what there is."""


def not_derived(state: State) -> None:
    """Put everything at its default that a document does not hold."""
    for name in (*OF_ONE_FILE, *INDEXES):
        setattr(state, name, default_of(State, name))
    for kind, names in DERIVED.items():
        for entity in others_than_default(state, kind):
            for name in names:
                setattr(entity, name, default_of(type(entity), name))


def others_than_default(state: State, kind: str) -> list[Any]:
    """Return the entities of a kind of which something is derived and not at its default."""
    entities = list(getattr(state, kind).values())
    if not entities:
        return []
    names = DERIVED[kind]
    usual = tuple(default_of(type(entities[0]), name) for name in names)
    return [one for one, found in zip(entities, map(attrgetter(*names), entities), strict=True) if found != usual]


def default_of(record: type, name: str) -> Any:
    """Return what a field of a record holds where nothing is said."""
    default, make = _defaults(record)[name]
    return default if make is msgspec.NODEFAULT else make()


@cache
def _defaults(record: type) -> dict[str, tuple[Any, Any]]:
    return {field.name: (field.default, field.default_factory) for field in fields(record)}


def text_places(state: State) -> Iterator[tuple[Any, str, TextRef]]:
    """Yield every reference to a text, in a fixed order: what holds it, under which name or key, and the reference."""
    for run in state.runs.values():
        yield from _places_in(run, "request")
    for task in state.tasks.values():
        yield from _places_in(task, "input", "output")
        if task.steps:
            yield from ((task.steps, key, value) for key, value in task.steps.items() if type(value) is TextRef)
    for supervisor in state.supervisors.values():
        for conversation in supervisor.conversations.values():
            for exchange in conversation.exchanges.values():
                yield from _places_in(exchange, "request", "output")
    for summary in state.finished:
        yield from _places_in(summary, "request", "output")


def _places_in(entity: Any, *names: str) -> Iterator[tuple[Any, str, TextRef]]:
    for name in names:
        value = getattr(entity, name)
        if type(value) is TextRef:
            yield entity, name, value


def text_refs(state: State) -> list[TextRef]:
    """Return every reference to a text in `state`."""
    return [ref for _, _, ref in text_places(state)]


def point_to(ref: Any, seq: int, number: int) -> None:
    """Let a reference that was decoded a moment ago, and that nobody else has, be to another text.

    Args:
        ref: The reference.
        seq: The event that carries the text; 0 in a document.
        number: Its place among the texts there.
    """
    force_setattr(ref, "seq", seq)
    force_setattr(ref, "path", f"texts.{number}")


def number_of(ref: TextRef) -> int:
    """Return which text of a document a reference is to."""
    return int(ref.path.removeprefix("texts."))


def references_in(state: State) -> list[str]:
    """Return every symbolic reference that agents would import or execute, sorted."""
    return sorted({name for spec in state.specs.values() for name in references_of(spec)})


def bound_in(state: State) -> list[str]:
    """Return what agents call that has no importable name, and so works in the process that made it alone."""
    return sorted(name for name in _code_of(state) if name.startswith(BOUND))


def _code_of(state: State) -> set[str]:
    found = {str(name) for spec in state.specs.values() for name in spec.tools}
    return found.union(str(spec.run) for spec in state.specs.values() if spec.run)


def state_sha256(state: State, texts: list[JsonValue]) -> str:
    """Return the hash of a state in canonical form, 64 hex digits; the same after a round trip through an archive.

    The canonical form is the document without the clock and every pause: the same work at another time, or in a pause,
    is the same state. Then come the texts, each as a line of JSON, in the order in which the document refers to them.
    """
    usual: dict[str, dict[str, Any]] = {
        "supervisors": {"paused": False},
        "agents": {"paused": False},
        "runs": {"paused": False},
        "timers": {"due_ms": 0},
        "escalations": {"asked_ms": 0, "due_ms": None},
    }
    kinds = {
        kind: {key: changed(entity, **values) for key, entity in getattr(state, kind).items()}
        for kind, values in usual.items()
    }
    digest = hashlib.sha256(encode_state(changed(state, at_ms=0, minted={}, **kinds)))
    digest.update(msgspec.json.Encoder().encode_lines(texts))
    return digest.hexdigest()
