"""Items of a map that a team below it takes, and what it gives back."""

from typing import Any

import pytest

from engine.core.commands import Pause, Resume, Steer, SupervisorSpec
from engine.core.events import ItemReturned
from engine.core.records.values import Usage
from engine.core.signals import AgentUnusable, TextRead
from engine.core.specs.limits import Limits
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import AgentSpec, Retry
from engine.core.state import RunStatus
from tests.legal import assert_legal
from tests.story import (
    applied,
    attempt,
    done,
    ended,
    found,
    kinds,
    member,
    submitted,
    works,
)  # fmt: skip
from tests.world import World, agent, team_world


def test_an_item_that_failed_on_an_agent_and_is_done_by_a_team_is_done() -> None:
    kitchen = SupervisorSpec(name="kitchen", members=[agent("cook")])
    world = team_world(agent("lead"), agent("bob", on_failure=[Retry(1, 1, 1)]), kitchen, mode="map")
    submitted(world, ["a"])  # type: ignore[arg-type]
    found(world, items=1)
    bob = member(world, "bob")
    world.fail(attempt(world, "bob"))
    world.say(AgentUnusable(agent_id=bob.id, generation=bob.generation, error="no code"))
    world.due(next(one for one in world.timers if one.startswith("retry")))
    assert works(world) == ["cook"]

    world.settle()

    assert (ended(world).status, ended(world).error) == (RunStatus.DONE, None)


def test_a_team_takes_the_next_item_when_one_of_its_agents_has_begun_with_the_last() -> None:
    kitchen = SupervisorSpec(name="kitchen", members=[agent("ada"), agent("bob")])
    world = team_world(agent("lead"), agent("cyd"), kitchen, mode="map")
    submitted(world, ["a", "b", "c", "d"])  # type: ignore[arg-type]

    events = found(world, items=4)

    assert kinds(events).count("item_taken") == 2
    assert works(world) == ["cyd", "ada"]
    assert_legal(world.state)


def test_an_item_that_was_made_to_wait_is_done_by_a_team_that_takes_it() -> None:
    world = team_world(agent("ada"), agent("bob"), SupervisorSpec(name="below", members=[agent("cyd")]), mode="map")
    submitted(world, ["a", "b", "c"])  # type: ignore[arg-type]
    found(world, items=3)
    done(world, "bob")
    assert works(world) == ["cyd", "bob"]
    submitted(world, ["now"], priority=0)  # type: ignore[arg-type]
    found(world, items=1)
    world.stop(attempt(world, "bob"))

    done(world, "cyd")

    assert_legal(world.state)
    assert sorted(works(world)) == ["bob", "cyd"]
    world.settle()
    assert [run.status for run in world.state.finished] == [RunStatus.DONE] * 2


def test_an_item_that_had_asked_for_work_when_it_was_cut_off_goes_on_at_an_agent_of_the_team_that_is_free() -> None:
    world = team_world(agent("ada"), agent("bob"), SupervisorSpec(name="below", members=[agent("cyd")]), mode="map")
    submitted(world, ["a"])  # type: ignore[arg-type]
    found(world, items=1)
    world.ask(attempt(world, "bob"), "ada", ["x"])
    applied(world, Pause(target="bob"))

    world.crash()

    assert_legal(world.state)
    assert sorted(works(world)) == ["ada", "cyd"]
    world.settle()
    assert ended(world).status is RunStatus.DONE


def test_an_item_to_which_somebody_has_said_something_keeps_it_for_an_agent_of_the_team_that_is_free() -> None:
    world = team_world(agent("ada"), agent("bob"), SupervisorSpec(name="below", members=[agent("cyd")]), mode="map")
    submitted(world, ["a"])  # type: ignore[arg-type]
    found(world, items=1)
    item, _ = attempt(world, "bob")
    applied(world, Steer(target="bob", text="leave out the appendix"))
    applied(world, Pause(target="bob"))

    world.crash()

    assert_legal(world.state)
    assert works(world) == ["cyd"]
    (steer_id,) = world.state.tasks[item].steers
    world.record(attempt(world, "cyd"), "steered:1", ["leave out the appendix"], steers=[steer_id])
    assert world.state.tasks[item].steers == {}
    world.settle()
    assert ended(world).status is RunStatus.DONE


