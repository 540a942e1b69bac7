"""Decides on changes of `ctx.state`: what a task that begins anew knows of the steps that it had recorded."""

from engine.core.commands import SwapAgent
from engine.core.records.values import Usage
from engine.core.state import TaskChanges
from tests.legal import assert_legal
from tests.story import applied, attempt, submitted
from tests.world import World, agent, team_world


def changed(world: World, name: str, step: str, seen: int, value: int) -> int:
    """Let an attempt of an agent change a value with a step; returns the version of the value."""
    changes: dict[str, object] = {"state_changes": {"n": [value]}, "state_versions": {"n": seen}}
    world.record(attempt(world, name), step, **changes)
    (keeper,) = world.state.agents.values()
    return keeper.kept["n"].version


def changes_of(world: World, key: tuple[str, int]) -> TaskChanges:
    changes = world.started[key].changes
    assert changes is not None
    return changes


def test_a_task_that_begins_anew_forgets_which_changes_of_its_steps_were_refused() -> None:
    world = team_world(agent("ada"))
    submitted(world)
    version = changed(world, "ada", "first", 0, 1)
    assert changed(world, "ada", "second", version + 100, 5) == version
    lost = attempt(world, "ada")
    applied(world, SwapAgent(agent="ada", spec=agent("ada", timeout_s=9), mode="abort"))

    world.stop(lost, usage=Usage())

    again = attempt(world, "ada")
    assert world.state.tasks[again[0]].steps == {}
    assert changes_of(world, again).conflicts == {}
    assert_legal(world.state)
