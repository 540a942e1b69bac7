"""Archives that were changed by hand: a few changes of an exported state, drawn by chance, each plausible by itself.

A change gives a field another value of its own type, an id that exists, or the value of the same field elsewhere; or an
entity is copied, taken away, or put in another's place. Nothing here knows what a state means.
"""

import copy
from collections.abc import Iterator
from enum import Enum
from random import Random
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import anyio
import msgspec
from msgspec import Struct
from pydantic import JsonValue

from engine.archive import ImportRefused
from engine.archive.reading import read_state
from engine.core.commands import Cancel, Submit
from engine.core.documents.document import read_document
from engine.core.encoding.codec import decode_state, encode_state
from engine.core.fold import fold
from engine.core.records.records import field_names
from engine.core.state import Agent, Escalation, Insight, Ledger, Queue, Run, RunSummary, State, Supervisor, Task, Timer
from engine.core.transfer.exporting import make_document
from engine.reading.texts import walk
from engine.simulation.history import SimulatedHistory
from engine.simulation.plan import Plan
from engine.simulation.report import plan_of
from tests.exports import Document, as_value, plain
from tests.legal import assert_legal
from tests.simulation.test_archive_laws import imported, let_go_on, waits_for_nobody

KINDS: dict[str, type] = {
    "supervisors": Supervisor, "agents": Agent, "queues": Queue, "runs": Run, "tasks": Task, "timers": Timer,
    "escalations": Escalation, "ledgers": Ledger, "finished": RunSummary,
    "insights": Insight,
}  # fmt: skip
WEIGHTS = {"tasks": 8, "runs": 3, "agents": 2, "supervisors": 2, "escalations": 2, "timers": 2}
WORDS = [
    "",
    "x",
    "k1",
    "doubt",
    "failure",
    "budget",
    "drain",
    "retry",
    "deadline",
    "sequential",
    "parallel",
    "delegate",
]


