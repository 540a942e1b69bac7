"""A member goes under another supervisor while it works."""

import pytest

from engine.core.commands import (
    AddAgent,
    AddSupervisor,
    Cancel,
    Move,
    Pause,
    RemoveMember,
    ReplaceTeam,
    Resume,
    SupervisorSpec,
    Winner,
)
from engine.core.events import MemberMoved, QueueMade, TaskRequeued
from engine.core.queries.targets import member_name
from engine.core.records.records import copy_with
from engine.core.scheduler import Schedule
from engine.core.specs.limits import Limits
from engine.core.specs.options import SupervisorOptions
from engine.core.state import RunStatus, Supervisor
from tests.legal import assert_legal
from tests.story import applied, attempt, attempts, ended, member, only, refused, submitted, works
from tests.world import World, agent, load, team_world


def supervisor(world: World, name: str) -> Supervisor:
    return next(one for one in world.state.supervisors.values() if one.name == name)


def two_teams(**below: object) -> World:
    """A lead and two workers under a chief, and two sub-supervisors with a worker each."""
    return team_world(
        agent("lead"),
        agent("ada", "sum"),
        SupervisorSpec(name="left", members=[agent("bob", "parse")], **below),  # type: ignore[arg-type]
        SupervisorSpec(name="right", members=[agent("cyd", "parse")]),
        participants=["lead"],
    )


def test_an_agent_that_moves_takes_its_work_its_slots_and_its_queue_along() -> None:
    world = two_teams()
    submitted(world)
    world.ask(attempt(world, "lead"), "bob", ["x", "y"])
    busy = attempt(world, "bob")

    applied(world, Move(target="bob", parent="right"))

    slots = Schedule.of(world.state).slots
    assert [slots[supervisor(world, one).id].running for one in ("left", "right")] == [0, 1]
    assert_legal(world.state)
    world.succeed(busy)
    assert attempt(world, "bob")[0] != busy[0]
    world.settle()
    assert ended(world).status is RunStatus.DONE


def test_a_moved_agent_takes_tasks_by_capability_where_it_is_now() -> None:
    world = two_teams()
    submitted(world)
    world.ask(attempt(world, "lead"), "sum", ["x", "y"])
    world.order(AddAgent(supervisor="left", spec=agent("dan", "sum")))
    assert works(world) == ["lead", "ada"]

    applied(world, Move(target="dan", parent="chief"))

    assert works(world) == ["lead", "ada", "dan"]


def test_what_waits_for_a_capability_that_only_the_moved_agent_has_goes_with_it() -> None:
    world = two_teams()
    submitted(world)
    world.ask(attempt(world, "lead"), "sum", ["x", "y", "z"])

    events = world.order(Move(target="ada", parent="left"))

    assert sum(isinstance(event, TaskRequeued) for event in events) == 3
    assert_legal(world.state)
    world.settle()
    assert ended(world).status is RunStatus.DONE
    assert ended(world).tasks == 4


def test_what_waits_stays_where_somebody_else_can_do_it() -> None:
    world = two_teams()
    world.order(AddAgent(supervisor="chief", spec=agent("eve", "sum")))
    submitted(world)
    world.ask(attempt(world, "lead"), "sum", ["x", "y", "z"])

    events = world.order(Move(target="ada", parent="left"))

    assert not any(isinstance(event, TaskRequeued | QueueMade) for event in events)
    world.succeed(attempt(world, "ada"))
    world.succeed(attempt(world, "eve"))
    assert works(world) == ["lead", "eve"]


def test_a_supervisor_moves_with_everything_under_it_and_its_open_graph_goes_on() -> None:
    world = team_world(
        SupervisorSpec(name="left", members=[agent("bob"), SupervisorSpec(name="deep", members=[agent("cyd")])]),
        SupervisorSpec(name="right", members=[agent("dan")]),
    )
    submitted(world, supervisor="left")

    moved = only(world.order(Move(target="deep", parent="right")), "member_moved")

    assert moved == MemberMoved(at_ms=world.now_ms, member_id="s3", parent_id="s4", previous_id="s2")
    assert [member(world, "cyd").supervisor_id, supervisor(world, "deep").parent_id] == ["s3", "s4"]
    world.settle()
    assert [start.agent for start in world.starts] == ["bob", "cyd"]
    assert ended(world).status is RunStatus.DONE


