"""Why an agent's code is away: what its engine found is told until the code is here, or is another."""

import pytest

from engine.core.commands import SwapAgent
from engine.core.queries.team.able import AWAY, why_away
from engine.core.scheduler.waiting import WaitReasons
from engine.core.signals import AgentUnusable, AgentUsable, EngineBegan
from tests.legal import assert_legal
from tests.story import applied, member, submitted, works
from tests.world import World, agent, team_world

FOUND = "its code is not trusted any more; trust it again"


def away_world() -> World:
    """Return a team whose only agent has work, and whose code the engine found away."""
    world = team_world(agent("ada"))
    ada = member(world, "ada")
    world.say(AgentUnusable(agent_id=ada.id, generation=ada.generation, error=FOUND, away=True))
    submitted(world)
    return world


def test_what_waits_for_it_says_what_the_engine_found() -> None:
    world = away_world()
    (task,) = [one for one in world.state.tasks.values() if one.queue is not None]

    wait = WaitReasons(world.state).wait_of(task)

    assert wait is not None
    assert (wait.reason, wait.words) == ("agent", f"ada waits: {FOUND}")
    assert works(world) == []
    assert_legal(world.state)


def test_it_is_forgotten_when_the_code_is_here_or_is_another() -> None:
    usable, swapped = away_world(), away_world()
    ada = member(usable, "ada")
    usable.say(AgentUsable(agent_id=ada.id, generation=ada.generation))
    applied(swapped, SwapAgent(agent="ada", spec=agent("ada", timeout_s=9)))

    for world in (usable, swapped):
        one = member(world, "ada")
        assert (one.away, one.away_reason, one.error) == (False, None, None)
        assert works(world) == ["ada"]


@pytest.mark.parametrize(("bound", "reason"), [(None, FOUND), ([], None)])
def test_another_engine_keeps_it_unless_it_has_looked_for_the_code(bound: list[str] | None, reason: str | None) -> None:
    world = away_world()

    world.say(EngineBegan(pid=2, token=2, version="test", bound=bound))

    one = member(world, "ada")
    assert one.away_reason == reason
    assert why_away(one) == (reason or AWAY)