class _Watched(SimulatedHistory):
    """A history that remembers where its batches ended: between two messages, where an export may be made."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self.pauses: list[int] = []

    def _check_write(self) -> None:
        super()._check_write()
        self.pauses.append(self.ledger.state.seq)


def moments(seed: int, count: int) -> Iterator[tuple[Document, list[JsonValue]]]:
    """Yield exports of the team of a seed, from the moments of its simulated history that had most going on."""
    history = _Watched(plan_of(seed, None, hours=4))
    anyio.run(history.run, 60.0)
    events = history.result().events
    history.disk.close()
    state, at, bodies = State(), 0, list[bytes]()
    for place in history.pauses:
        fold(state, events[at:place])
        at = place
        if state.tasks and not any(task.attempt is not None for task in state.tasks.values() if task.kind != "agent"):
            bodies.append(encode_state(state))
    bodies.sort(key=len)
    for body in bodies[-1 : -1 - 5 * count : -5]:
        state = decode_state(body)
        texts = make_document(state, lambda ref: walk(events[ref.seq - 1], ref.path))
        yield plain(state), texts


def mutant(document: Document, draw: Random) -> Document:
    """Return a copy of a document with one change, or a few."""
    changed = copy.deepcopy(document)
    for _ in range(draw.choice([1, 1, 1, 2, 3])):
        _change(changed, draw)
    return changed


def _change(document: Any, draw: Random) -> None:
    there = [kind for kind in KINDS if document.get(kind)]
    kind = draw.choices(there, [WEIGHTS.get(one, 1) for one in there])[0]
    entities = document[kind]
    keys = list(entities) if isinstance(entities, dict) else list(range(len(entities)))
    key = draw.choice(keys)
    way = draw.random()
    if way < 0.9:
        _change_field(document, kind, entities[key], draw)
    elif way < 0.94:
        del entities[key]
    elif way < 0.97:
        twin = copy.deepcopy(entities[key])
        if isinstance(entities, dict):
            new = f"{str(key)[:1]}{draw.randint(1, 500)}"
            for name in ("id", "key"):
                if name in twin:
                    twin[name] = new
            entities[new] = twin
        else:
            entities.append(twin)
    else:
        other = draw.choice(keys)
        entities[key], entities[other] = entities[other], entities[key]


def _change_field(document: Any, kind: str, entity: dict[str, Any], draw: Random) -> None:
    cls = KINDS[kind]
    name = draw.choice(field_names(cls))
    hint = get_type_hints(cls)[name]
    others = document[kind].values() if isinstance(document[kind], dict) else document[kind]
    if draw.random() < 0.3:
        donors = [one[name] for one in others if name in one]
        if donors:
            entity[name] = copy.deepcopy(draw.choice(donors))
            return
    if draw.random() < 0.15 and name in entity:
        del entity[name]
        return
    entity[name] = _value(hint, entity.get(name), _ids(document), draw)


def _ids(document: Any) -> list[str]:
    kinds = ("supervisors", "agents", "runs", "tasks", "escalations", "queues")
    return [key for kind in kinds for key in document.get(kind, {})] + ["t999", "e77", "a5", "s1"]


def _value(hint: Any, now: Any, ids: list[str], draw: Random) -> Any:
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return _value(draw.choice(args), now, ids, draw)
    if hint is NoneType:
        return None
    if origin is Literal:
        return draw.choice(args)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return draw.choice([one.value for one in hint])
    if hint is bool:
        return draw.random() < 0.5
    if hint is int:
        near = now if isinstance(now, int) else 0
        return draw.choice([0, 1, 2, 5, -1, near + 1, near - 1, 10_000, 2**31])
    if hint is float:
        return draw.choice([0.0, 0.5, 1.5, -1.0])
    if hint is str:
        return draw.choice([*ids, *ids, *WORDS])
    if origin in (list, tuple):
        return _list(list(now) if isinstance(now, list) else [], args[0], ids, draw)
    if origin is dict or (isinstance(origin, type) and issubclass(origin, dict)):
        return _dict(dict(now) if isinstance(now, dict) else {}, args[1], ids, draw)
    if isinstance(hint, type) and issubclass(hint, Struct) and isinstance(now, dict) and now:
        changed = dict(now)
        name = draw.choice(list(changed))
        hints = get_type_hints(hint)
        changed[name] = _value(hints.get(name, str), changed[name], ids, draw)
        return changed
    return _json(now, ids, draw) if draw.random() < 0.9 else draw.choice([[], {}, "x", 3, None, True])


def _json(now: Any, ids: list[str], draw: Random) -> Any:
    """Change something inside a value of which no type is known."""
    if isinstance(now, dict) and now:
        key = draw.choice(list(now))
        return now | {key: _json(now[key], ids, draw)}
    if isinstance(now, list) and now:
        place = draw.randrange(len(now))
        return [*now[:place], _json(now[place], ids, draw), *now[place + 1 :]]
    return draw.choice([None, 0, -1, 2, 1.5, True, "", [], {}, ["x"], {"a": 1}, *ids[:3]])


def _list(now: list[Any], of: Any, ids: list[str], draw: Random) -> list[Any]:
    way = draw.randint(0, 4)
    if way == 0 and now:
        now.append(draw.choice(now))
    elif way == 1 and now:
        now.pop(draw.randrange(len(now)))
    elif way == 2 and now:
        draw.shuffle(now)
    elif way == 3:
        return []
    else:
        now.append(_value(of, None, ids, draw))
    return now


def _dict(now: dict[str, Any], of: Any, ids: list[str], draw: Random) -> dict[str, Any]:
    way = draw.randint(0, 2)
    if way == 0 and now:
        del now[draw.choice(list(now))]
    elif way == 1 and now:
        key = draw.choice(list(now))
        now[key] = _value(of, now[key], ids, draw)
    else:
        now[draw.choice([*ids, *WORDS])] = _value(of, None, ids, draw)
    return now


def is_taken(document: Document, texts: list[JsonValue]) -> bool:
    """Return whether an archive is let in; False when it is refused, in one line."""
    line = ""
    try:
        read_state(as_value(document, texts))
    except ImportRefused as refused:
        line = str(refused)
    assert line.isprintable()
    return not line


def assert_can_be_worked_with(document: Document, texts: list[JsonValue]) -> None:
    """Check that a team is legal, comes to rest, takes requests, and that all its work can be cancelled."""
    twin = imported((read_document(msgspec.json.encode(document), texts).state, texts), paused=True)
    assert_legal(twin.state)
    let_go_on(twin)
    for supervisor_id in list(twin.state.supervisors):
        twin.order(Submit(request="parse it and write a sum", supervisor=f"@{supervisor_id}"))
    twin.settle()
    assert_legal(twin.state)
    assert all(waits_for_nobody(twin.state, run_id) for run_id in twin.state.runs)

    twin = imported((read_document(msgspec.json.encode(document), texts).state, texts), paused=True)
    for run in list(twin.state.runs.values()):
        if not run.cancelling:
            twin.order(Cancel(target=f"@{run.id}"))
    twin.crash()
    assert [*twin.state.runs, *twin.state.tasks] == []


def changed_ones(document: Document, texts: list[JsonValue], seed: str, count: int) -> int:
    """Change an archive in many ways; return how many of them are let in."""
    assert is_taken(document, texts)
    taken = 0
    for number in range(count):
        change = mutant(document, Random(f"{seed} {number}"))
        if change != document and is_taken(change, texts):
            taken += 1
            assert_can_be_worked_with(change, texts)
    return taken