@pytest.mark.parametrize("discovers", [False, True])
def test_an_item_that_a_paused_team_has_not_begun_goes_back_to_those_who_share_it(*, discovers: bool) -> None:
    crew: list[AgentSpec | SupervisorSpec] = [agent("ada", "counting"), agent("cook", "counting")]
    kitchen = SupervisorSpec(name="kitchen", members=crew, auto_discover=discovers)
    world = team_world(agent("lead"), agent("bob"), kitchen, mode="map")
    submitted(world, "counting", supervisor="kitchen")
    submitted(world, ["counting a", "counting b"])  # type: ignore[arg-type]
    found(world, items=2)
    assert "item_taken" in kinds(world.journal)
    left = set(world.state.tasks)

    events = world.order(Pause(target="kitchen"))

    assert_legal(world.state)
    assert "item_returned" in kinds(events)
    assert len(left - set(world.state.tasks)) == (0 if discovers else 2)  # what the team had planned for it
    (item,) = (event.task_id for event in events if isinstance(event, ItemReturned))
    assert world.say(TextRead(task_id=item, text="counting b")) == []  # of a team that was still to plan it
    done(world, "bob")
    assert works(world) == ["ada", "bob"]
    applied(world, Resume(target="kitchen"))
    world.settle()
    assert_legal(world.state)
    assert [run.status for run in world.state.finished] == [RunStatus.DONE] * 2


@pytest.mark.parametrize("then", ["ask", "stop", "fail"])
@pytest.mark.parametrize("others", [True, False])
def test_an_item_that_a_team_has_not_begun_goes_back_when_its_budget_is_spent(then: Any, *, others: bool) -> None:
    options = SupervisorOptions(limits=Limits(tokens=10, then=then))
    kitchen = SupervisorSpec(name="kitchen", members=[agent("ada"), agent("cook")], options=options)
    world = team_world(agent("lead"), kitchen, agent("bob"), mode="map")
    submitted(world, supervisor="kitchen")
    submitted(world, ["a", "b"])  # type: ignore[arg-type]
    found(world, items=2)
    if not others:
        world.say(AgentUnusable(agent_id=member(world, "bob").id, generation=1, error="no code"))
    assert "item_taken" in kinds(world.journal)

    world.record(attempt(world, "ada"), "dear", usage=Usage(tokens_in=10))
    world.stop(attempt(world, "ada"))

    assert_legal(world.state)
    gone_back = "item_returned" in kinds(world.journal)
    assert gone_back == (others or then == "ask")
    if others:
        done(world, "bob")
        assert works(world) == ["bob"]
        world.settle()
        assert ended(world).status is RunStatus.DONE
        assert_legal(world.state)


def with_a_budget_below() -> World:
    """A map over a team whose work is done by one below it, which has 10 tokens and something to do."""
    spent = SupervisorOptions(limits=Limits(tokens=10, then="stop"))
    south = SupervisorSpec(name="south", members=[agent("ada")], options=spent)
    kitchen = SupervisorSpec(name="kitchen", members=[agent("dan"), south], mode="parallel", participants=["south"])
    world = team_world(agent("lead"), kitchen, agent("bob"), mode="map")
    submitted(world, supervisor="south")
    return world


def test_an_item_does_not_go_back_where_the_same_team_would_take_it_again() -> None:
    world = with_a_budget_below()
    world.record(attempt(world, "ada"), "dear", usage=Usage(tokens_in=10))
    world.stop(attempt(world, "ada"))

    submitted(world, ["a", "b"])  # type: ignore[arg-type]
    found(world, items=2)

    assert kinds(world.journal).count("item_taken") == 1
    world.settle()
    assert "budget of 10 tokens" in str(ended(world).error)


def test_an_item_goes_back_to_others_where_all_of_the_team_that_are_able_are_paused() -> None:
    world = with_a_budget_below()
    submitted(world, ["a", "b"])  # type: ignore[arg-type]
    found(world, items=2)
    applied(world, Pause(target="dan"))

    world.record(attempt(world, "ada"), "dear", usage=Usage(tokens_in=10))
    world.stop(attempt(world, "ada"))

    assert "item_returned" in kinds(world.journal)
    world.settle()
    assert ended(world).status is RunStatus.DONE


def test_an_item_that_a_paused_team_has_begun_stays_with_it() -> None:
    kitchen = SupervisorSpec(name="kitchen", members=[agent("ada"), agent("cook")])
    world = team_world(agent("lead"), kitchen, agent("bob"), mode="map")
    submitted(world, ["a", "b"])  # type: ignore[arg-type]
    found(world, items=2)

    events = world.order(Pause(target="kitchen"))

    assert "item_returned" not in kinds(events)
    done(world, "bob")
    assert works(world) == ["ada"]
