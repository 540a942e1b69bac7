"""Where ids stand in a state document, by the kind of entity: one table, for making ids anew and for checking them."""

import re
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from engine.core.fact import fact
from engine.core.transfer.document import Document, Fields, entities

NewId: TypeAlias = Callable[[str], str]
ID = re.compile(r"[a-z][1-9][0-9]{0,14}")
LETTERS = {"s": "supervisors", "a": "agents", "r": "runs", "t": "tasks", "e": "escalations"}
"""The first letter of the ids of each kind of entity."""


def _one(value: str | None, new_id: NewId) -> str | None:
    return None if value is None else new_id(value)


def _many(values: list[str] | None, new_id: NewId) -> list[str] | None:
    return None if values is None else [new_id(value) for value in values]


def _keys(values: dict[str, Any], new_id: NewId) -> dict[str, Any]:
    return {new_id(key): value for key, value in values.items()}


def _values(values: dict[str, str], new_id: NewId) -> dict[str, str]:
    return {key: new_id(value) for key, value in values.items()}


def _queue(key: str | None, new_id: NewId) -> str | None:
    if key is None:
        return None
    kind, owner, *capability = key.split(":", 2)
    owner, plus, depth = owner.partition("+")
    if plus and (kind != "able" or not depth.isdecimal()):
        raise ValueError(f"{key[:80]!a}, which is no queue")
    return ":".join([kind, f"{new_id(owner)}{plus}{depth}", *capability])


def _queues(values: list[str], new_id: NewId) -> list[str | None]:
    return [_queue(value, new_id) for value in values]


def _timer(key: str, new_id: NewId) -> str:
    kind, _, subject = key.partition(":")
    return f"{kind}:{new_id(subject)}"


def _calls(calls: dict[str, Fields], new_id: NewId) -> dict[str, Fields]:
    return {key: call | {"children": [new_id(child) for child in call["children"]]} for key, call in calls.items()}


@fact
class Ids:
    """How ids stand in a field."""

    each: Callable[[Any, NewId], Any]
    """Returns the field's value with every id in it put through a function."""
    of: str
    """Letters of what they may name."""
    gone: bool = False
    """What they name may be there no more, or never have been."""


_OWNERS = Ids(each=_queue, of="sa")
FIELDS: dict[str, dict[str, Ids]] = {
    "supervisors": {
        "id": Ids(each=_one, of="s"),
        "parent_id": Ids(each=_one, of="s"),
        "members": Ids(each=_many, of="sa"),
    },
    "agents": {
        "id": Ids(each=_one, of="a"),
        "supervisor_id": Ids(each=_one, of="s"),
        "queues": Ids(each=_queues, of="sa"),
    },
    "queues": {
        "key": _OWNERS,
        "supervisor_id": Ids(each=_one, of="s"),
        "agents": Ids(each=_many, of="a"),
    },
    "runs": {
        "id": Ids(each=_one, of="r"),
        "supervisor_id": Ids(each=_one, of="s"),
        "root_id": Ids(each=_one, of="t"),
        "tasks": Ids(each=_keys, of="t"),
        "after": Ids(each=_many, of="r"),
        "before": Ids(each=_many, of="r"),
    },
    "tasks": {
        "escalation_id": Ids(each=_one, of="e"),
        "id": Ids(each=_one, of="t"),
        "run_id": Ids(each=_one, of="r"),
        "parent_id": Ids(each=_one, of="t"),
        "asked_by": Ids(each=_one, of="t"),
        "supervisor_id": Ids(each=_one, of="s", gone=True),
        "queue": Ids(each=_queue, of="sa", gone=True),
        "worker_id": Ids(each=_one, of="sa", gone=True),
        "agent_id": Ids(each=_one, of="a", gone=True),
        "after": Ids(each=_many, of="t"),
        "sees": Ids(each=_many, of="t"),
        "before": Ids(each=_many, of="t"),
        "children": Ids(each=_many, of="t"),
        "outcome_id": Ids(each=_one, of="t"),
        "calls": Ids(each=_calls, of="t"),
        "called": Ids(each=_values, of="sa", gone=True),
        "failed_on": Ids(each=_many, of="a", gone=True),
        "came_from": Ids(each=_queue, of="sa", gone=True),
    },
    "timers": {
        "id": Ids(each=_timer, of="sarte"),
        "subject": Ids(each=_one, of="sarte"),
    },
    "escalations": {
        "id": Ids(each=_one, of="e"),
        "subject": Ids(each=_one, of="sart"),
        "run_id": Ids(each=_one, of="r"),
    },
    "ledgers": {"id": Ids(each=_one, of="sart")},
    "finished": {
        "id": Ids(each=_one, of="r", gone=True),
        "supervisor_id": Ids(each=_one, of="s", gone=True),
    },
}
"""Where ids stand, by the kind of entity; a test holds this against the fields of the state."""
_KEYS: dict[str, Callable[[Any, NewId], Any]] = {"queues": _queue, "timers": _timer}
"""How the keys are made of entities whose id is not one letter and a number."""


def with_ids(document: Document, new_id: NewId) -> Document:
    """Return a copy of a document, or of a part of one, with every id put through `new_id`."""
    copy = dict(document)
    for kind, found in document.items():
        if kind not in FIELDS:
            continue
        if isinstance(found, dict):
            key_of = _KEYS.get(kind, _one)
            copy[kind] = {key_of(key, new_id): _entity(kind, entity, new_id) for key, entity in found.items()}
        elif isinstance(found, list):
            copy[kind] = [_entity(kind, entity, new_id) for entity in found]
    return copy


def _entity(kind: str, entity: Any, new_id: NewId) -> Fields:
    fields = FIELDS[kind]
    return {name: fields[name].each(value, new_id) if name in fields else value for name, value in entity.items()}


class _Wrong(Exception):
    """An id that names nothing."""


def wrong_ids(document: Document) -> Iterator[str]:
    """Yield what is wrong with the ids of a document: entities under other ids than theirs, ids that name nothing."""
    known = {letter: set(_entities(document, kind)) for letter, kind in LETTERS.items()}
    for kind in FIELDS:
        for key, entity in _entities(document, kind).items():
            if key != entity.get("id", entity.get("key")):
                yield f"{key[:80]!a} is the id of another entity"
    for kind, fields in FIELDS.items():
        for name, ids in fields.items():
            check = _checking({letter: None if ids.gone else known[letter] for letter in ids.of})
            for entity in entities(document, kind):
                try:
                    if name in entity:
                        ids.each(entity[name], check)
                except (_Wrong, ValueError) as wrong:
                    yield f"{name} of {str(entity.get('id', entity.get('key')))[:80]!a} names {wrong}"


def _entities(document: Document, kind: str) -> dict[str, Any]:
    found = document.get(kind)
    return found if isinstance(found, dict) else {}


def _checking(known: dict[str, set[str] | None]) -> NewId:
    """Return what takes every id that may stand in a field; one that may be gone has to look like an id."""

    def check(value: str) -> str:
        there = known.get(value[:1], ())
        if not ID.fullmatch(value) or (there is not None and value not in there):
            raise _Wrong(f"{value[:80]!a}, which is not there")
        return value

    return check
