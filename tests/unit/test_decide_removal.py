"""An agent leaves: its work is drained, done by another, or ended now."""

from typing import Literal

from engine.core.commands import Cancel, Pause, RemoveMember, Resume, Submit, SupervisorSpec
from engine.core.effects import StopAttempt
from engine.core.records.values import Usage
from engine.core.specs.limits import Limits
from engine.core.specs.spec import Escalate
from engine.core.state import AgentStatus, RunStatus, TaskStatus
from tests.story import applied, attempt, ended, kinds, member, only, refused, start_of, submitted, works
from tests.world import World, agent, team_world


def pair() -> World:
    """Two of a kind, one after the other."""
    world = team_world(agent("ada", "sum"), agent("bob", "sum"))
    submitted(world)
    return world


def names(world: World) -> list[str]:
    return [one.name for one in world.state.agents.values()]


def test_an_idle_agent_goes_at_once() -> None:
    world = team_world(agent("ada"), agent("bob"))

    events = world.order(RemoveMember(target="ada"))

    assert "agent_removed" in kinds(events)
    assert names(world) == ["bob"]


def test_what_becomes_of_the_work_of_a_busy_agent_has_to_be_said() -> None:
    world = pair()

    assert "drain, requeue or abort" in refused(world, RemoveMember(target="ada"))
    assert "drain, requeue or abort" in refused(world, RemoveMember(target="bob"))


def test_drained_it_ends_all_its_work_and_then_goes() -> None:
    world = pair()
    world.order(RemoveMember(target="bob", mode="drain"))
    assert member(world, "bob").status is AgentStatus.DRAINING

    world.settle()

    assert [start.agent for start in world.starts] == ["ada", "bob"]
    assert names(world) == ["ada"]
    assert ended(world).status is RunStatus.DONE


def test_a_team_keeps_the_count_of_what_agents_did_who_left_it() -> None:
    inner = SupervisorSpec(name="inner", members=[agent("ada"), agent("bob")])
    world = team_world(inner)
    chief, team = world.state.roots[0], world.state.supervisors[member(world, "ada").supervisor_id]
    submitted(world)
    world.settle()
    submitted(world)
    world.fail(attempt(world, "ada"))
    world.settle()
    counts = chief.done, chief.failed

    applied(world, RemoveMember(target="ada", mode="abort"))
    assert counts == (team.done, team.failed) == (chief.done, chief.failed)
    applied(world, RemoveMember(target="bob"))
    applied(world, RemoveMember(target="inner"))

    assert counts[0] > 1
    assert counts[1] == 1
    assert counts == (chief.done, chief.failed)


def test_drained_it_goes_when_the_last_of_its_work_is_cancelled() -> None:
    world = pair()
    world.order(RemoveMember(target="bob", mode="drain"))

    world.order(Cancel(target="r1"))

    assert names(world) == ["ada"]


def test_requeued_its_work_stops_at_the_next_step_and_is_done_by_one_with_the_same_specialty() -> None:
    world = pair()
    key = attempt(world, "ada")
    world.record(key, "read", "page")

    events = world.order(RemoveMember(target="ada", mode="requeue"))

    assert "agent_removed" not in kinds(events)
    assert [effect.now for effect in world.effects if isinstance(effect, StopAttempt)] == [False]
    moved = only(world.stop(key), "task_requeued")
    assert moved.reason == "ada is removed; bob takes over"
    assert names(world) == ["bob"]
    assert start_of(world, "bob").task_id == key[0]
    assert start_of(world, "bob").steps == {"read": "page"}


def test_aborted_its_work_is_stopped_now_and_is_done_by_another() -> None:
    world = pair()
    key = attempt(world, "ada")

    world.order(RemoveMember(target="ada", mode="abort"))

    assert [effect.now for effect in world.effects if isinstance(effect, StopAttempt)] == [True]
    world.stop(key)
    assert start_of(world, "bob").task_id == key[0]


def test_work_that_nobody_else_can_do_fails() -> None:
    world = team_world(agent("ada", "sum"), agent("bob", "sing"))
    submitted(world)
    world.order(RemoveMember(target="ada", mode="requeue"))

    failed = only(world.stop(attempt(world, "ada")), "task_failed")

    assert failed.error == "ada was removed and no other agent has one of its specialties"
    assert ended(world).status is RunStatus.FAILED


def test_tasks_that_wait_for_it_alone_move_at_once() -> None:
    world = pair()

    events = world.order(RemoveMember(target="bob", mode="requeue"))

    assert {"task_requeued", "agent_removed"} <= set(kinds(events))
    world.settle()
    assert [start.agent for start in world.starts] == ["ada", "ada"]


def test_what_was_asked_of_a_capability_is_left_to_the_others_that_have_it() -> None:
    world = team_world(agent("lead"), agent("ada", "sum"), agent("bob", "sum"), participants=["lead"])
    submitted(world)
    world.ask(attempt(world, "lead"), "sum", ["x", "y", "z"])
    key = attempt(world, "ada")

    world.order(RemoveMember(target="ada", mode="abort"))
    world.stop(key)
    world.settle()

    assert [start.agent for start in world.starts] == ["lead", "ada", "bob", "bob", "bob"]
    assert ended(world).done == 4


