"""The state document of an archive: which parts of the state it holds, where texts stand in it, and its hash.

The document is the state as `codec` writes it, and at rest: nothing runs in it. At their defaults, and so left out, are
what belongs to one file and one engine (`seq`, the engine, command outcomes, the team file, trust) and every index that
follows from the rest. A `TextRef` in it is `{"seq": 0, "path": "texts.N"}`: line N of the texts beside it.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec.structs import force_setattr

from engine.core.code import references_of, references_set
from engine.core.codec import decode_state, decode_strictly, encode_state
from engine.core.records import JsonValue, changed
from engine.core.spec import BOUND
from engine.core.state import State
from engine.core.transfer.table import Table, default_of
from engine.core.values import TextRef

OF_ONE_FILE = (
    "seq",
    "engine",
    "team",
    "trusted",
    "code",
    "commands",
    "undoable",
    "declared",
    "incoming",
    "parts",
    "grants",
)
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
KINDS = (
    "specs", "registry", "supervisors", "agents", "queues", "runs", "tasks", "timers", "escalations", "ledgers",
    "insights",
)  # fmt: skip
"""Fields of the state that map ids and names to what there is."""


def not_derived(state: State) -> None:
    """Put everything at its default that a document does not hold."""
    for name in (*OF_ONE_FILE, *INDEXES):
        setattr(state, name, default_of(State, name))
    for kind, derived in DERIVED.items():
        for name, entities in Table.of(state, kind).others_than_default(derived):
            for entity in entities:
                setattr(entity, name, default_of(type(entity), name))


def text_places(state: State) -> Iterator[tuple[Any, str, TextRef]]:
    """Yield every reference to a text, in a fixed order: what holds it, under which name or key, and the reference."""
    for run in state.runs.values():
        yield from _places_in(run, "request")
    for task in state.tasks.values():
        if type(task.input) is TextRef:
            yield task, "input", task.input
        if type(task.output) is TextRef:
            yield task, "output", task.output
        for one in task.said:
            yield from _places_in(one, "content")
        if task.steps:
            yield from ((task.steps, key, value) for key, value in task.steps.items() if type(value) is TextRef)
    for supervisor in state.supervisors.values():
        for conversation in supervisor.conversations.values():
            for exchange in conversation.exchanges.values():
                yield from _places_in(exchange, "request", "output")
                for one in exchange.said:
                    yield from _places_in(one, "content")
    for insight in state.insights.values():
        yield from _places_in(insight, "text")
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
    """Return everything outside that agents and settings refer to, sorted: code, addresses, programs."""
    found = {name for spec in state.specs.values() for name in references_of(spec)}
    return sorted(found.union(one for each in state.supervisors.values() for one in references_set(each.options)))


def bound_in(state: State) -> list[str]:
    """Return what agents call that has no importable name, and so works in the process that made it alone."""
    return sorted(name for name in _code_of(state) if name.startswith(BOUND))


def _code_of(state: State) -> set[str]:
    found = {str(name) for spec in state.specs.values() for name in spec.tools}
    return found.union(str(spec.run) for spec in state.specs.values() if spec.run)


@dataclass(frozen=True, slots=True)
class Document:
    """A state as an archive carries it."""

    state: State
    body: bytes
    sha256: str
    """Of the state in canonical form, with its texts; 64 hex digits, the same after a round trip through an archive.

    The canonical form is the document without the clock and every pause: the same work at another time, or in a pause,
    is the same state. Then come the texts, each as a line of JSON, in the order in which the document refers to them.
    """


_CANONICAL: dict[str, dict[str, Any]] = {
    "supervisors": {"paused": False},
    "agents": {"paused": False},
    "runs": {"paused": False},
    "timers": {"due_ms": 0},
    "escalations": {"asked_ms": 0, "due_ms": None},
}
"""What entities of a kind have in canonical form."""


def write_document(state: State, texts: list[JsonValue]) -> Document:
    """Return the document of a state that `exporting.make_document` has made one of."""
    encode = msgspec.json.Encoder().encode
    large = {kind: msgspec.Raw(encode(there)) for kind in ("specs", "tasks") if (there := getattr(state, kind))}
    state_of_bytes = changed(state, **large)  # each of these is encoded once for both
    canonical = {
        kind: {key: changed(entity, **values) for key, entity in getattr(state, kind).items()}
        for kind, values in _CANONICAL.items()
    }
    digest = hashlib.sha256(encode_state(changed(state_of_bytes, at_ms=0, minted={}, **canonical)))
    digest.update(msgspec.json.Encoder().encode_lines(texts))
    return Document(state, encode_state(state_of_bytes), digest.hexdigest())


def read_document(body: bytes, texts: list[JsonValue]) -> Document:
    """Return the document in untrusted JSON.

    What is written again as the same bytes holds no key twice and no number beyond measure; how deep its values nest is
    for `admission` to look at. All else is read a second time, by readers that look at every key and number.

    Raises:
        NotStrict: If it is not JSON that every parser reads alike.
        ValidationError: If it is no state.
    """
    try:
        document = write_document(decode_state(body), texts)
        if document.body == body:
            return document
    except (ValueError, RecursionError):  # the readers after this one report the fault more precisely
        pass
    return write_document(decode_strictly(body), texts)
