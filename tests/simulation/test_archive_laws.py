"""Laws of carrying a state elsewhere, for every history: nothing is lost, nothing runs twice, nothing is mixed up."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from engine.archive import ImportRefused
from engine.archive.cutting import ArchivePart, Rest, pieces
from engine.archive.reading import Contents, complete_state, read_state
from engine.core.commands import Answer, Pause, Resume, Submit
from engine.core.documents.document import read_document, references_in, text_refs, write_document
from engine.core.documents.ids import FIELDS
from engine.core.documents.importing import compact_ids, raise_ids
from engine.core.encoding.codec import decode_state, encode_state
from engine.core.queries.team.tree import subtree_of
from engine.core.records.records import field_names
from engine.core.signals import ArchiveChecked, EngineBegan, PartRead, StateReady
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import Circuit, Escalate, Fail, Failover, FailurePolicy, Retry
from engine.core.state import (
    Agent,
    Escalation,
    Insight,
    Ledger,
    Queue,
    Run,
    RunSummary,
    State,
    Supervisor,
    Task,
    TaskStatus,
    Timer,
)
from engine.core.transfer.admission import check, try_out
from engine.core.transfer.exporting import end_attempts
from engine.reading.texts import walk
from tests.chance import release, worlds
from tests.depth import examples
from tests.exports import exported, plain, ready
from tests.legal import assert_legal
from tests.world import World, agent, team_world

some = settings(max_examples=examples(4), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def imported(found: tuple[State, list[JsonValue]], *, into: World | None = None, paused: bool = False) -> World:
    """Take a state into a world, an empty one where none is given."""
    world = into if into is not None else World()
    world.say(EngineBegan(pid=2, token=3, version="test"))
    world.say(ready(*found, paused=paused))
    assert "state_imported" in {event.type for event in world.journal}
    return world


def let_go_on(world: World) -> None:
    """Resume everything that is paused, let all code be found, and let all work end."""
    release(world)
    world.settle()


@some
@given(worlds())
def test_every_state_is_sound_in_an_export(world: World) -> None:
    state, texts = exported(world)

    archive = read_state(complete_state(state, texts))
    assert archive.state == state
    assert read_document(archive.body, texts).state == state


@some
@given(worlds())
def test_a_state_is_the_same_after_a_round_trip(world: World) -> None:
    state, texts = exported(world)

    again, texts_again = exported(imported((state, texts), paused=True))

    if not at_rest_follows_up(world.state):
        assert write_document(again, texts_again).sha256 == write_document(state, texts).sha256
        assert sorted(map(str, texts_again)) == sorted(map(str, texts))


def at_rest(world: World) -> State:
    """Return the state as it would be with every attempt lost."""
    state = decode_state(encode_state(world.state))
    end_attempts(state)
    return state


def at_rest_follows_up(state: State) -> bool:
    """Return whether an import alone lets something end, such as an agent that was only waiting to leave."""
    return any(each.removing is not None for each in state.agents.values())


@some
@given(worlds())
def test_what_is_done_is_not_done_again_elsewhere_and_all_the_rest_is(world: World) -> None:
    rests = at_rest(world)
    ended = {task.id for task in rests.tasks.values() if task.ended}

    twin = imported(exported(world))
    let_go_on(twin)

    assert ended.isdisjoint(start.task_id for start in twin.starts)
    assert [run.id for run in twin.state.finished[: len(rests.finished)]] == [run.id for run in rests.finished]
    assert all(waits_for_nobody(twin.state, run.id) for run in twin.state.runs.values())


def waits_for_nobody(state: State, run_id: str) -> bool:
    """Return whether a run waits for a capability that nobody is left with: the one thing that time does not solve."""
    tasks = (state.tasks[task_id] for task_id in state.runs[run_id].tasks)
    return any(
        task.status is TaskStatus.WAITING and task.queue in state.queues and not state.queues[task.queue].agents
        for task in tasks
    )


@some
@given(worlds(max_turns=100))
def test_two_teams_in_one_database_are_not_mixed_up(world: World) -> None:
    host = team_world(agent("ada", "parse"), agent("bob", "write"))
    host.order(Submit(request="parse it"))
    host.order(Pause(target="r1"))
    host.crash()  # nothing of it is at work, so that the engine that takes in the other does not begin it again
    own = encode_state(State(agents=dict(host.state.agents), supervisors=dict(host.state.supervisors)))
    ids = {*host.state.supervisors, *host.state.agents, *host.state.runs, *host.state.tasks}
    rests = at_rest(world)
    counts = [len(kind) for kind in (rests.supervisors, rests.agents, rests.runs)]

    imported(exported(world), into=host, paused=True)

    brought = [len(kind) for kind in (host.state.supervisors, host.state.agents, host.state.runs)]
    assert [new - old for new, old in zip(brought, (1, 2, 1), strict=True)] == counts
    kept = State(
        agents={key: value for key, value in host.state.agents.items() if key in ids},
        supervisors={key: value for key, value in host.state.supervisors.items() if key in ids},
    )
    assert encode_state(kept) == own
    state, texts = exported(host)
    check(state, len(texts))
    try_out(state)
    assert len({root.name for root in host.state.roots}) == 1 + len(rests.roots)


def taken_in_parts(found: tuple[State, list[JsonValue]], *, into: World | None = None) -> World:
    """Take in a state as an archive comes in: what it holds, its parts, the rest."""
    world = into if into is not None else World()
    world.say(EngineBegan(pid=2, token=3, version="test"))
    archive = read_state(complete_state(*found))
    order: dict[str, Any] = {"order_id": "import", "sender": "test", "role": "operator"}
    granted = dict.fromkeys(references_in(archive.state), "")
    file: dict[str, Any] = {"path": "team.zip", "sha256": "0", "granted": granted}
    for piece in pieces(archive, at_work=into is not None):
        if isinstance(piece, Contents):
            held: dict[str, Any] = {"counts": piece.counts, "last": piece.last, "references": piece.references}
            world.say(ArchiveChecked(**order, **file, **held))
        elif isinstance(piece, Rest):
            world.say(StateReady(**order, **file, paused=True, state=piece.state, texts=[]))
        else:
            assert isinstance(piece, ArchivePart)
            before = len(world.state.tasks)
            world.say(PartRead(**order, state=piece.state, texts=piece.texts))
            assert len(world.state.tasks) == before
    assert world.state.incoming is None
    assert_legal(world.state)
    return world


@some
@given(worlds(max_turns=120))
def test_in_parts_comes_in_what_comes_in_as_a_whole(world: World) -> None:
    found = exported(world)

    whole, parts = imported(found, paused=True), taken_in_parts(found)

    assert {event.type for event in parts.journal} >= {"import_began", "state_imported"}
    assert write_document(*exported(parts)).sha256 == write_document(*exported(whole)).sha256


@some
@given(worlds(max_turns=120))
def test_in_parts_into_a_team_at_work_comes_in_what_comes_in_as_a_whole(world: World) -> None:
    found = exported(world)
    hosts = [team_world(agent("ada", "parse"), agent("bob", "write")) for _ in range(2)]
    for host in hosts:
        host.order(Submit(request="parse it"))

    whole = imported(found, into=hosts[0], paused=True)
    parts = taken_in_parts(found, into=hosts[1])

    assert list(parts.state.tasks) == list(whole.state.tasks)
    assert write_document(*exported(parts)).sha256 == write_document(*exported(whole)).sha256


@some
@given(worlds(max_turns=100))
def test_renaming_is_only_renaming(world: World) -> None:
    old, texts = exported(world)
    new = decode_state(encode_state(old))
    there: dict[str, str] = {}

    compact_ids(new)
    raise_ids(new, dict.fromkeys("sarte", 1000), used_names=())

    for kind in ("supervisors", "agents", "runs", "tasks"):
        there |= dict(zip(getattr(old, kind), getattr(new, kind), strict=True))
    assert not set(there) & set(there.values())
    assert {there[task.id]: there[task.run_id] for task in old.tasks.values()} == {
        task.id: task.run_id for task in new.tasks.values()
    }
    check(new, len(texts))
    try_out(new)


@some
@given(worlds(max_turns=120), st.data())
def test_every_part_of_every_state_stands_by_itself_and_its_work_goes_on(world: World, data: st.DataObject) -> None:
    top = data.draw(st.sampled_from(sorted(one.id for one in world.state.supervisors.values() if not one.leaving)))
    below = {one.id for one in subtree_of(world.state, world.state.supervisors[top])}
    agents = {one.id for one in world.state.agents.values() if one.supervisor_id in below}
    runs = {one.id for one in world.state.runs.values() if one.supervisor_id in below}

    found, texts = exported(world, only=top)

    part = read_state(complete_state(found, texts)).state
    leave = {one.id for one in world.state.agents.values() if one.removing is not None}
    leave |= {one.id for one in world.state.supervisors.values() if one.leaving is not None}
    # Who is being removed is gone where nothing but what is at work had kept it.
    assert below - leave <= set(part.supervisors) <= below
    assert {one for one in agents if not leave & {one, world.state.agents[one].supervisor_id}} <= set(part.agents)
    assert set(part.agents) <= agents
    assert {*part.runs, *(one.id for one in part.finished)} >= runs
    assert [root.id for root in part.roots] == [top]
    twin = imported((found, texts))
    assert_legal(twin.state)
    let_go_on(twin)
    assert all(waits_for_nobody(twin.state, run.id) for run in twin.state.runs.values())


def test_every_field_with_an_id_is_known_to_renaming() -> None:
    kinds: dict[str, type] = {
        "supervisors": Supervisor, "agents": Agent, "queues": Queue, "runs": Run, "tasks": Task, "timers": Timer,
        "finished": RunSummary, "escalations": Escalation, "ledgers": Ledger,
        "insights": Insight,
    }  # fmt: skip
    of_ids = {"members", "queue", "queues", "agents", "after", "before", "children", "calls", "tasks", "subject"}
    of_ids |= {
        "sees",
        "came_from",
        "failed_on",
        "asked_by",
        "called",
        "conversations",
        "insights",
        "asks",
        "steers",
        "spent_by",
        "last_tasks",
        "discoveries",
        "evidence",
        "readers",
        "supersedes",
        "superseded_by",
        "origin",
        "kept",
        "changes",
    }
    not_carried = {"running", "parked", "ready", "free", "open"}
    for kind, cls in kinds.items():
        known = set(field_names(cls))
        expected = {name for name in known if name.endswith("_id") or name in of_ids | {"id", "key"}}
        if kind == "finished":
            expected -= {"tasks"}
        assert set(FIELDS[kind]) == expected - not_carried, f"FIELDS[{kind!r}] of engine/core/documents/ids.py"


def test_work_at_a_step_is_exported_with_its_steps_and_begins_again_with_them() -> None:
    world = team_world(agent("ada"))
    world.order(Submit(request="count"))
    (key,) = world.started
    world.record(key, "read", "three")

    twin = imported(exported(world))

    (start,) = twin.starts
    assert start.attempt == 2
    assert start.steps == {"read": "three"}


def test_an_import_pauses_runs_and_starts_nothing_until_they_are_resumed() -> None:
    world = team_world(agent("ada"))
    world.order(Submit(request="count"))

    twin = imported(exported(world), paused=True)

    assert twin.starts == []
    twin.order(Resume(target="r1"))
    assert len(twin.starts) == 1


def test_a_back_off_goes_on_by_the_clock_of_the_other_machine() -> None:
    world = team_world(agent("ada", on_failure=[Retry(2, 10.0, 10.0)]))
    world.order(Submit(request="count"))
    world.fail(next(iter(world.started)))
    left_ms = next(iter(world.state.timers.values())).due_ms - world.state.at_ms
    twin = World()
    twin.now_ms = 5_000_000

    imported(exported(world), into=twin)

    (timer,) = twin.state.timers.values()
    assert timer.due_ms == twin.state.at_ms + left_ms
    assert twin.state.tasks[timer.subject].retry_at_ms == timer.due_ms
    assert twin.state.tasks[timer.subject].status is TaskStatus.RETRYING


def test_texts_stand_once_and_the_event_that_imports_them_is_where_they_are_found() -> None:
    long = "a long request " * 20
    world = team_world(agent("ada"), agent("bob"))
    world.order(Submit(request=long))
    world.succeed(next(iter(world.started)), long * 2)

    state, texts = exported(world)
    twin = imported((state, texts))

    assert texts == [long, long * 2]
    refs = {(ref.seq, ref.path) for ref in text_refs(twin.state)}
    assert {walk(twin.journal[seq - 1], path) for seq, path in refs} == set(texts)


def test_what_is_said_of_one_file_stays_there() -> None:
    state, _ = exported(team_world(agent("ada")))

    assert plain(state).keys().isdisjoint({"seq", "engine", "team", "trusted", "code", "declared"})
    assert state.commands == {}


def test_failure_policies_are_carried_as_what_they_are() -> None:
    chain: list[FailurePolicy] = [Retry(), Failover(), Escalate(5.0), Fail()]
    world = team_world(agent("ada"), options=SupervisorOptions(on_failure=chain))
    world.order(Submit(request="count", on_failure=chain))

    twin = imported(exported(world))

    assert next(iter(twin.state.runs.values())).on_failure == chain
    assert list(twin.state.roots[0].options.on_failure) == chain


def test_a_question_is_carried_with_its_deadline_and_can_be_answered_elsewhere() -> None:
    world = team_world(agent("ada", on_failure=[Escalate(10.0)]))
    world.order(Submit(request="count"))
    world.fail(next(iter(world.started)))
    host = team_world(agent("bob", on_failure=[Escalate()]))
    host.order(Submit(request="count"))
    host.fail(next(iter(host.started)))
    host.now_ms = 9_000_000

    imported(exported(world), into=host)

    own, brought = host.state.escalations.values()
    assert (own.id, brought.due_ms) == ("e1", host.state.at_ms + 10_000)
    host.order(Answer(escalation=brought.id, answer="use", output="three"))
    assert host.state.finished[-1].output == "three"


@pytest.mark.parametrize("clock", ["due_ms", "left_ms"])
def test_only_its_timer_says_when_an_imported_question_is_due(clock: str) -> None:
    world = team_world(agent("ada", on_failure=[Escalate(10.0)]))
    world.order(Submit(request="count"))
    world.fail(next(iter(world.started)))
    state, texts = exported(world)
    (question,) = state.escalations.values()
    assert (question.due_ms, question.left_ms) == (None, None)

    setattr(question, clock, 5)

    with pytest.raises(ImportRefused, match="worked out and never written"):
        read_state(complete_state(state, texts))


def test_a_tool_call_in_doubt_is_asked_about_elsewhere_too() -> None:
    world = team_world(agent("ada"))
    world.order(Submit(request="count"))
    world.call(next(iter(world.started)), "pay")

    twin = imported(exported(world))

    assert twin.starts == []
    (question,) = twin.state.escalations
    twin.order(Answer(escalation=question, answer="ran", output="receipt"))
    assert twin.starts[-1].steps == {"pay": "receipt"}


def test_an_open_circuit_closes_by_the_clock_of_the_other_machine() -> None:
    world = team_world(agent("ada", circuit=Circuit(1, 10.0)))
    world.order(Submit(request="count"))
    world.fail(next(iter(world.started)))
    twin = World()
    twin.now_ms = 5_000_000

    imported(exported(world), into=twin)

    (timer,) = twin.state.timers.values()
    assert timer.due_ms == twin.state.at_ms + 10_000
    assert next(iter(twin.state.agents.values())).is_shut
