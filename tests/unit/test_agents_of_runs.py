"""Agents that the agents of a run add to the team: so many, with names that no command takes for something else."""

import pytest

from engine.core.commands import AddAgent, Order
from engine.core.decide.teams.team import MAX_AGENTS_ADDED_PER_RUN
from engine.core.events import AgentAdded, CommandRefused, Event
from tests.story import submitted
from tests.world import World, agent, team_world

IDS_AND_WORDS = ["r1", "t23", "A4", "e5", "S6", "g7", "else", "Else", "end", "END"]
NAMES = ["elsewhere", "ender", "send", "r1x", "ar1", "r", "r-1", "helper"]


def added(world: World, name: str, run_id: str | None) -> Event:
    """Add an agent as an agent of a run does, or as a person does; return what came of it."""
    world.orders += 1
    command = AddAgent(spec=agent("spec"), name=name)
    order = Order(id=f"c{world.orders}", command=command, run_id=run_id, sender="test", granted={"crew:spec": ""})
    return next(one for one in world.say(order) if isinstance(one, AgentAdded | CommandRefused))


@pytest.mark.parametrize("name", IDS_AND_WORDS)
def test_a_run_gives_no_agent_a_name_that_is_an_id_or_a_word_of_conditions(name: str) -> None:
    world = team_world(agent("ada"))
    run_id = submitted(world)

    event = added(world, name, run_id)
    assert isinstance(event, CommandRefused)
    assert event.reason == (
        f"an agent made by an agent cannot be named {name!r}, which is an id or a word of conditions; give another"
    )
    assert isinstance(added(world, name, None), AgentAdded)


@pytest.mark.parametrize("name", NAMES)
def test_a_run_may_give_a_name_that_only_resembles_an_id(name: str) -> None:
    world = team_world(agent("ada"))

    event = added(world, name, submitted(world))

    assert isinstance(event, AgentAdded)
    assert (event.name, event.run_id) == (name, "r1")


def test_each_run_may_add_so_many_agents_and_a_person_any_number() -> None:
    world = team_world(agent("ada", max_concurrency=2))
    runs = [submitted(world), submitted(world)]
    for number in range(MAX_AGENTS_ADDED_PER_RUN):
        for run_id in (*runs, None):
            assert isinstance(added(world, f"made-by-{run_id}-{number}", run_id), AgentAdded)

    for run_id in runs:
        event = added(world, "more", run_id)
        assert isinstance(event, CommandRefused)
        assert event.reason == "this request has made 10 agents, which is the most that it may"
    assert isinstance(added(world, "more", None), AgentAdded)
