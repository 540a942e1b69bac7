"""Work that waits for a capability goes to the next ring when the last who was able near by goes."""

from collections.abc import Callable

import pytest

from engine.core.commands import (
    AddAgent,
    AddSupervisor,
    ChangeCapabilities,
    Move,
    Pause,
    RemoveMember,
    Resume,
    SupervisorSpec,
    SwapAgent,
    SwitchStrategy,
)
from engine.core.records.values import Usage
from engine.core.scheduler.waiting import WaitReasons
from engine.core.signals import AgentUnusable, AgentUsable
from engine.core.specs.limits import Limits
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import Circuit
from tests.legal import assert_legal
from tests.story import Key, applied, attempt, attempts, member, submitted, works
from tests.world import World, agent, team_world


def two_teams(**fields: object) -> tuple[World, Key]:
    """A lead of one team asks for three sums; its own ada is at the first, bob of the other team has nothing to do."""
    own = SupervisorSpec(name="own", members=[agent("lead"), agent("ada", "sum", **fields)], participants=["lead"])
    world = team_world(own, SupervisorSpec(name="other", members=[agent("bob", "sum")]), participants=["own"])
    submitted(world)
    lead = attempt(world, "lead")
    world.ask(lead, "sum", ["x", "y", "z"])
    assert works(world) == ["lead", "ada"]
    return world, lead


def broken(world: World, name: str) -> None:
    one = member(world, name)
    world.say(AgentUnusable(agent_id=one.id, generation=one.generation, error="no code"))


def removed(world: World) -> None:
    applied(world, RemoveMember(target="ada", mode="drain"))


def swapped(world: World) -> None:
    applied(world, SwapAgent(agent="ada", spec=agent("ada", "sing")))


def changed(world: World) -> None:
    applied(world, ChangeCapabilities(agent="ada", remove=["sum"], add=["sing"]))


@pytest.mark.parametrize("goes", [lambda world: broken(world, "ada"), removed, swapped, changed])
def test_what_waits_goes_to_another_team_when_the_last_who_was_able_goes(goes: Callable[[World], None]) -> None:
    world, _ = two_teams()

    goes(world)

    assert works(world) == ["lead", "ada", "bob"]
    assert_legal(world.state)
    world.settle()
    assert not world.state.runs


def test_what_waits_goes_on_elsewhere_while_a_circuit_is_open_or_when_a_budget_is_spent() -> None:
    failing, _ = two_teams(circuit=Circuit(1, 60.0))
    failing.fail(attempt(failing, "ada"))
    spent, _ = two_teams(limits=Limits(tokens=5))
    spent.succeed(attempt(spent, "ada"), usage=Usage(tokens_in=9))

    assert works(failing) == ["lead", "bob"]
    assert works(spent) == ["lead", "bob"]


def test_what_waits_goes_to_another_team_when_its_own_has_spent_the_budget_of_all() -> None:
    own = SupervisorSpec(name="own", members=[agent("ada", "sum")], options=SupervisorOptions(limits=Limits(tokens=5)))
    world = team_world(agent("lead"), own, participants=["lead"])
    far = SupervisorSpec(name="far", members=[SupervisorSpec(name="deep", members=[agent("bob", "sum")])])
    applied(world, AddSupervisor(parent="chief", team=far))
    submitted(world)
    world.ask(attempt(world, "lead"), "sum", ["x", "y"])

    world.succeed(attempt(world, "ada"), usage=Usage(tokens_in=9))

    assert works(world) == ["lead", "bob"]


def test_where_nobody_is_able_it_waits_and_says_for_what_until_somebody_comes() -> None:
    world, _ = two_teams()
    broken(world, "bob")
    swapped(world)
    world.succeed(attempt(world, "ada"))
    waiting = next(task for task in world.state.tasks.values() if task.title == "y")

    wait = WaitReasons(world.state).wait_of(waiting)
    assert wait is not None
    assert (wait.reason, wait.words) == ("nobody", "no agent can 'sum'; a person is asked (e1)")
    one = member(world, "bob")
    world.say(AgentUsable(agent_id=one.id, generation=one.generation))

    assert works(world) == ["lead", "bob"]