def test_an_agent_that_is_lost_with_its_engine_while_it_leaves_is_replaced_by_another() -> None:
    world = pair()
    key = attempt(world, "ada")
    world.order(RemoveMember(target="ada", mode="requeue"))

    world.crash()

    assert names(world) == ["bob"]
    assert start_of(world, "bob").task_id == key[0]


def test_a_drain_can_be_sharpened_and_the_same_is_not_asked_twice() -> None:
    world = pair()
    world.order(RemoveMember(target="ada", mode="drain"))

    assert "being removed already (drain)" in refused(world, RemoveMember(target="ada", mode="drain"))
    applied(world, RemoveMember(target="ada", mode="abort"))
    assert attempt(world, "ada") in world.stopping


def test_one_that_leaves_takes_part_in_no_new_request() -> None:
    world = pair()
    world.order(RemoveMember(target="bob", mode="drain"))

    planned = only(world.order(Submit(request="more")), "group_planned")

    assert [node.title for node in planned.nodes] == ["ada"]


def test_a_supervisor_goes_once_nothing_is_under_it_and_nothing_open_is_for_it() -> None:
    below = SupervisorSpec(name="below", members=[agent("cyd")])
    world = team_world(agent("ada"), below)
    assert "has 1 member;" in refused(world, RemoveMember(target="below"))
    submitted(world)
    world.order(RemoveMember(target="cyd", mode="abort"))
    assert [task.status for task in world.state.tasks.values() if task.title == "below"] == [TaskStatus.WAITING]
    assert "part of an open run" in refused(world, RemoveMember(target="below"))

    world.settle()

    assert "supervisor_removed" in kinds(world.order(RemoveMember(target="below")))


def test_the_only_root_stays() -> None:
    assert "the only root" in refused(team_world(), RemoveMember(target="chief"))


def test_when_the_last_that_names_a_capability_leaves_one_that_merely_suits_it_takes_over() -> None:
    world = team_world(
        agent("lead", "plan"), agent("ada", "parse"), agent("bob", "parse python files"), participants=["lead"]
    )
    submitted(world)
    world.ask(attempt(world, "lead"), "parse", ["one", "two"])
    assert start_of(world, "ada").input == "one"

    applied(world, RemoveMember(target="ada", mode="drain"))
    world.succeed(attempt(world, "ada"))

    assert start_of(world, "bob").input == "two"


def test_it_goes_when_what_was_left_of_its_work_ends_without_an_attempt() -> None:
    world = team_world(agent("ada", "sum", on_failure=[Escalate(60, "skip")]), agent("bob"))
    submitted(world)
    world.order(RemoveMember(target="ada", mode="drain"))
    world.fail(attempt(world, "ada"))
    assert "ada" in names(world)

    world.due(next(iter(world.timers)))

    assert names(world) == ["bob"]


def test_it_goes_from_two_queues_that_it_shares_with_one_that_has_spent_its_budget() -> None:
    skills = ("sum", "write")
    spent = agent("bob", *skills, limits=Limits(tokens=10))
    world = team_world(agent("lead"), spent, agent("ada", *skills), participants=["lead"])
    submitted(world)
    world.ask(attempt(world, "lead"), "sum", [1], call="k1")
    world.ask(attempt(world, "lead"), "write", [1], call="k2")
    for name in works(world)[1:]:
        world.succeed(attempt(world, name), usage=Usage(tokens_in=10, tokens_out=0))
    assert member(world, "bob").exhausted is not None

    assert "agent_removed" in kinds(world.order(RemoveMember(target="ada")))


def test_a_paused_agent_that_leaves_begins_none_of_its_own_work_until_it_is_resumed() -> None:
    world = team_world(agent("ada"), agent("bob"), participants=["ada"])
    submitted(world)
    submitted(world)
    applied(world, Pause(target="ada"))
    applied(world, RemoveMember(target="ada", mode="drain"))
    world.succeed(attempt(world, "ada"))
    assert works(world) == []

    applied(world, Resume(target="ada"))
    world.succeed(attempt(world, "ada"))

    assert names(world) == ["bob"]


def test_a_removal_says_what_becomes_of_the_work_that_waits() -> None:
    def said(world: World, mode: Literal["drain", "requeue"]) -> str:
        return str(only(world.order(RemoveMember(target="bob", mode=mode)), "command_applied").summary)

    paused, alone = pair(), team_world(agent("ada"), agent("bob"))
    submitted(alone)
    paused.order(Pause(target="bob"))

    assert said(pair(), "drain") == "removing bob (drain); 1 task of its own is done first"
    assert said(pair(), "requeue") == "removing bob (requeue); 1 task of its own goes to others"
    assert said(alone, "requeue") == "removing bob (requeue); 1 task of its own ends: nobody else can"
    assert said(paused, "drain") == "removing bob (drain); 1 task of it will wait, as bob is paused: a person is asked"
