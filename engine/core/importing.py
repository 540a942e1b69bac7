"""Taking in a state document where ids and names are in use already: both are made anew.

Pure functions of the document. What the event does to the state is in `fold.importing`; that a document is sound is
checked before, in `soundness`, so nothing is checked here.
"""

from collections.abc import Callable, Collection
from functools import cache
from typing import Any

from pydantic import JsonValue, TypeAdapter

from engine.core.document import Fields, entities, text_refs
from engine.core.spec import NAME
from engine.core.state import State

_LONGEST_NAME = 64


def renamed(document: JsonValue, mint: Callable[[str], str], *, taken: Collection[str] = ()) -> JsonValue:
    """Return a copy of a state document in which every id is new.

    Args:
        document: What `state.json` of an archive holds.
        mint: From the letter of an id to an id that was never given.
        taken: Names of root supervisors that are in use; a root of the document with one of them gets a number.
    """
    assert isinstance(document, dict)
    new_id = cache(lambda old: mint(old[:1]))
    copy = {key: value for key, value in document.items() if key != "minted"}
    for kind, rename in _RENAME.items():
        if kind in document:
            copy[kind] = rename(document[kind], new_id)
    for supervisor in entities(copy, "supervisors"):
        if supervisor.get("parent_id") is None:
            supervisor["name"] = free_name(supervisor["name"], taken)
    return copy


def free_name(name: str, taken: Collection[str]) -> str:
    """Return `name`, with the first number behind it that makes it none of those in use."""
    number, free = 1, name
    while free in taken:
        number += 1
        suffix = f"-{number}"
        free = name[: _LONGEST_NAME - len(suffix)] + suffix
    assert NAME.fullmatch(free)
    return free


def is_empty(state: State) -> bool:
    """Return True while nothing stands in `state` that an imported id could be taken for."""
    return not (state.supervisors or state.agents or state.runs or state.finished)


def state_from(document: JsonValue, seq: int) -> State:
    """Return the state of a document, its texts being those that event `seq` carries.

    Raises:
        ValueError: If it is not a state document.
    """
    state = _adapter().validate_python(document)
    for ref in text_refs(state):
        object.__setattr__(ref, "seq", seq)  # it was made a moment ago, and nobody else has it
    return state


@cache
def _adapter() -> TypeAdapter[State]:
    return TypeAdapter(State)


_NewId = Callable[[str], str]


def _queue_key(key: str, new_id: _NewId) -> str:
    kind, owner, *capability = key.split(":", 2)
    return ":".join([kind, new_id(owner), *capability])


def _one(value: str | None, new_id: _NewId) -> str | None:
    return None if value is None else new_id(value)


def _many(values: list[str], new_id: _NewId) -> list[str]:
    return [new_id(value) for value in values]


def _many_or_none(values: list[str] | None, new_id: _NewId) -> list[str] | None:
    return None if values is None else _many(values, new_id)


def _keys(values: dict[str, Any], new_id: _NewId) -> dict[str, Any]:
    return {new_id(key): value for key, value in values.items()}


def _queues(values: list[str], new_id: _NewId) -> list[str]:
    return [_queue_key(value, new_id) for value in values]


def _queue_or_none(value: str | None, new_id: _NewId) -> str | None:
    return None if value is None else _queue_key(value, new_id)


def _timer_id(key: str, new_id: _NewId) -> str:
    kind, _, subject = key.partition(":")
    return f"{kind}:{new_id(subject)}"


def _calls(calls: dict[str, Fields], new_id: _NewId) -> dict[str, Fields]:
    return {key: call | {"children": _many(call["children"], new_id)} for key, call in calls.items()}


_FIELDS: dict[str, dict[str, Callable[[Any, _NewId], Any]]] = {
    "supervisors": {"id": _one, "parent_id": _one, "members": _many},
    "agents": {"id": _one, "supervisor_id": _one, "queues": _queues},
    "queues": {"key": _queue_key, "supervisor_id": _one, "agents": _many},
    "runs": {"id": _one, "supervisor_id": _one, "root_id": _one, "tasks": _keys, "after": _many, "before": _many},
    "tasks": {
        "escalation_id": _one,
        "id": _one,
        "run_id": _one,
        "parent_id": _one,
        "supervisor_id": _one,
        "queue": _queue_or_none,
        "worker_id": _one,
        "agent_id": _one,
        "after": _many,
        "sees": _many_or_none,
        "before": _many,
        "children": _many,
        "outcome_id": _one,
        "calls": _calls,
        "failed_on": _many,
        "came_from": _queue_or_none,
    },
    "timers": {"id": _timer_id, "subject": _one},
    "escalations": {"id": _one, "subject": _one, "run_id": _one},
    "ledgers": {"id": _one},
    "finished": {"id": _one, "supervisor_id": _one},
}
"""Where ids stand, by the kind of entity; a test holds this against the fields of the state."""


def _plain_key(key: str, new_id: _NewId) -> str:
    return new_id(key)


_KEYS_OF: dict[str, Callable[[str, _NewId], str]] = {"queues": _queue_key, "timers": _timer_id}
"""How the keys are made of entities whose id is not one letter and a number."""


def _entity(kind: str, entity: Fields, new_id: _NewId) -> Fields:
    fields = _FIELDS[kind]
    return {name: fields[name](value, new_id) if name in fields else value for name, value in entity.items()}


def _renaming(kind: str) -> Callable[[Any, _NewId], Any]:
    key_of = _KEYS_OF.get(kind, _plain_key)
    if kind == "finished":
        return lambda found, new_id: [_entity(kind, entity, new_id) for entity in found]
    return lambda found, new_id: {key_of(key, new_id): _entity(kind, entity, new_id) for key, entity in found.items()}


_RENAME = {kind: _renaming(kind) for kind in _FIELDS}