def test_a_pause_is_waited_for() -> None:
    world, _ = two_teams()
    applied(world, Pause(target="ada"))

    assert works(world) == ["lead", "ada"]
    applied(world, Resume(target="ada"))
    world.settle()
    assert [start.agent for start in world.starts] == ["lead", "ada", "ada", "ada"]


def test_a_switch_from_a_team_that_leads_keeps_its_work_where_it_is() -> None:
    team = SupervisorSpec(name="garden", members=[agent("ada", "gardening"), agent("bob")])
    world = team_world(team, agent("cook", "cooking"), mode="delegate")
    submitted(world, "gardening")

    applied(world, SwitchStrategy(mode="sequential"))
    assert_legal(world.state)
    world.settle()

    assert [start.agent for start in world.starts][:2] == ["ada", "bob"]
    assert not world.state.runs


def test_work_that_teams_share_says_why_none_of_them_begins_it_and_goes_to_the_next_who_comes() -> None:
    teams = [SupervisorSpec(name=name, members=[agent(f"{name}-ada", "sum")]) for name in ("left", "right")]
    world = team_world(agent("lead"), *teams, participants=["lead"])
    applied(world, Pause(target="left"))
    applied(world, Pause(target="right"))
    submitted(world)
    world.ask(attempt(world, "lead"), "sum", ["x", "y", "z"])
    waiting = next(task for task in world.state.tasks.values() if task.title == "y")

    wait = WaitReasons(world.state).wait_of(waiting)
    assert wait is not None
    assert (wait.reason, wait.words) == ("pause", "supervisor left is paused")
    applied(world, Resume(target="right"))
    assert works(world) == ["lead", "right-ada"]
    applied(world, AddAgent(supervisor="right", spec=agent("bob", "sum")))

    assert works(world) == ["lead", "right-ada", "bob"]
    assert_legal(world.state)


def test_work_that_teams_share_goes_to_an_agent_of_a_team_that_is_added_beside_them() -> None:
    teams = [SupervisorSpec(name=name, members=[agent(f"{name}-ada", "sum")]) for name in ("left", "right")]
    world = team_world(agent("lead"), *teams, participants=["lead"])
    submitted(world)
    world.ask(attempt(world, "lead"), "sum", [*"abcd"])
    deep = SupervisorSpec(name="deep", members=[agent("cyd", "sum")])

    applied(world, AddSupervisor(parent="chief", team=SupervisorSpec(name="new", members=[deep, agent("bob", "sum")])))

    assert works(world) == ["lead", "left-ada", "right-ada", "bob"]
    assert_legal(world.state)


def test_work_that_teams_share_goes_to_an_agent_of_a_team_that_is_moved_beside_them() -> None:
    teams = [SupervisorSpec(name=name, members=[agent(f"{name}-ada", "sum")]) for name in ("left", "right")]
    hall = SupervisorSpec(name="hall", members=[agent("lead"), *teams], participants=["lead"])
    third = SupervisorSpec(name="third", members=[agent("bob", "sum")])
    world = team_world(hall, SupervisorSpec(name="far", members=[third]))
    submitted(world, supervisor="hall")
    world.ask(attempt(world, "lead"), "sum", [*"abcd"])

    applied(world, Move(target="third", parent="hall"))

    assert works(world) == ["lead", "left-ada", "right-ada", "bob"]
    assert_legal(world.state)


def test_work_that_teams_share_goes_to_others_when_the_teams_are_moved_where_they_are_no_more_equally_near() -> None:
    teams = [SupervisorSpec(name=name, members=[agent("ada", "sum")]) for name in ("left", "right")]
    hall = SupervisorSpec(name="hall", members=[agent("lead", max_concurrency=9), *teams], participants=["lead"])
    world = team_world(hall, SupervisorSpec(name="far"))
    submitted(world, supervisor="hall")
    world.ask(attempt(world, "lead"), "sum", [*"abcdef"])

    applied(world, Move(target="left", parent="far"))
    assert_legal(world.state)
    applied(world, Move(target="right", parent="far"))

    assert_legal(world.state)
    world.settle()
    assert not world.state.runs


