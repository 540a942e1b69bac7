"""What is journaled: records that are read strictly, and written only where they can be read again."""

import gc
from collections.abc import Iterator
from enum import Enum
from math import inf, nan
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
import pytest
from msgspec import NODEFAULT, Struct

from engine.core.commands import Submit
from engine.core.encoding.codec import decode_events, decode_state, encode_event, encode_state
from engine.core.errors import CorruptJournal
from engine.core.events import AttemptDone, AttemptFailed, ChildPlan, CommandApplied, Delegated, Event
from engine.core.fold import fold
from engine.core.records.records import Entity, fields
from engine.core.records.shared import EMPTY
from engine.core.records.values import Usage
from engine.core.specs.limits import Limits
from engine.core.specs.spec import Circuit, Retry
from engine.core.state import State
from tests.world import agent, team_world


def done(output: Any) -> Event:
    return AttemptDone(run_id="r1", task_id="t1", attempt=1, agent_id="a1", output=output, duration_ms=5)


def failed(retry_after_s: float) -> Event:
    return AttemptFailed(
        run_id="r1", task_id="t1", attempt=1, agent_id="a1", error="", error_type="", duration_ms=5,
        retry_after_s=retry_after_s,
    )  # fmt: skip


def delegated(value: Any) -> Event:
    child = ChildPlan(
        task_id="t2", kind="agent", title="", queue=None, worker_id=None, supervisor_id="s1", input=[{"x": value}]
    )
    return Delegated(
        run_id="r1", task_id="t1", attempt=1, agent_id="a1", call_key="", call_kind="map", children=[child]
    )


@pytest.mark.parametrize(
    "event",
    [
        *(done(value) for value in (nan, inf, [1, {"deep": -inf}], "half \ud800", {"\udfff": 1}, object())),
        failed(nan),
        delegated(inf),
        CommandApplied(
            command_id="c", command="", sender="", role="", summary="", result={"share": nan}
        ),
    ],
)  # fmt: skip
def test_what_could_not_be_read_again_is_not_written(event: Event) -> None:
    with pytest.raises(ValueError, match="cannot be written as JSON"):
        encode_event(event)


@pytest.mark.parametrize(
    "body",
    [
        b'{"type":"engine_stopped","at_ms":1,"reason":"x","extra":1}',
        b'{"type":"engine_stopped","at_ms":"1","reason":"x"}',
        b'{"type":"engine_stopped","at_ms":1.5,"reason":"x"}',
        b'{"type":"engine_stopped","at_ms":1,"reason":"\xff"}',
        b'{"type":"engine_stopped","at_ms":1}',
        b'{"type":"engine_dreamed","at_ms":1,"reason":"x"}',
        b'{"at_ms":1,"reason":"x"}',
        b'{"type":"engine_stopped","at_ms":1,"reason":"x"},{}',
        b"",
    ],
)
@pytest.mark.parametrize("beside", [b"x", b"x" * 600_000], ids=["in a small block", "in a large one"])
def test_a_body_that_is_not_what_its_kind_says_is_told_with_its_seq(body: bytes, beside: bytes) -> None:
    good = b'{"type":"engine_stopped","at_ms":1,"reason":"%b"}' % beside

    with pytest.raises(CorruptJournal) as corrupt:
        decode_events([(7, "engine_stopped", good), (8, "engine_stopped", body), (9, "engine_stopped", good)])

    assert corrupt.value.seq == 8
    assert len(decode_events([(7, "engine_stopped", good), (9, "engine_stopped", good)])) == 2


def test_a_field_that_nobody_knows_is_refused_at_every_level_of_the_state() -> None:
    world = team_world(agent("ada", limits=Limits(tokens=5), on_failure=[Retry(2)], circuit=Circuit()))
    world.order(Submit(request="count"))
    document = msgspec.json.decode(encode_state(world.state))
    found = list(objects(document))

    for number in range(len(found)):
        again = msgspec.json.decode(encode_state(world.state))
        list(objects(again))[number]["unknown"] = 1
        with pytest.raises(ValueError, match="unknown field"):
            decode_state(msgspec.json.encode(again))
    assert len(found) > 10


