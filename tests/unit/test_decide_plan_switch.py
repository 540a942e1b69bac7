"""A switch of the strategy while an agent has a plan carried out: its tasks become nodes together, or stay with it."""

from engine.core.commands import Cancel, SupervisorSpec, SwitchStrategy
from engine.core.signals import PlannedItem
from engine.core.specs.options import SupervisorOptions
from engine.core.state import TaskStatus
from tests.legal import assert_legal
from tests.story import applied, attempt, done, ended, submitted
from tests.world import World, agent, team_world

FACTS = PlannedItem(title="facts", target="bob", input="find")
TEXT = PlannedItem(title="text", target="cyd", input="write", after=[0])


SOUTH = SupervisorSpec(name="south", members=[agent("dan")])


def planning(*items: PlannedItem) -> World:
    options = SupervisorOptions(lead="ada")
    world = team_world(
        agent("ada"), agent("bob"), agent("cyd"), SOUTH, mode="delegate", max_parallel=3, options=options
    )
    submitted(world)
    world.plan(attempt(world, "ada"), *items)
    return world


def node(world: World, title: str) -> tuple[str | None, list[str]]:
    """Return who planned a task of the graph, and the titles of those that it comes after."""
    tasks = world.state.tasks
    found = next(one for one in tasks.values() if one.title == title)
    is_node = found.id in tasks[world.state.runs["r1"].root_id].children
    return None if is_node else found.parent_id, [tasks[one].title for one in found.after]


def test_a_plan_of_which_all_has_begun_becomes_nodes_with_their_edges() -> None:
    world = planning(FACTS, TEXT)
    done(world, "bob", "rain")

    applied(world, SwitchStrategy(mode="parallel"))

    assert node(world, "facts") == (None, [])
    assert node(world, "text") == (None, ["facts"])
    assert_legal(world.state)
    done(world, "cyd", "It rains.")
    done(world, "ada", "as asked")
    world.settle()
    assert ended(world).status == "done"


def test_a_plan_of_which_something_waits_stays_with_who_wrote_it() -> None:
    world = planning(FACTS, TEXT)
    lead = attempt(world, "ada")[0]

    applied(world, SwitchStrategy(mode="parallel"))

    assert (node(world, "facts"), node(world, "text")) == ((lead, []), (lead, ["facts"]))
    assert_legal(world.state)
    world.settle()
    assert ended(world).status == "done"


def test_what_is_done_of_a_plan_is_kept_where_who_wrote_it_is_stopped() -> None:
    world = planning(FACTS, TEXT, PlannedItem(title="check", target="cyd", input="check", after=[1]))
    done(world, "bob", "rain")

    applied(world, SwitchStrategy(mode="sequential", preserve_agent_states=False))

    tasks = {task.title: task for task in world.state.tasks.values()}
    assert (tasks["facts"].status, tasks["check"].status) == (TaskStatus.DONE, TaskStatus.SKIPPED)
    assert node(world, "facts") == (None, [])
    assert_legal(world.state)
    world.settle()
    assert ended(world).status == "done"


def test_a_team_at_work_on_a_part_of_a_plan_is_stopped_with_who_wrote_it() -> None:
    world = planning(PlannedItem(title="part", target="south", input="find"), FACTS)
    applied(world, Cancel(target=world.state.tasks[attempt(world, "bob")[0]].id))
    world.stop(attempt(world, "bob"))

    applied(world, SwitchStrategy(mode="sequential", preserve_agent_states=False))
    world.stop(attempt(world, "ada"))

    assert attempt(world, "dan") in world.stopping
    world.settle()
    assert all(task.ended for task in world.state.tasks.values())
    assert ended(world).status == "done"