def test_an_urgent_task_that_teams_share_takes_the_slot_of_a_less_urgent_one_in_any_of_them() -> None:
    teams = [SupervisorSpec(name=name, members=[agent(f"{name}-ada", "sum")]) for name in ("left", "right")]
    world = team_world(agent("lead", max_concurrency=9), *teams, participants=["lead"])
    submitted(world, priority=3)
    submitted(world, priority=0)
    slow, urgent = attempts(world, "lead")
    world.ask(slow, "sum", ["x", "y"])

    world.ask(urgent, "sum", ["now"])

    (stopping,) = world.stopping
    world.stop(stopping)
    assert "now" in [start.input for start in world.started.values()]
    assert_legal(world.state)


@pytest.mark.parametrize(
    "goes",
    [
        lambda world: broken(world, "ada"),
        lambda world: world.fail(next(iter(world.started))),
        lambda world: world.succeed(next(iter(world.started)), usage=Usage(tokens_in=9)),
    ],
)
def test_what_waits_for_one_by_name_goes_to_another_of_that_name_when_it_can_work_no_more(
    goes: Callable[[World], None],
) -> None:
    near = agent("ada", limits=Limits(tokens=5), circuit=Circuit(1, 60.0))
    own = SupervisorSpec(name="own", members=[agent("lead"), near], participants=["lead"])
    world = team_world(own, SupervisorSpec(name="far", members=[agent("ada")]), participants=["own"])
    submitted(world, "first", supervisor="own")
    lead = attempt(world, "lead")
    world.ask(lead, "ada", ["x", "y"])
    del world.started[lead]
    assert [start.agent_id for start in world.started.values()] == ["a2"]

    goes(world)

    assert world.starts[-1].agent_id == "a3"
    assert_legal(world.state)


def test_what_waits_again_goes_elsewhere_when_its_own_team_has_spent_its_budget_meanwhile() -> None:
    options = SupervisorOptions(limits=Limits(tokens=5, then="ask"))
    own = SupervisorSpec(name="own", members=[agent("ada", "sum"), agent("bob", "sum")], options=options)
    world = team_world(agent("lead"), own, participants=["lead"])
    deep = SupervisorSpec(name="deep", members=[agent("eve", "sum", max_concurrency=2)])
    applied(world, AddSupervisor(parent="chief", team=SupervisorSpec(name="far", members=[deep])))
    submitted(world)
    world.ask(attempt(world, "lead"), "sum", ["x", "y"])
    world.record(attempt(world, "ada"), "read", usage=Usage(tokens_in=9))

    for stopping in sorted(world.stopping):
        world.stop(stopping)

    assert works(world) == ["lead", "eve", "eve"]
    assert_legal(world.state)


def test_what_waits_goes_to_one_that_asked_for_the_same_itself_when_the_only_other_breaks() -> None:
    world = team_world(agent("bob", "sum"), agent("lead"), agent("ada", "sum"), participants=["bob", "lead"])
    submitted(world)
    world.ask(attempt(world, "bob"), "sum", ["x"])  # of ada alone, since nobody is asked by its own attempt
    world.succeed(attempt(world, "ada"))
    world.succeed(attempt(world, "bob"))
    world.ask(attempt(world, "lead"), "sum", ["y", "z"])
    assert works(world) == ["lead", "ada"]

    broken(world, "ada")

    assert works(world) == ["lead", "ada", "bob"]
    assert_legal(world.state)


def test_what_an_attempt_asked_for_goes_to_its_agent_once_another_agent_has_taken_its_task_over() -> None:
    boss, bob = agent("boss"), agent("bob", "sum")
    world = team_world(boss, agent("ada", "sum", "lead"), agent("eve", "lead"), bob, participants=["boss"])
    submitted(world)
    world.ask(attempt(world, "boss"), "lead", ["x"])
    broken(world, "bob")
    world.ask(attempt(world, "ada"), "sum", ["y"])  # waits for bob, since nobody is asked by its own attempt
    applied(world, Pause(target="ada"))

    world.crash()
    assert works(world) == ["boss", "eve"]
    applied(world, Resume(target="ada"))

    assert works(world) == ["boss", "eve", "ada"]
    assert_legal(world.state)