def test_a_spec_changed_in_one_state_stays_as_it_was_in_others_of_the_same_text() -> None:
    body = encode_state(team_world(agent("ada", "parse")).state)
    changed, other = decode_state(body), decode_state(body)

    for spec in changed.specs.values():
        spec.description = "changed"

    assert encode_state(other) == encode_state(decode_state(body)) == body


def test_equal_ids_of_a_decoded_state_are_one_text() -> None:
    world = team_world(*(agent(f"a{number}", "count") for number in range(3)), participants=["a0"])
    world.order(Submit(request="count"))
    world.ask(next(iter(world.started)), "count", [f"item {number}" for number in range(5)], call="k1")

    state = decode_state(encode_state(world.state))

    assert encode_state(state) == encode_state(world.state)
    (run,) = state.runs.values()
    texts = [*run.tasks, *state.tasks]
    for task in state.tasks.values():
        texts += [task.id, task.run_id, task.supervisor_id, *task.children]
        texts += [one for one in (task.parent_id, task.queue, task.call_key) if one is not None]
        texts += [one for call in task.calls.values() for one in call.children]
    assert len({id(text) for text in texts}) == len(set(texts))


def objects(value: Any, hint: Any = State) -> Iterator[dict[str, Any]]:
    """Yield every object of a document that stands for a record."""
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType, Annotated):
        for one in args:
            yield from objects(value, one)
    elif isinstance(value, list) and args:
        for inner in value:
            yield from objects(inner, args[0])
    elif isinstance(value, dict) and args:
        for inner in value.values():
            yield from objects(inner, args[-1])
    elif isinstance(value, dict) and is_record(hint) and hint.__struct_config__.tag in (None, value.get("type")):
        yield value
        for one in fields(hint):
            yield from objects(value.get(one.name), one.type)


def is_record(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, Struct)


def entities(cls: type = Entity) -> Iterator[type]:
    one: type
    for one in cls.__subclasses__():
        yield one
        yield from entities(one)


@pytest.mark.parametrize("cls", entities(), ids=lambda cls: cls.__name__)
def test_json_of_an_entity_tells_its_defaults_from_all_that_is_equal(cls: type) -> None:
    one: Any
    for one in fields(cls):
        default: Any = one.default
        is_singleton = default is None or default is EMPTY or isinstance(default, bool | Enum) or default in ("", ())
        is_small = isinstance(default, int) and 0 <= default <= 256
        assert default is NODEFAULT or is_singleton or is_small or get_origin(one.type) is Literal, one.name


@pytest.mark.parametrize("cls", [*entities(), Usage], ids=lambda cls: cls.__name__)
def test_an_assignment_to_an_entity_is_a_plain_store_into_its_slot(cls: Any) -> None:
    assert cls.__setattr__ is object.__setattr__
    assert cls.__delattr__ is object.__delattr__


def test_an_entity_takes_no_field_that_it_does_not_have_and_a_fact_no_assignment() -> None:
    usage: Any = Usage()
    event: Any = done("ok")

    with pytest.raises(AttributeError):
        usage.unknown = 1
    with pytest.raises(AttributeError, match="immutable"):
        event.output = "other"


def test_the_garbage_collector_knows_every_record_that_it_is_told_of() -> None:
    """A plain store does not tell it of a record that was untracked until then, so none may begin like that."""
    collected = {one for one in entities() if one.__struct_config__.gc}  # type: ignore[attr-defined]

    assert {one for one in collected if not issubclass(one, State)} == set()
    assert gc.is_tracked(State())


def test_tasks_that_are_read_from_a_journal_refer_to_one_text_for_their_supervisor_and_their_queue() -> None:
    world = team_world(agent("ada", "parse"), agent("bob", "write"), participants=["ada"])
    world.order(Submit(request="read it"))
    world.ask(next(iter(world.started)), "write", [f"chapter {number}" for number in range(3)])
    rows = [(seq, event.type, encode_event(event)) for seq, event in enumerate(world.journal, start=1)]
    state = State()

    fold(state, decode_events(rows))

    chapters = [task for task in state.tasks.values() if task.call_key is not None]
    assert len(chapters) == 3
    assert {id(task.supervisor_id) for task in chapters} == {id(state.roots[0].id)}
    assert {id(task.queue) for task in chapters} == {id(state.queues[str(chapters[0].queue)].key)}
