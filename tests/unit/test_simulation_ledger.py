"""The books of the simulation, which say without the core what events mean."""

from collections.abc import Callable

import pytest

from engine.core.commands import Move, SupervisorSpec
from engine.core.legality import assert_legal
from engine.simulation.ledger.team import TeamLedger
from tests.story import applied, attempt, found, submitted
from tests.world import World, agent, team_world


def served(world: World) -> dict[str, list[str]]:
    """Return who takes from each queue by capability, as the ledger has it from events alone."""
    ledger = TeamLedger()
    for event in world.journal:
        ledger.take(event)
    return ledger.served


def shared_by_teams() -> World:
    teams = [SupervisorSpec(name=name, members=[agent("ada", "sum")]) for name in ("kitchen", "cellar")]
    hall = SupervisorSpec(name="hall", members=[agent("lead", max_concurrency=9), *teams], participants=["lead"])
    world = team_world(hall, SupervisorSpec(name="new"))
    submitted(world, supervisor="hall")
    world.ask(attempt(world, "lead"), "sum", [*"abcd"])
    return world


def items_of_a_map() -> World:
    kitchen = SupervisorSpec(name="kitchen", members=[SupervisorSpec(name="grill", members=[agent("cook")])])
    old = SupervisorSpec(name="old", members=[agent("bob"), agent("cyd"), kitchen], mode="map")
    world = team_world(old, SupervisorSpec(name="new"))
    submitted(world, [*"abcdef"], supervisor="old")  # type: ignore[arg-type]
    found(world, items=6)
    return world


@pytest.mark.parametrize("made", [shared_by_teams, items_of_a_map])
def test_agents_of_a_moved_team_serve_no_queue_of_supervisors_that_they_stood_below(
    made: Callable[[], World],
) -> None:
    world = made()
    (before,) = served(world).items()

    applied(world, Move(target="kitchen", parent="new"))

    key, agents = next(iter(served(world).items()))
    assert key == before[0]
    assert len(agents) == len(before[1]) - 1
    assert {one.key: one.agents for one in world.state.queues.values() if one.key.startswith("able:")} == served(world)
    assert_legal(world.state)
