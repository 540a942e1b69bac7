"""The state stays small however long a team works."""

from engine.core.commands import Submit
from engine.core.encoding.codec import encode_state
from engine.core.fold.queues import MAX_IDLE_QUEUES
from engine.core.state import MAX_OUTCOMES, MAX_SUMMARIES
from tests.world import agent, team_world


def test_finished_runs_and_commands_are_remembered_up_to_a_bound() -> None:
    world = team_world(agent("ada"))
    sizes = []
    for runs in (MAX_OUTCOMES + 10, 100):
        for _ in range(runs):
            world.order(Submit(request="a request"))
            world.settle()
        sizes.append(len(encode_state(world.state)))

    assert len(world.state.finished) == MAX_SUMMARIES
    assert len(world.state.commands) == MAX_OUTCOMES
    assert not world.state.tasks
    assert sizes[1] - sizes[0] < 1_000


def test_capabilities_that_nobody_asks_for_any_more_are_forgotten() -> None:
    world = team_world(agent("ada"), agent("bob", "parse"), participants=["ada"])
    for number in range(MAX_IDLE_QUEUES + 20):
        world.order(Submit(request="a request"))
        (lead,) = world.started
        world.ask(lead, f"parse {'really ' * (number % 7)}{'!' * number}", ["x"])
        world.settle()

    assert len([key for key in world.state.queues if key.startswith("able:")]) <= MAX_IDLE_QUEUES
    assert len(world.state.agents["a2"].queues) <= MAX_IDLE_QUEUES + 2


def test_a_long_text_is_in_the_journal_and_not_in_the_state() -> None:
    world = team_world(agent("ada"), agent("bob"))
    world.order(Submit(request="long " * 50_000))
    (first,) = world.started
    world.succeed(first, "output " * 50_000)

    assert len(encode_state(world.state)) < 10_000
