"""A team that leaves ends its open work: who cannot go on is stood in for within it, and it gets nothing else."""

from collections.abc import Callable

import pytest

from engine.core.commands import RemoveMember, ReplaceTeam, SupervisorSpec, SwapAgent
from engine.core.signals import AgentUnusable
from engine.core.specs.failure_policies import Failover
from engine.core.specs.spec import AgentSpec
from tests.legal import assert_legal
from tests.story import applied, attempt, attempts, ended, member, submitted, works
from tests.world import World, agent, team_world

LEAD = agent("lead")


def nested(depth: int, *members: AgentSpec) -> SupervisorSpec:
    """Return a team with its agents so many levels down."""
    team = SupervisorSpec(name=f"level-{depth}", members=list(members), mode="parallel")
    for level in range(depth - 1, 0, -1):
        team = SupervisorSpec(name=f"level-{level}", members=[team])
    return team


def replaced(world: World) -> None:
    """Describe the chief with nobody but the lead, so that all other teams leave."""
    team = SupervisorSpec(name="chief", members=[LEAD], participants=["lead"])
    applied(world, ReplaceTeam(supervisor="chief", team=team, mode="drain"))
    assert world.state.leaving
    assert_legal(world.state)


def fails(world: World) -> None:
    world.fail(attempt(world, "ada"))


def removed(world: World) -> None:
    key = attempt(world, "ada")
    applied(world, RemoveMember(target="ada", mode="requeue"))
    world.stop(key)


def broken(world: World) -> None:
    ada = member(world, "ada")
    world.say(AgentUnusable(agent_id=ada.id, generation=ada.generation, error="no code"))
    world.fail(attempt(world, "ada"))


def swapped(world: World) -> None:
    applied(world, SwapAgent(agent="ada", spec=agent("ada", "sing")))


def at_two_sums(target: str, depth: int) -> World:
    """Return a world where ada is at the first of two sums, in a team that leaves; bob of it has nothing to do."""
    team = nested(depth, agent("ada", "sum", on_failure=[Failover()]), agent("bob", "sum", max_concurrency=2))
    world = team_world(LEAD, team, participants=["lead"])
    submitted(world)
    world.ask(attempt(world, "lead"), target, ["x", "y"])
    replaced(world)
    return world


CASES = [("ada", fails), ("ada", removed), ("sum", fails), ("sum", removed), ("sum", broken)]


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize(("target", "goes"), CASES)
def test_another_of_the_team_stands_in_for_who_cannot_go_on(
    target: str, goes: Callable[[World], None], depth: int
) -> None:
    world = at_two_sums(target, depth)

    goes(world)

    assert "bob" in works(world)
    assert_legal(world.state)
    world.settle()
    assert (ended(world).status, len([one for one in world.starts if one.agent == "bob"])) in (
        [("done", 1)] if (target, goes) == ("ada", fails) else [("done", 2)]
    )
    assert [one.name for one in world.state.supervisors.values()] == ["chief"]


@pytest.mark.parametrize("deeper", [1, 2])
@pytest.mark.parametrize("goes", [removed, broken, swapped])
def test_what_waits_is_placed_again_within_the_team(goes: Callable[[World], None], deeper: int) -> None:
    below = nested(deeper, agent("bob", "sum", max_concurrency=2))
    own = SupervisorSpec(name="own", members=[agent("ada", "sum"), below])
    world = team_world(LEAD, own, participants=["lead"])
    submitted(world, supervisor=f"level-{deeper}")
    submitted(world)
    world.ask(attempt(world, "lead"), "sum", ["x", "y"])
    replaced(world)
    assert works(world) == ["bob", "lead", "ada"]

    goes(world)

    assert len(attempts(world, "bob")) == 2
    assert_legal(world.state)
    world.settle()
    assert not world.state.leaving


def test_work_of_a_team_that_stays_does_not_wait_for_one_that_leaves() -> None:
    team = SupervisorSpec(name="own", members=[agent("bob", "sum", max_concurrency=2)])
    world = team_world(LEAD, agent("ada", "sum"), team, participants=["lead"])
    submitted(world, supervisor="own")
    submitted(world)
    world.ask(attempt(world, "lead"), "sum", ["x", "y"])
    stays = SupervisorSpec(name="chief", members=[LEAD, agent("ada", "sum")], participants=["lead"])
    applied(world, ReplaceTeam(supervisor="chief", team=stays, mode="drain"))

    broken(world)

    assert works(world) == ["bob", "lead"]
    assert_legal(world.state)
