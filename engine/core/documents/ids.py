"""The table of id fields by kind of entity, for renumbering and checking ids."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, TypeAlias

from msgspec.structs import force_setattr

from engine.core.documents.table import Table
from engine.core.records.records import fact
from engine.core.state import Call, Conversation, State

NewId: TypeAlias = Callable[[str], str]
_NUMBER = "[1-9][0-9]{0,14}"
ID = re.compile(f"[a-z]{_NUMBER}")
LETTERS = {"s": "supervisors", "a": "agents", "r": "runs", "t": "tasks", "e": "escalations", "m": "insights"}
"""Kinds of entities by the first letter of their ids."""
MINTED = frozenset({*LETTERS, "n", "g"})
"""Letters of all ids; those of messages (`n`) are in tasks, and those of grants (`g`) are never exported."""


def _one(value: str, new_id: NewId) -> str:
    return new_id(value)


def _many(values: Any, new_id: NewId) -> Any:
    return type(values)(map(new_id, values))


def _keys(values: dict[str, Any], new_id: NewId) -> dict[str, Any]:
    return {new_id(key): value for key, value in values.items()}


def _values(values: dict[str, str], new_id: NewId) -> dict[str, str]:
    return {key: new_id(value) for key, value in values.items()}


def _said(values: Iterable[str | None]) -> set[str]:
    return set(values) - {None}  # type: ignore[return-value]  # mypy does not see that None is gone


def _within(values: Iterable[Iterable[str] | None]) -> Iterator[str]:
    return chain.from_iterable(filter(None, values))


def _all_values(values: Iterable[dict[str, str]]) -> Iterator[str]:
    return chain.from_iterable(value.values() for value in filter(None, values))


def _queue(key: str, new_id: NewId) -> str:
    before, owner, after = _owner(key)
    return f"{before}:{new_id(owner)}{after}"


def _owner(key: str) -> tuple[str, str, str]:
    """Split the key of a queue into the part before its id, the id, and the part after it."""
    kind, owner, *capability = key.split(":", 2)
    owner, plus, depth = owner.partition("+")
    if plus and (kind != "able" or not depth.isdecimal()):
        raise ValueError(f"{key[:80]!a}, which is not a queue")
    return kind, owner, f"{plus}{depth}" + "".join(f":{one}" for one in capability)


def _queues(values: list[str], new_id: NewId) -> list[str]:
    return [_queue(value, new_id) for value in values]


def _owners(keys: Iterable[str | None]) -> Iterator[str]:
    return (_owner(key)[1] for key in _said(keys))


def _timer(key: str, new_id: NewId) -> str:
    kind, _, subject = key.partition(":")
    return f"{kind}:{new_id(subject)}"


def _calls(calls: dict[str, Call], new_id: NewId) -> dict[str, Call]:
    for call in calls.values():
        call.children[:] = map(new_id, call.children)
    return calls


def _conversations(conversations: dict[str, Conversation], new_id: NewId) -> dict[str, Conversation]:
    for exchange in _exchanges([conversations]):
        force_setattr(exchange, "run_id", new_id(exchange.run_id))
    for conversation in conversations.values():
        conversation.worked[:] = map(new_id, conversation.worked)
    return conversations


def _of_conversations(values: Iterable[dict[str, Conversation]]) -> Iterator[str]:
    held = list(values)
    yield from (one.run_id for one in _exchanges(held))
    yield from (id for each in held for conversation in each.values() for id in conversation.worked)


def _exchanges(values: Iterable[dict[str, Conversation]]) -> Iterator[Any]:
    return (one for each in values for conversation in each.values() for one in conversation.exchanges.values())


@fact
class Ids:
    """How a field contains ids."""

    of: str
    """Letters of the kinds that they may name."""
    each: Callable[[Any, NewId], Any] = _one
    """Returns the value of the field with a function applied to every id."""
    found: Callable[[Iterable[Any]], Iterable[str]] = _said
    """Returns the ids in many values of the field."""
    gone: bool = False
    """The named object may not exist."""


def _list_of(letters: str, *, gone: bool = False) -> Ids:
    return Ids(of=letters, each=_many, found=_within, gone=gone)


_QUEUE = Ids(of="sa", each=_queue, found=_owners)
_QUEUE_ONCE = Ids(of="sa", each=_queue, found=_owners, gone=True)
FIELDS: dict[str, dict[str, Ids]] = {
    "supervisors": {
        "id": Ids(of="s"),
        "parent_id": Ids(of="s"),
        "members": _list_of("sa"),
        "conversations": Ids(of="rsa", each=_conversations, found=_of_conversations, gone=True),
    },
    "agents": {
        "id": Ids(of="a"),
        "supervisor_id": Ids(of="s"),
        "insights": _list_of("m"),
        "queues": Ids(of="sa", each=_queues, found=lambda values: _owners(_within(values))),
    },
    "queues": {"key": _QUEUE, "supervisor_id": Ids(of="s"), "agents": _list_of("a")},
    "runs": {
        "id": Ids(of="r"),
        "supervisor_id": Ids(of="s"),
        "root_id": Ids(of="t"),
        "tasks": Ids(of="t", each=_keys, found=_within),
        "after": _list_of("r"),
        "before": _list_of("r"),
    },
    "tasks": {
        "escalation_id": Ids(of="e"),
        "id": Ids(of="t"),
        "run_id": Ids(of="r"),
        "parent_id": Ids(of="t"),
        "asked_by": Ids(of="t"),
        "supervisor_id": Ids(of="s", gone=True),
        "queue": _QUEUE_ONCE,
        "worker_id": Ids(of="sa", gone=True),
        "agent_id": Ids(of="a", gone=True),
        "after": _list_of("t"),
        "sees": _list_of("t"),
        "before": _list_of("t"),
        "children": _list_of("t"),
        "outcome_id": Ids(of="t"),
        "calls": Ids(
            of="t",
            each=_calls,
            found=lambda values: (
                one for calls in filter(None, values) for call in calls.values() for one in call.children
            ),
        ),
        "asks": Ids(of="e", each=_values, found=_all_values),
        "steers": Ids(of="n", each=_keys, found=_within, gone=True),
        "called": Ids(of="sa", each=_values, found=_all_values, gone=True),
        "failed_on": _list_of("a", gone=True),
        "came_from": _QUEUE_ONCE,
    },
    "timers": {
        "id": Ids(of="sarte", each=_timer, found=lambda keys: (key.partition(":")[2] for key in keys)),
        "subject": Ids(of="sarte"),
    },
    "escalations": {"id": Ids(of="e"), "subject": Ids(of="sart"), "run_id": Ids(of="r")},
    "ledgers": {"id": Ids(of="sart")},
    "insights": {"id": Ids(of="m"), "agent_id": Ids(of="a")},
    "finished": {"id": Ids(of="r", gone=True), "supervisor_id": Ids(of="s", gone=True)},
}
"""All id fields by kind of entity; a test compares this with the fields of the state."""
_KEYS: dict[str, Callable[[Any, NewId], Any]] = {"queues": _queue, "timers": _timer}
"""Functions for the keys of kinds whose key is not a plain id."""


def rename(state: State, new_id: NewId) -> None:
    """Apply `new_id` to every id in a state, or in a part of one, in place."""
    for kind, named in FIELDS.items():
        there = getattr(state, kind)
        for entity in there.values() if isinstance(there, dict) else there:
            for name, ids in named.items():
                value = getattr(entity, name)
                if value:
                    force_setattr(entity, name, ids.each(value, new_id))
        if isinstance(there, dict):
            key_of = _KEYS.get(kind, _one)
            setattr(state, kind, {key_of(key, new_id): entity for key, entity in there.items()})


def last_numbers(state: State) -> Counter[str]:
    """Return the highest number that was given to an id of each letter, or is in use by one."""
    last = Counter(state.minted)
    steers = [one for task in state.tasks.values() if task.steers for one in task.steers]
    used = {letter: getattr(state, kind) for letter, kind in LETTERS.items()}
    for letter, ids in (*used.items(), ("n", steers), ("r", [run.id for run in state.finished])):
        most_digits = max(map(len, ids), default=0)
        highest = max((one for one in ids if len(one) == most_digits), default="")
        last[letter] = max(last[letter], int(highest[1:] or 0))
    return last


def wrong_ids(state: State, tables: Mapping[str, Table]) -> Iterator[str]:
    """Yield faults of ids: entities under a wrong key, ids of objects that do not exist."""
    known = {letter: {} for letter in MINTED} | {letter: getattr(state, kind) for letter, kind in LETTERS.items()}
    for kind, named in FIELDS.items():
        there, table = getattr(state, kind), tables[kind]
        if isinstance(there, dict) and [*there] != (own := table.column("key" if kind == "queues" else "id")):
            key = next(key for key, one in zip(there, own, strict=True) if key != one)
            yield f"{key[:80]!a} is the id of another entity"
        for name, ids in named.items():
            is_new = name == "id" and kind in LETTERS.values()
            try:
                found = set(ids.found(table.column(name)))
                strange = found.difference(*(() if is_new else known[letter] for letter in ids.of))
                if (is_new or ids.gone) and _are_ids(strange, ids.of):
                    continue
                for one in strange:
                    if not (is_new or ids.gone) or one[:1] not in ids.of or not ID.fullmatch(one):
                        yield f"{name} of one of its {kind} names {one[:80]!a}, which is not there"
            except ValueError as wrong:
                yield f"{name} of one of its {kind} names {wrong}"


def _are_ids(them: Collection[str], letters: str) -> bool:
    """Return whether all of them are ids with one of these letters: all at once, which is faster."""
    lines = "\n".join(them) + "\n"
    return lines.count("\n") == len(them) and re.fullmatch(rf"(?:[{letters}]{_NUMBER}\n)*", lines) is not None
