"""Laws of shared memory: nothing is lost unsaid, room is made in order, versions form one chain, rights hold."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.archive.reading import complete_state, read_state
from engine.core.commands import AddSupervisor, Forget, Move, Remember, RemoveMember, SupervisorSpec
from engine.core.encoding.codec import decode_state, encode_state
from engine.core.events import AgentRemoved, Event, InsightsForgotten, Remembered, StepRecorded, SupervisorRemoved
from engine.core.fold import fold
from engine.core.queries.team.memory import may_read, may_write
from engine.core.signals import EngineBegan, InsightNoted, StepFinished
from engine.core.specs.memory import MemoryOptions, SegmentRights
from engine.core.specs.options import SupervisorOptions
from engine.core.state import Insight, State
from tests.depth import examples
from tests.exports import exported, ready
from tests.legal import assert_legal
from tests.story import applied, attempt, done, member, refused, submitted
from tests.world import World, agent, team_world

RIGHTS = {
    "results": SegmentRights(read=("all",), write=("ada", "crew")),
    "secrets": SegmentRights(read=("bob",), write=("all",)),
}
SEGMENTS = ("private", "results", "secrets", "open")
AGENTS = ("ada", "bob", "cyd")


def team(limit: int = 6) -> World:
    """Three agents at work, one of them in a team below."""
    options = SupervisorOptions(memory=MemoryOptions(max=limit, segments=RIGHTS))
    crew = SupervisorSpec(name="crew", members=[agent("cyd")])
    world = team_world(agent("ada"), agent("bob"), crew, mode="parallel", options=options)
    submitted(world)
    return world


def note(world: World, name: str, **fields: Any) -> list[Event]:
    task_id, number = attempt(world, name)
    values: dict[str, Any] = {"key": f"remember:{len(world.journal)}", "text": "x", "importance": 0.5, **fields}
    return world.say(InsightNoted(task_id=task_id, attempt=number, **values))


OPERATIONS = st.one_of(
    st.tuples(
        st.just("note"), st.sampled_from(AGENTS), st.sampled_from(SEGMENTS), st.integers(0, 4),
        st.none() | st.integers(1, 4), st.none() | st.just(60.0), st.none() | st.integers(0, 12),
    ),
    st.tuples(st.just("order"), st.sampled_from(SEGMENTS[1:]), st.integers(0, 4), st.none() | st.integers(0, 12)),
    st.tuples(st.just("forget"), st.integers(0, 12)),
    st.tuples(st.just("expire")),
    st.tuples(st.just("read"), st.sampled_from(AGENTS), st.integers(0, 12)),
)  # fmt: skip


def perform(world: World, operation: tuple[Any, ...]) -> list[Event]:
    """Carry out one operation; the ones that name an insight count from the oldest."""
    kind, *rest = operation
    ids = [*world.state.insights]
    insight_id = next((ids[each] for each in rest[-1:] if isinstance(each, int) and each < len(ids)), None)
    if kind == "note":
        name, segment, quarters, expect, expires_s, _ = rest
        return note(
            world, name, segment=segment, importance=quarters / 4, supersedes=insight_id, expires_s=expires_s,
            expect=expect if insight_id is not None else None,
        )  # fmt: skip
    if kind == "order":
        return world.order(Remember(text="y", segment=rest[0], importance=rest[1] / 4, supersedes=insight_id))
    if kind == "expire":
        timers = [timer.id for timer in world.state.timers.values() if timer.kind == "expiry"]
        return world.due(timers[0]) if timers else []
    if insight_id is None:
        return []
    if kind == "forget":
        return world.order(Forget(insights=[insight_id]))
    task_id, number = attempt(world, rest[0])
    key = f"query:{len(world.journal)}"
    return world.say(StepFinished(task_id=task_id, attempt=number, name="q", key=key, output=[], reads=[insight_id]))


def rank(insight: Insight, now_ms: int) -> tuple[bool, bool, float, int]:
    """The place of an insight in the order in which they go for room."""
    is_expired = insight.expires_ms is not None and insight.expires_ms <= now_ms
    return not is_expired, insight.superseded_by is None, insight.importance, int(insight.id[1:])


@settings(max_examples=examples(40))
@given(st.lists(OPERATIONS, max_size=40))
def test_no_acknowledged_insight_is_lost_but_by_a_recorded_event(operations: list[tuple[Any, ...]]) -> None:
    world, kept = team(), dict[str, Remembered]()
    for operation in operations:
        before = decode_state(encode_state(world.state))
        for event in perform(world, operation):
            if isinstance(event, Remembered):
                kept[event.insight_id] = event
            elif isinstance(event, InsightsForgotten):
                for insight_id in event.ids:
                    del kept[insight_id]
                check_room_order(before, event, world.now_ms)
        stored = {each.id: (each.segment, each.author, each.version) for each in world.state.insights.values()}
        assert stored == {key: (event.segment, event.author, event.version) for key, event in kept.items()}
        assert_legal(world.state)
    again = State()
    fold(again, world.journal)
    assert encode_state(again) == encode_state(world.state)


def check_room_order(before: State, event: InsightsForgotten, now_ms: int) -> None:
    """What goes for room is the first in the order, but for what is superseded at that moment."""
    if event.why == "room":
        (owner,) = {before.insights[each].segment == "private" for each in event.ids}
        assert not owner, "an agent has room for 200"
        pool = [before.insights[each] for each in before.supervisors["s1"].insights]
        assert len(pool) >= 6
        ranked = [each.id for each in sorted(pool, key=lambda each: rank(each, now_ms))]
        assert set(event.ids) <= set(ranked[: len(event.ids) + 1])


@settings(max_examples=examples(30))
@given(st.lists(OPERATIONS, max_size=30))
def test_nobody_writes_where_its_rights_do_not_reach(operations: list[tuple[Any, ...]]) -> None:
    world = team(50)
    for operation in operations:
        for event in perform(world, operation):
            if isinstance(event, Remembered) and event.agent_id is not None and event.segment != "open":
                author = world.state.agents[event.agent_id]
                allowed = {"private": AGENTS, "secrets": AGENTS, "results": ("ada", "cyd")}[event.segment]
                assert author.name in allowed
    for insight in world.state.insights.values():
        readers = {each.name for each in world.state.agents.values() if may_read(world.state, each, insight)}
        expected = {"private": {insight.author}, "secrets": {"bob"}}.get(insight.segment, set(AGENTS))
        assert readers == expected
        if insight.segment == "private":
            assert insight.agent_id is not None


def test_a_conflict_is_the_recorded_answer_of_the_step() -> None:
    world = team()
    note(world, "ada", segment="open")
    note(world, "bob", segment="open", supersedes="m1")
    (step,) = note(world, "ada", segment="open", supersedes="m1", expect=1, key="late")

    assert isinstance(step, StepRecorded)
    assert step.output == {"conflict": "m2"}
    assert note(world, "ada", segment="open", supersedes="m1", expect=1, key="late") == []
    assert applied(world, Remember(text="z", segment="open", supersedes="m1", expect=1)) == {"conflict": "m2"}
    assert applied(world, Remember(text="z", segment="open", supersedes="@m1", expect=2)) == {"insight_id": "m3"}
    assert [each.version for each in world.state.insights.values()] == [1, 2, 3]


def test_an_older_version_that_is_forgotten_leaves_one_chain() -> None:
    world = team()
    for older_id in (None, "m1", "m2"):
        note(world, "ada", segment="open", supersedes=older_id)
    applied(world, Forget(insights=["m2"]))
    note(world, "bob", segment="open", supersedes="m1")

    assert {each.id: each.superseded_by for each in world.state.insights.values()} == {
        "m1": "m3", "m3": "m4", "m4": None,
    }  # fmt: skip
    assert_legal(world.state)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"segment": "private"}, "private insights are those of an agent; name another segment, such as team"),
        ({"supersedes": "m1"}, "there is no insight 'm1' to supersede; it may be forgotten by now"),
        ({"supersedes": "m2"}, "m2 is in the segment open, and so is what supersedes it; not in team"),
        ({"expect": 2}, "expect is a version of the insight that is superseded; name it too"),
    ],
)
def test_what_a_person_may_not_write_is_refused_in_one_line(fields: dict[str, Any], reason: str) -> None:
    world = team()
    note(world, "ada")
    note(world, "ada", segment="open")

    assert refused(world, Remember(text="x", **fields)) == reason


def test_private_insights_leave_with_their_agent_and_others_stay_with_its_name() -> None:
    world = team()
    note(world, "ada", expires_s=60.0)
    note(world, "ada", segment="open", expires_s=60.0)
    done(world, "ada")
    events = world.order(RemoveMember(target="ada"))

    assert any(isinstance(event, AgentRemoved) for event in events)
    assert [(each.id, each.author) for each in world.state.insights.values()] == [("m2", "ada")]
    assert [timer.subject for timer in world.state.timers.values()] == ["m2"]
    assert_legal(world.state)


def test_the_next_engine_knows_whose_the_insights_in_a_snapshot_of_an_earlier_version_are() -> None:
    world = team()
    note(world, "cyd")
    earlier = json.loads(encode_state(world.state))
    for name in ("author", "supervisor_id"):
        del earlier["insights"]["m1"][name]
    world.state = decode_state(json.dumps(earlier).encode())
    world.crash(pid=2, token=3, version="test")
    note(world, "cyd", supersedes="m1")

    assert [(each.author, each.supervisor_id) for each in world.state.insights.values()] == [("cyd", "s1")] * 2
    assert_legal(world.state)


def test_the_pool_of_a_team_that_moves_below_another_joins_its_pool() -> None:
    world = team(3)
    applied(world, AddSupervisor(parent=None, team=SupervisorSpec(name="guests", members=[agent("dan")])))
    applied(world, Remember(text="theirs", supervisor="guests"))
    applied(world, Remember(text="ours"))
    submitted(world, supervisor="guests")
    note(world, "dan")
    assert [each.supervisor_id for each in world.state.insights.values()] == ["s3", "s1", "s3"]
    applied(world, Move(target="guests", parent="@s1"))

    assert [*world.state.supervisors["s1"].insights] == ["m1", "m2"]
    assert {each.supervisor_id for each in world.state.insights.values()} == {"s1"}
    assert may_write(world.state, member(world, "dan"), "open")
    assert not may_write(world.state, member(world, "dan"), "results")
    assert_legal(world.state)


def test_a_pool_leaves_with_its_supervisor() -> None:
    world = team()
    applied(world, AddSupervisor(parent=None, team=SupervisorSpec(name="guests")))
    applied(world, Remember(text="theirs", supervisor="guests", expires_s=60))
    events = world.order(RemoveMember(target="guests"))

    assert any(isinstance(event, SupervisorRemoved) for event in events)
    assert not world.state.insights
    assert not world.state.timers
    assert_legal(world.state)


def test_a_team_that_is_exported_alone_takes_the_private_insights_of_its_agents_along() -> None:
    world = team()
    for name in AGENTS:
        note(world, name, expires_s=60.0, text="x" * 200)
        note(world, name, segment="open")
    (crew,) = (each.id for each in world.state.supervisors.values() if each.name == "crew")
    state, texts = exported(world, only=crew)
    everything, all_texts = exported(world)

    assert [(each.author, each.segment, each.supervisor_id) for each in state.insights.values()] == [
        ("cyd", "private", crew)
    ]
    assert len(everything.insights) == 6
    for document in ((state, texts), (everything, all_texts)):
        archive = read_state(complete_state(*document))
        assert archive.state == document[0]


def test_an_archive_comes_into_a_database_with_other_insights_under_new_ids() -> None:
    world = team()
    note(world, "ada", segment="open", expires_s=60.0)
    note(world, "bob", segment="open", supersedes="m1")
    world.record(attempt(world, "bob"), "query", reads=["m1"])
    host = team()
    note(host, "cyd", segment="open")
    host.say(EngineBegan(pid=2, token=3, version="test"))
    host.say(ready(*exported(world)))

    old, new = (each for each in host.state.insights.values() if each.supervisor_id != "s1")
    assert (old.superseded_by, new.supersedes, new.version) == (new.id, old.id, 2)
    assert [host.state.agents[each].name for each in (old.agent_id or "", *old.readers)] == ["ada", "bob"]
    assert old.evidence is not None
    assert old.evidence.task_id in host.state.tasks
    assert [host.state.timers[f"expiry:{old.id}"].due_ms - host.state.at_ms, old.expires_ms is None] == [60_000, False]
    assert_legal(host.state)
