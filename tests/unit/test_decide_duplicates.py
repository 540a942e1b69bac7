"""A plan may say that two of its tasks are the same, and how urgent each is."""

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.core.signals import PlannedItem
from engine.core.specs.options import SupervisorOptions
from tests.depth import examples
from tests.legal import assert_legal
from tests.story import attempt, ended, submitted
from tests.world import World, agent, team_world

TEXTS = st.lists(st.sampled_from("abcd"), min_size=1, max_size=8)


def planned(texts: list[str], priorities: list[int | None]) -> World:
    """Return a team whose lead has a plan carried out, in which equal texts are duplicates of the first."""
    world = team_world(agent("ada"), agent("bob"), mode="delegate", options=SupervisorOptions(lead="ada"))
    submitted(world)
    items = [
        PlannedItem(
            title=text,
            target="bob",
            input=text,
            priority=priority,
            duplicate_of=None if texts.index(text) == place else texts.index(text),
        )
        for place, (text, priority) in enumerate(zip(texts, priorities, strict=True))
    ]
    world.plan(attempt(world, "ada"), *items)
    return world


@settings(max_examples=examples(40), deadline=None)
@given(TEXTS)
def test_each_text_of_a_plan_is_begun_once_and_the_others_name_it(texts: list[str]) -> None:
    world = planned(texts, [None] * len(texts))
    tasks = [task for task in world.state.tasks.values() if task.call_key is not None]

    assert_legal(world.state)
    world.settle()

    firsts = {text: tasks[texts.index(text)].id for text in texts}
    begun = [start.task_id for start in world.starts if start.agent == "bob"]
    assert sorted(begun) == sorted(firsts.values())
    for task, text in zip(tasks, texts, strict=True):
        assert task.error == (None if task.id == firsts[text] else f"duplicate of {firsts[text]}")
    assert ended(world).status == "done"


def test_the_urgent_tasks_of_a_plan_begin_first() -> None:
    world = planned(["late", "usual", "now"], [8, None, 0])

    world.settle()

    titles = [start.title for start in world.starts if start.agent == "bob"]
    assert titles == ["now", "usual", "late"]
    assert_legal(world.state)