def test_a_root_may_become_the_child_of_another() -> None:
    world = team_world(agent("ada"))
    other = SupervisorSpec(name="other", members=[agent("bob")])
    world.order(AddSupervisor(parent=None, team=other))

    applied(world, Move(target="other", parent="chief"))

    assert [root.name for root in world.state.roots] == ["chief"]


@pytest.mark.parametrize(
    ("target", "parent", "reason"),
    [
        ("left", "left", "is 'left' itself or under it"),
        ("chief", "right", "is 'chief' itself or under it"),
        ("bob", "left", "bob is under left already"),
        ("right", "chief", "right is under chief already"),
        ("bob", "nobody", "no supervisor 'nobody'"),
        ("nobody", "left", "no agent 'nobody'"),
    ],
)
def test_a_move_that_makes_no_sense_is_refused(target: str, parent: str, reason: str) -> None:
    assert reason in refused(two_teams(), Move(target=target, parent=parent))


def test_a_name_that_is_in_use_there_is_refused() -> None:
    world = two_teams()
    world.order(AddAgent(supervisor="right", spec=agent("bob")))

    assert "already has a member 'bob'" in refused(world, Move(target="left/bob", parent="right"))


def test_an_agent_that_is_leaving_does_not_move() -> None:
    world = two_teams()
    submitted(world)
    world.ask(attempt(world, "lead"), "bob", ["x"])
    world.order(RemoveMember(target="bob", mode="drain"))

    assert "bob is being removed" in refused(world, Move(target="bob", parent="right"))


def test_a_supervisor_that_is_leaving_does_not_move() -> None:
    world = two_teams()
    submitted(world)
    world.ask(attempt(world, "lead"), "bob", ["x"])
    kept = SupervisorSpec(name="right", members=[agent("cyd", "parse")])
    chief = SupervisorSpec(name="chief", members=[agent("lead"), agent("ada", "sum"), kept], participants=["lead"])
    applied(world, ReplaceTeam(supervisor="chief", team=chief))

    assert "supervisor 'left' is being removed" in refused(world, Move(target="left", parent="right"))


def test_a_full_supervisor_takes_no_other_agent() -> None:
    world = two_teams(max_agents=1)

    assert "has 1 of at most 1 agents" in refused(world, Move(target="cyd", parent="left"))


def test_a_limit_on_depth_holds_for_what_is_moved_too() -> None:
    world = team_world(
        SupervisorSpec(name="left", members=[agent("bob")]),
        SupervisorSpec(name="right", members=[agent("cyd")]),
        options=SupervisorOptions(limits=Limits(depth=2)),
    )

    assert "'chief' may be 2 levels deep, itself included; this makes 3" in refused(
        world, Move(target="left", parent="right")
    )


def test_a_slot_is_counted_where_the_agent_is_when_it_comes_free() -> None:
    world = team_world(
        agent("lead"),
        SupervisorSpec(name="left", members=[agent("bob")]),
        SupervisorSpec(name="right", members=[agent("cyd")], max_parallel=1),
        participants=["lead"],
        mode="parallel",
    )
    submitted(world)
    world.ask(attempt(world, "lead"), "bob", ["x", "y"])
    applied(world, Move(target="bob", parent="right"))
    world.order(Pause(target="bob"))
    second = submitted(world, supervisor="right")

    assert attempts(world, "cyd") == []
    world.succeed(attempt(world, "bob"))

    assert world.state.tasks[attempt(world, "cyd")[0]].run_id == second
    assert_legal(world.state)


def test_what_moves_under_a_paused_supervisor_starts_nothing_until_that_goes_on() -> None:
    world = two_teams()
    world.order(Pause(target="right"))
    applied(world, Move(target="left", parent="right"))
    submitted(world, supervisor="left")
    assert works(world) == []

    world.order(Resume(target="right"))

    assert works(world) == ["bob"]


