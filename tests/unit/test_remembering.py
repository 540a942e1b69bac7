"""What agents remember: kept once, bounded, found by words."""

from typing import Any

from engine.core.commands import RemoveMember
from engine.core.signals import InsightNoted, PartTold
from engine.core.state import MAX_INSIGHTS, MAX_PARTS
from tests.legal import assert_legal
from tests.story import attempt, done, member, submitted
from tests.world import World, agent, team_world


def noted(world: World, name: str, text: str, *, importance: float = 0.5, key: str = "") -> list[Any]:
    """Let the attempt of an agent remember something."""
    task_id, number = attempt(world, name)
    return world.say(
        InsightNoted(task_id=task_id, attempt=number, key=key or f"remember:{text}", text=text, importance=importance)
    )


def at_work() -> World:
    world = team_world(agent("ada"))
    submitted(world)
    return world


def test_an_insight_is_kept_with_the_step_that_says_so() -> None:
    world = at_work()
    step, kept = noted(world, "ada", "the sea is salt")

    assert (step.key, step.output) == ("remember:the sea is salt", kept.insight_id)
    assert world.state.insights[kept.insight_id].text == "the sea is salt"
    assert member(world, "ada").insights == [kept.insight_id]


def test_a_step_that_is_recorded_remembers_nothing_again() -> None:
    world = at_work()
    noted(world, "ada", "the sea is salt")
    world.restart()

    assert noted(world, "ada", "the sea is salt") == []
    assert len(world.state.insights) == 1


def test_the_least_important_is_forgotten_first_and_never_the_newest() -> None:
    world = at_work()
    for number in range(MAX_INSIGHTS):
        noted(world, "ada", f"number {number}", importance=0.1 if number == 7 else 0.5)
    noted(world, "ada", "unimportant", importance=0.0)
    noted(world, "ada", "last", importance=0.2)
    texts = [world.state.insights[one].text for one in member(world, "ada").insights]

    assert len(texts) == MAX_INSIGHTS
    assert "number 7" not in texts
    assert "unimportant" not in texts
    assert texts[-1] == "last"
    assert_legal(world.state)


def test_what_an_agent_remembers_goes_with_it() -> None:
    world = at_work()
    noted(world, "ada", "the sea is salt")
    done(world, "ada")
    world.order(RemoveMember(target="ada"))

    assert world.state.insights == {}
    assert_legal(world.state)


def test_a_part_of_a_prompt_is_written_once() -> None:
    world = at_work()

    assert len(world.say(PartTold(hash="h1", value="You are Ada."))) == 1
    assert world.say(PartTold(hash="h1", value="You are Ada.")) == []


def test_of_many_parts_the_oldest_are_forgotten() -> None:
    world = at_work()
    for number in range(MAX_PARTS + 5):
        world.say(PartTold(hash=f"h{number}", value=number))

    assert len(world.state.parts) == MAX_PARTS
    assert len(world.say(PartTold(hash="h0", value=0))) == 1
