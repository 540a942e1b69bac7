"""The state document of an archive: its fields, the places of texts, and its hash.

The document is the state as `codec` writes it, at rest. Everything that belongs to one file or engine (`seq`, command
outcomes, the team file, trust) and every derived index is at its default, and thus left out. A `TextRef` in it is
`{"seq": 0, "path": "texts.N"}`: line N of the texts beside it.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec.structs import force_setattr

from engine.core.documents.table import EntityTable, default_of
from engine.core.encoding.codec import decode_state, decode_strictly, encode_state
from engine.core.encoding.strict_json import MAX_FOREIGN_VALUES, NotStrict, check_values
from engine.core.queries.team.code import references_in_options, references_of, unasked_in
from engine.core.records.records import JsonValue, copy_with
from engine.core.records.values import TextRef
from engine.core.specs.spec import BOUND
from engine.core.state import KeptValue, State, TaskChanges

LOCAL_FIELDS = (
    "seq",
    "engine",
    "team",
    "trusted",
    "code",
    "commands",
    "undoable",
    "irrevocable",
    "declared",
    "incoming",
    "parts",
    "grants",
    "windows",
)
"""Fields of the state that do not apply to another file. Trust is among them: an archive must not bring its own."""
DERIVED = {
    "supervisors": ("taken", "restarts_ms"),
    "agents": (
        "away", "away_reason", "running", "parked", "stuck", "stuck_since", "created_seq", "drained", "idle_since_ms",
        "idle_ms", "turn_seq", "pace", "probe",
    ),
    "queues": ("ready", "pace"),
    "runs": ("running", "suspended", "deadline_ms", "at_work", "since_ms", "turns"),
    "tasks": (
        "ready", "held_back", "ready_seq", "ready_ms", "taking", "yields_to", "attempt", "retry_at_ms", "deadline_ms",
        "begun_ms", "spans", "counted_ms",
    ),
    "escalations": ("due_ms", "left_ms"),
    "insights": ("expires_ms",),
}  # fmt: skip
"""Fields that an import derives, by kind of entity."""
INDEXES = ("pools", "leaving", "limited", "stoppages")
"""Fields of the state that an import derives."""
KINDS = (
    "specs",
    "registry",
    "supervisors",
    "agents",
    "queues",
    "runs",
    "tasks",
    "timers",
    "escalations",
    "ledgers",
    "insights",
    "recipes",
    "spending",
)
"""Fields of the state that map ids or names to entities."""


def reset_derived(state: State) -> None:
    """Reset everything that a document does not contain to its default."""
    for name in (*LOCAL_FIELDS, *INDEXES):
        setattr(state, name, default_of(State, name))
    for kind, derived in DERIVED.items():
        EntityTable.of(state, kind).reset(derived)


def text_places(state: State) -> Iterator[tuple[Any, str, TextRef]]:
    """Yield every reference to a text with its holder and field or key, in a fixed order."""
    for run in state.runs.values():
        yield from _places_in(run, "request")
    for task in state.tasks.values():
        if type(task.input) is TextRef:
            yield task, "input", task.input
        if type(task.output) is TextRef:
            yield task, "output", task.output
        for utterance in task.said:
            yield from _places_in(utterance, "content")
        if task.steps:
            yield from ((task.steps, key, value) for key, value in task.steps.items() if type(value) is TextRef)
    own = [task.changes for task in state.tasks.values() if task.changes is not None]
    for value in unique_values([agent.kept for agent in state.agents.values()], own):
        yield from _places_in(value, "value")
    for supervisor in state.supervisors.values():
        for conversation in supervisor.conversations.values():
            for exchange in conversation.exchanges.values():
                yield from _places_in(exchange, "request", "output")
                for utterance in exchange.said:
                    yield from _places_in(utterance, "content")
    for insight in state.insights.values():
        yield from _places_in(insight, "text")
    for summary in state.finished:
        yield from _places_in(summary, "request", "output")


def unique_values(views: Iterable[Mapping[str, KeptValue]], changes: Iterable[TaskChanges]) -> list[KeptValue]:
    """Return the kept values in views of agents and in the changes of tasks, which share them."""
    values: dict[int, KeptValue] = {}
    for view in views:
        values.update((id(value), value) for value in view.values())
    for own in changes:
        values.update((id(value), value) for value in own.kept_values)
    return [*values.values()]


def _places_in(entity: Any, *names: str) -> Iterator[tuple[Any, str, TextRef]]:
    for name in names:
        value = getattr(entity, name)
        if type(value) is TextRef:
            yield entity, name, value


def text_refs(state: State) -> list[TextRef]:
    """Return every reference to a text in `state`."""
    return [ref for _, _, ref in text_places(state)]


def redirect_ref(ref: Any, seq: int, number: int | None = None) -> None:
    """Redirect a reference in place to text `number` of event `seq`, 0 in a document; decoded for the caller."""
    force_setattr(ref, "seq", seq)
    if number is not None:
        force_setattr(ref, "path", f"texts.{number}")


def number_of(ref: TextRef) -> int:
    """Return the number of the text that a reference of a document names."""
    return int(ref.path.removeprefix("texts."))


def references_in(state: State) -> list[str]:
    """Return all code, addresses, programs and unasked calls that agents and settings refer to, sorted."""
    references = {name for spec in state.specs.values() for name in (*references_of(spec), *unasked_in(spec))}
    for supervisor in state.supervisors.values():
        references.update(references_in_options(supervisor.options))
    return sorted(references)


def bound_references_in(state: State) -> list[str]:
    """Return the references to bound callables, which work only in the process that bound them."""
    callables = (str(function) for spec in state.specs.values() for function in (spec.run, *spec.tools))
    return sorted({reference for reference in callables if reference.startswith(BOUND)})


@dataclass(frozen=True, slots=True)
class Document:
    """A state in the form of an archive."""

    state: State
    body: bytes
    sha256: str
    """SHA-256 of the canonical form, 64 hex digits; a round trip through an archive does not change it.

    The canonical form is the document, followed by the texts as lines of JSON in the order of their references. Times
    and pauses are left out, so that equal work at another time has the same hash, and so are the fields of
    `_LATER_DEFAULTS` at their defaults: older archives do not have them.
    """


_CANONICAL: dict[str, dict[str, Any]] = {
    "supervisors": {"paused": False},
    "agents": {"paused": False},
    "runs": {"paused": False},
    "timers": {"due_ms": 0},
    "escalations": {"asked_ms": 0},
}
"""Values of the canonical form, by kind of entity."""


_LATER_DEFAULTS = (
    b',"unpriced":false',
    b',"silent_s":null',
    b',"stuck_s":null',
    b',"instructions_template":null',
    b',"metric_labels":null',
    b',"discovery":null',
    b',"memory":null',
    b',"segment":"private"',
    b',"toolsets":{}',
)
"""Defaults that `Usage`, insights, specs and options write like all fields; inside a text, the quotation marks would be
escaped."""


def write_document(state: State, texts: list[JsonValue]) -> Document:
    """Encode a state prepared by `exporting.make_document`."""
    encode = msgspec.json.Encoder().encode
    large = {kind: msgspec.Raw(encode(entities)) for kind in ("specs", "tasks") if (entities := getattr(state, kind))}
    partly_encoded = copy_with(state, **large)  # the two largest fields are encoded once, for document and hash
    canonical = {
        kind: {key: copy_with(entity, **values) for key, entity in getattr(state, kind).items()}
        for kind, values in _CANONICAL.items()
    }
    canonical_body = encode_state(copy_with(partly_encoded, at_ms=0, minted={}, **canonical))
    for default in _LATER_DEFAULTS:
        canonical_body = canonical_body.replace(default, b"")
    digest = hashlib.sha256(canonical_body)
    digest.update(msgspec.json.Encoder().encode_lines(texts))
    return Document(state, encode_state(partly_encoded), digest.hexdigest())


MAX_FLAT_VALUES = 100_000
"""Limit on the values in a field of a document that is a plain map, such as the registry of names."""


class _FlatFields(msgspec.Struct):
    """The plain maps of a state, which the manifest does not count; unparsed, because they cost most memory."""

    minted: msgspec.Raw = msgspec.Raw()
    registry: msgspec.Raw = msgspec.Raw()
    trusted: msgspec.Raw = msgspec.Raw()
    code: msgspec.Raw = msgspec.Raw()
    pools: msgspec.Raw = msgspec.Raw()
    leaving: msgspec.Raw = msgspec.Raw()
    limited: msgspec.Raw = msgspec.Raw()
    parts: msgspec.Raw = msgspec.Raw()
    former_agents: msgspec.Raw = msgspec.Raw()


def _check_flat_fields(body: bytes) -> None:
    try:
        fields = msgspec.json.decode(body, type=_FlatFields)
    except (ValueError, RecursionError):  # the readers report the fault more precisely
        return
    for name in _FlatFields.__struct_fields__:
        if bytes(getattr(fields, name)).count(b",") >= MAX_FLAT_VALUES:
            raise NotStrict(f"its {name} holds more than {MAX_FLAT_VALUES:,} values")


def read_document(body: bytes, texts: list[JsonValue]) -> Document:
    """Decode an untrusted document.

    A document that is written again as the same bytes has no duplicate keys and no oversized numbers. Any other is read
    a second time by the strict, slower readers. `admission` checks the depth of nesting.

    Raises:
        NotStrict: If it is not strict JSON.
        ValidationError: If it is not a state.
    """
    _check_flat_fields(body)
    try:
        document: Document | None = write_document(decode_state(body), texts)
        if document is not None and document.body == body:
            return document
    except (ValueError, RecursionError):  # the strict readers report the fault more precisely
        pass
    document = None  # two of them would take twice the memory
    check_values((body,), MAX_FOREIGN_VALUES)
    return write_document(decode_strictly(body), texts)