def test_a_parked_attempt_that_moved_goes_on_where_it_is_now() -> None:
    world = two_teams()
    submitted(world)
    world.ask(attempt(world, "lead"), "bob", ["x"])
    applied(world, Move(target="lead", parent="right"))

    world.succeed(attempt(world, "bob"))

    assert Schedule.of(world.state).slots[supervisor(world, "right").id].running == 1
    world.settle()
    assert ended(world).status is RunStatus.DONE


def test_a_supervisor_whose_agent_moved_away_with_its_work_stays_until_that_work_has_ended() -> None:
    world = two_teams()
    submitted(world)
    world.ask(attempt(world, "lead"), "bob", ["x"])
    applied(world, Move(target="bob", parent="right"))

    assert "part of an open run" in refused(world, RemoveMember(target="left"))
    world.settle()
    applied(world, RemoveMember(target="left"))


def test_cancelling_a_run_reaches_every_descendant_wherever_it_moved() -> None:
    world = two_teams()
    run = submitted(world)
    world.ask(attempt(world, "lead"), "bob", ["x"])
    world.ask(attempt(world, "bob"), "cyd", ["y"])
    applied(world, Move(target="left", parent="right"))

    world.order(Cancel(target=run))

    assert len(world.stopping) == 3
    world.settle()
    assert ended(world).status is RunStatus.CANCELLED


@pytest.mark.parametrize("wins", ["declared", "current"])
def test_the_team_of_a_file_stays_where_it_was_moved_when_its_file_is_loaded_again(wins: Winner) -> None:
    world = team_world(agent("ada"))
    applied(world, AddSupervisor(parent=None, team=SupervisorSpec(name="above"), declared=False))
    applied(world, Move(target="/chief", parent="/above"))

    again = load(SupervisorSpec(name="chief", members=[agent("ada"), agent("bob")]))
    world.order(copy_with(again, on_conflict=wins, prune=True))

    chief = supervisor(world, "chief")
    assert chief.parent_id == supervisor(world, "above").id
    assert [world.state.agents[one].name for one in chief.members] == ["ada", "bob"]
    assert_legal(world.state)


def test_a_file_describes_another_root_that_has_its_name_since_the_team_of_the_file_was_moved() -> None:
    world = team_world(agent("ada"))
    applied(world, AddSupervisor(parent=None, team=SupervisorSpec(name="above"), declared=False))
    applied(world, Move(target="/chief", parent="/above"))
    applied(
        world, AddSupervisor(parent=None, team=SupervisorSpec(name="chief", members=[agent("cyd")]), declared=False)
    )

    world.order(load(SupervisorSpec(name="chief", members=[agent("ada"), agent("bob")])))

    before, now = (one for one in world.state.supervisors.values() if one.name == "chief")
    names = [[world.state.agents[agent_id].name for agent_id in one.members] for one in (before, now)]
    assert (before.parent_id, now.parent_id) == (supervisor(world, "above").id, None)
    assert names == [["ada"], ["ada", "bob", "cyd"]]
    assert_legal(world.state)


@pytest.mark.parametrize(("wins", "below"), [("declared", ["bob"]), ("current", [])])
def test_a_new_member_of_a_file_gets_no_name_that_was_moved_there(wins: Winner, below: list[str]) -> None:
    world = team_world(SupervisorSpec(name="north", members=[agent("bob")]))
    applied(world, Move(target="bob", parent="/chief"))

    north = SupervisorSpec(name="north", members=[agent("bob")])
    again = load(SupervisorSpec(name="chief", members=[agent("bob", "sum"), north]))
    result = only(world.order(copy_with(again, on_conflict=wins)), "command_applied").result

    both = [supervisor(world, name).members for name in ("chief", "north")]
    names = [sorted(member_name(world.state, one) for one in members) for members in both]
    assert names == [["bob", "north"], below]
    assert len(result.get("conflicts", [])) == (2 if wins == "current" else 1)
    assert_legal(world.state)
