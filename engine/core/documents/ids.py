"""The table of id fields by kind of entity, for renumbering and checking ids."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, TypeAlias

from msgspec.structs import force_setattr

from engine.core.discovery.match import TEAM
from engine.core.documents.table import EntityTable
from engine.core.records.records import copy_with, fact
from engine.core.state import OTHER, Call, Conversation, Discovery, Evidence, KeptValue, Origin, State, TaskChanges

NewId: TypeAlias = Callable[[str], str]
_NUMBER = "[1-9][0-9]{0,14}"
ID = re.compile(f"[a-z]{_NUMBER}")
LETTERS = {
    "s": "supervisors",
    "a": "agents",
    "r": "runs",
    "t": "tasks",
    "e": "escalations",
    "m": "insights",
    "k": "recipes",
}
"""Kinds of entities by the first letter of their ids."""
MINTED = frozenset({*LETTERS, "n", "g"})
"""Letters of all ids; those of messages (`n`) are in tasks, and those of grants (`g`) are never exported."""


def _map_one(value: str, new_id: NewId) -> str:
    return new_id(value)


def _map_many(values: Any, new_id: NewId) -> Any:
    return type(values)(map(new_id, values))


def _map_keys(values: dict[str, Any], new_id: NewId) -> dict[str, Any]:
    return {new_id(key): value for key, value in values.items()}


def _map_values(values: dict[str, str], new_id: NewId) -> dict[str, str]:
    return {key: new_id(value) for key, value in values.items()}


def _drop_none(values: Iterable[str | None]) -> set[str]:
    return set(values) - {None}  # type: ignore[return-value]  # mypy does not see that None is gone


def _flatten(values: Iterable[Iterable[Any] | None]) -> Iterator[Any]:
    return chain.from_iterable(filter(None, values))


def _all_values(values: Iterable[dict[str, str]]) -> Iterator[str]:
    return chain.from_iterable(value.values() for value in filter(None, values))


def _map_queue_key(key: str, new_id: NewId) -> str:
    kind, owner, suffix = _split_queue_key(key)
    return f"{kind}:{new_id(owner)}{suffix}"


def _split_queue_key(key: str) -> tuple[str, str, str]:
    """Split the key of a queue into its kind, the id of its owner, and what follows."""
    kind, owner, *capability = key.split(":", 2)
    owner, plus, depth = owner.partition("+")
    if plus and (kind != "able" or not depth.isdecimal()):
        raise ValueError(f"{key[:80]!a}, which is not a queue")
    return kind, owner, f"{plus}{depth}" + "".join(f":{part}" for part in capability)


def _queue_owners(keys: Iterable[str | None]) -> Iterator[str]:
    return (owner for _, owner, _ in map(_split_queue_key, _drop_none(keys)))


def _map_timer_key(key: str, new_id: NewId) -> str:
    kind, _, subject = key.partition(":")
    return f"{kind}:{new_id(subject)}"


def _map_spender(spender_id: str, new_id: NewId) -> str:
    return spender_id if spender_id == OTHER else new_id(spender_id)


def _map_calls(calls: dict[str, Call], new_id: NewId) -> dict[str, Call]:
    for call in calls.values():
        call.children[:] = map(new_id, call.children)
    return calls


def _map_conversations(conversations: dict[str, Conversation], new_id: NewId) -> dict[str, Conversation]:
    for exchange in _exchanges([conversations]):
        force_setattr(exchange, "run_id", new_id(exchange.run_id))
    for conversation in conversations.values():
        conversation.worked[:] = map(new_id, conversation.worked)
    return conversations


def _ids_in_conversations(values: Iterable[dict[str, Conversation]]) -> Iterator[str]:
    conversation_maps = list(values)
    yield from (exchange.run_id for exchange in _exchanges(conversation_maps))
    yield from (
        id
        for conversations in conversation_maps
        for conversation in conversations.values()
        for id in conversation.worked
    )


def _exchanges(values: Iterable[dict[str, Conversation]]) -> Iterator[Any]:
    return (
        exchange
        for conversations in values
        for conversation in conversations.values()
        for exchange in conversation.exchanges.values()
    )


def _map_kept(values: dict[str, KeptValue], new_id: NewId) -> dict[str, KeptValue]:
    for value in values.values():
        value.recipes[:] = map(new_id, value.recipes)
    return values


def _map_changes(changes: TaskChanges, new_id: NewId) -> TaskChanges:
    for value in changes.kept_values:
        value.recipes[:] = map(new_id, value.recipes)
    return changes


def _ids_in_kept(values: Iterable[dict[str, KeptValue]]) -> Iterator[str]:
    return (recipe_id for view in values for value in view.values() for recipe_id in value.recipes)


def _ids_in_changes(values: Iterable[TaskChanges | None]) -> Iterator[str]:
    return (recipe_id for own in filter(None, values) for value in own.kept_values for recipe_id in value.recipes)


def _map_discoveries(discoveries: list[Discovery], new_id: NewId) -> list[Discovery]:
    return [
        copy_with(
            each,
            task_id=new_id(each.task_id),
            matches=[
                copy_with(match, id=new_id(match.id)) if match.source == TEAM else match for match in each.matches
            ],
        )
        for each in discoveries
    ]


def _map_evidence(evidence: Evidence, new_id: NewId) -> Evidence:
    return copy_with(evidence, run_id=new_id(evidence.run_id), task_id=new_id(evidence.task_id))


def _ids_in_evidence(values: Iterable[Evidence | None]) -> Iterator[str]:
    return (an_id for evidence in values if evidence is not None for an_id in (evidence.run_id, evidence.task_id))


def _ids_in_discoveries(values: Iterable[list[Discovery] | None]) -> Iterator[str]:
    for each in _flatten(values):
        yield each.task_id
        yield from (match.id for match in each.matches if match.source == TEAM)


def _is_recipe(origin: Origin | None) -> bool:
    return origin is not None and origin.kind == "recipe"


@fact
class Ids:
    """How a field contains ids."""

    letters: str
    """Letters of the kinds that they may name."""
    map_ids: Callable[[Any, NewId], Any] = _map_one
    """Returns the value of the field with a function applied to every id."""
    ids_in: Callable[[Iterable[Any]], Iterable[str]] = _drop_none
    """Returns the ids in many values of the field."""
    may_be_missing: bool = False
    """The named object may not exist."""


def _list_of(letters: str, *, may_be_missing: bool = False) -> Ids:
    return Ids(letters=letters, map_ids=_map_many, ids_in=_flatten, may_be_missing=may_be_missing)


_QUEUE = Ids(letters="sa", map_ids=_map_queue_key, ids_in=_queue_owners)
_FORMER_QUEUE = Ids(letters="sa", map_ids=_map_queue_key, ids_in=_queue_owners, may_be_missing=True)
_VERSION = Ids(letters="m", may_be_missing=True)
_SPENDERS = Ids(
    letters="a",
    map_ids=lambda usages, new_id: {_map_spender(key, new_id): usage for key, usage in usages.items()},
    ids_in=lambda values: set(_flatten(values)) - {OTHER},
    may_be_missing=True,
)
FIELDS: dict[str, dict[str, Ids]] = {
    "supervisors": {
        "id": Ids(letters="s"),
        "parent_id": Ids(letters="s"),
        "members": _list_of("sa"),
        "insights": Ids(letters="m", map_ids=_map_keys, ids_in=_flatten),
        "conversations": Ids(
            letters="rsa", map_ids=_map_conversations, ids_in=_ids_in_conversations, may_be_missing=True
        ),
        "discoveries": Ids(letters="ta", map_ids=_map_discoveries, ids_in=_ids_in_discoveries, may_be_missing=True),
    },
    "agents": {
        "id": Ids(letters="a"),
        "supervisor_id": Ids(letters="s"),
        "insights": _list_of("m"),
        "origin": Ids(
            letters="k",
            map_ids=lambda origin, new_id: copy_with(origin, id=new_id(origin.id)) if _is_recipe(origin) else origin,
            ids_in=lambda origins: (origin.id for origin in origins if _is_recipe(origin)),
            may_be_missing=True,
        ),
        "recipe_id": Ids(letters="k", may_be_missing=True),
        "kept": Ids(letters="k", map_ids=_map_kept, ids_in=_ids_in_kept, may_be_missing=True),
        "last_tasks": Ids(
            letters="t",
            map_ids=lambda ended, new_id: [copy_with(task, task_id=new_id(task.task_id)) for task in ended],
            ids_in=lambda values: (task.task_id for task in _flatten(values)),
            may_be_missing=True,
        ),
        "queues": Ids(
            letters="sa",
            map_ids=lambda keys, new_id: [_map_queue_key(key, new_id) for key in keys],
            ids_in=lambda values: _queue_owners(_flatten(values)),
        ),
    },
    "queues": {"key": _QUEUE, "supervisor_id": Ids(letters="s"), "agents": _list_of("a")},
    "runs": {
        "id": Ids(letters="r"),
        "supervisor_id": Ids(letters="s"),
        "root_id": Ids(letters="t"),
        "tasks": Ids(letters="t", map_ids=_map_keys, ids_in=_flatten),
        "after": _list_of("r"),
        "before": _list_of("r"),
        "spent_by": _SPENDERS,
    },
    "tasks": {
        "escalation_id": Ids(letters="e"),
        "nobody_id": Ids(letters="e"),
        "id": Ids(letters="t"),
        "run_id": Ids(letters="r"),
        "parent_id": Ids(letters="t"),
        "asked_by": Ids(letters="t"),
        "supervisor_id": Ids(letters="s", may_be_missing=True),
        "queue": _FORMER_QUEUE,
        "worker_id": Ids(letters="sa", may_be_missing=True),
        "agent_id": Ids(letters="a", may_be_missing=True),
        "after": _list_of("t"),
        "sees": _list_of("t"),
        "before": _list_of("t"),
        "children": _list_of("t"),
        "outcome_id": Ids(letters="t"),
        "calls": Ids(
            letters="t",
            map_ids=_map_calls,
            ids_in=lambda values: (
                child_id for calls in filter(None, values) for call in calls.values() for child_id in call.children
            ),
        ),
        "changes": Ids(letters="k", map_ids=_map_changes, ids_in=_ids_in_changes, may_be_missing=True),
        "asks": Ids(letters="e", map_ids=_map_values, ids_in=_all_values),
        "steers": Ids(letters="n", map_ids=_map_keys, ids_in=_flatten, may_be_missing=True),
        "called": Ids(letters="sa", map_ids=_map_values, ids_in=_all_values, may_be_missing=True),
        "failed_on": _list_of("a", may_be_missing=True),
        "came_from": _FORMER_QUEUE,
    },
    "timers": {
        "id": Ids(
            letters="sartem", map_ids=_map_timer_key, ids_in=lambda keys: (key.partition(":")[2] for key in keys)
        ),
        "subject": Ids(letters="sartem"),
    },
    "escalations": {"id": Ids(letters="e"), "subject": Ids(letters="sart"), "run_id": Ids(letters="r")},
    "ledgers": {"id": Ids(letters="sart")},
    "insights": {
        "id": Ids(letters="m"),
        "agent_id": Ids(letters="a", may_be_missing=True),
        "supervisor_id": Ids(letters="s", ids_in=lambda ids: set(ids) - {""}),
        "supersedes": _VERSION,
        "superseded_by": _VERSION,
        "evidence": Ids(letters="rt", map_ids=_map_evidence, ids_in=_ids_in_evidence, may_be_missing=True),
        "readers": _list_of("a", may_be_missing=True),
    },
    "recipes": {
        "id": Ids(letters="k"),
        "parent_id": Ids(letters="ak", may_be_missing=True),
        "made_by": Ids(letters="rt", map_ids=_map_evidence, ids_in=_ids_in_evidence, may_be_missing=True),
    },
    "spending": {
        "id": Ids(
            letters="a",
            map_ids=_map_spender,
            ids_in=lambda spender_ids: set(spender_ids) - {OTHER},
            may_be_missing=True,
        ),
        "supervisor_id": Ids(letters="s", may_be_missing=True),
    },
    "finished": {
        "id": Ids(letters="r", may_be_missing=True),
        "supervisor_id": Ids(letters="s", may_be_missing=True),
        "spent_by": _SPENDERS,
    },
}
"""All id fields by kind of entity; a test compares this with the fields of the state."""
_KEYS: dict[str, Callable[[Any, NewId], Any]] = {
    "queues": _map_queue_key,
    "timers": _map_timer_key,
    "spending": _map_spender,
}
"""Functions for the keys of kinds whose key is not a plain id."""


def rename_ids(state: State, new_id: NewId) -> None:
    """Apply `new_id` to every id in a state, or in a part of one, in place."""
    for kind, id_fields in FIELDS.items():
        entities = getattr(state, kind)
        for entity in entities.values() if isinstance(entities, dict) else entities:
            for name, ids in id_fields.items():
                value = getattr(entity, name)
                if value:
                    force_setattr(entity, name, ids.map_ids(value, new_id))
        if isinstance(entities, dict):
            key_of = _KEYS.get(kind, _map_one)
            setattr(state, kind, {key_of(key, new_id): entity for key, entity in entities.items()})


def last_numbers(state: State) -> Counter[str]:
    """Return the highest number of an id issued or in use, by letter."""
    last = Counter(state.minted)
    steers = [steer_id for task in state.tasks.values() if task.steers for steer_id in task.steers]
    used = {letter: getattr(state, kind) for letter, kind in LETTERS.items()}
    tasks = [task.task_id for agent in state.agents.values() for task in agent.last_tasks]
    named_ids = [*_ids_in_discoveries(supervisor.discoveries for supervisor in state.supervisors.values())]
    former = [("a", [spender_id for spender_id in state.spending if spender_id != OTHER]), ("t", tasks)]
    for insight in state.insights.values():
        named_ids += filter(None, (insight.agent_id, insight.supersedes, insight.superseded_by))
        named_ids += (*insight.readers, *_ids_in_evidence([insight.evidence]))
    for recipe in state.recipes.values():
        named_ids += (recipe.parent_id, *_ids_in_evidence([recipe.made_by]))
    named_ids += [agent.recipe_id for agent in state.agents.values() if agent.recipe_id is not None]
    former += [(letter, [each for each in named_ids if each[0] == letter]) for letter in "tarmk"]
    for letter, ids in (*used.items(), *former, ("n", steers), ("r", [run.id for run in state.finished])):
        most_digits = max(map(len, ids), default=0)
        highest = max((entity_id for entity_id in ids if len(entity_id) == most_digits), default="")
        last[letter] = max(last[letter], int(highest[1:] or 0))
    return last


def id_faults(state: State, tables: Mapping[str, EntityTable]) -> Iterator[str]:
    """Yield faults of ids: entities under a wrong key, ids of objects that do not exist."""
    ids_by_letter: dict[str, dict[str, Any]] = {letter: {} for letter in MINTED}
    ids_by_letter |= {letter: getattr(state, kind) for letter, kind in LETTERS.items()}
    for kind, id_fields in FIELDS.items():
        entities, table = getattr(state, kind), tables[kind]
        if isinstance(entities, dict) and [*entities] != (own_ids := table.column("key" if kind == "queues" else "id")):
            key = next(key for key, entity_id in zip(entities, own_ids, strict=True) if key != entity_id)
            yield f"{key[:80]!a} is the id of another entity"
        for name, ids in id_fields.items():
            is_own_id = name == "id" and kind in LETTERS.values()
            try:
                referenced_ids = set(ids.ids_in(table.column(name)))
                unknown_ids = referenced_ids
                if not is_own_id:
                    unknown_ids = referenced_ids.difference(*(ids_by_letter[letter] for letter in ids.letters))
                is_allowed = is_own_id or ids.may_be_missing
                if is_allowed and _are_ids(unknown_ids, ids.letters):
                    continue
                for unknown_id in unknown_ids:
                    is_id = unknown_id[:1] in ids.letters and ID.fullmatch(unknown_id) is not None
                    if not (is_allowed and is_id):
                        yield f"{name} of one of its {kind} names {unknown_id[:80]!a}, which is not there"
            except ValueError as error:
                yield f"{name} of one of its {kind} names {error}"


def _are_ids(candidates: Collection[str], letters: str) -> bool:
    """Return whether all candidates are ids with one of these letters, in one match, which is faster."""
    lines = "\n".join(candidates) + "\n"
    return lines.count("\n") == len(candidates) and re.fullmatch(rf"(?:[{letters}]{_NUMBER}\n)*", lines) is not None
