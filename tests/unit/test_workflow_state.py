"""What the work of a supervisor is at, in one word."""

from hypothesis import given, settings

from engine.core.activities import Activities, activity_of_task
from engine.core.activities.workflow import workflow_state
from engine.core.commands import Pause, Resume, Submit, SupervisorSpec
from engine.core.encoding.codec import encode_state
from engine.core.queries.team.tree import subtree_of
from engine.core.signals import AgentsFound, FoundSpec
from engine.core.specs.discovery import AgentDiscoveryMode, DiscoveryConfig
from engine.core.specs.failure_policies import Escalate
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import AgentSpec, spec_hash
from engine.core.state import State, Supervisor
from tests.chance import worlds
from tests.depth import examples
from tests.story import attempt, done, submitted
from tests.world import World, agent, team_world

HELD_UP = {"suspended", "person", "doubt", "budget", "rate_limit", "backoff", "circuit", "paused"}


def at(world: World, name: str = "") -> str:
    supervisor = next(one for one in world.state.supervisors.values() if name in ("", one.name))
    return workflow_state(world.state, supervisor)


def test_work_is_executed_then_joined_then_over() -> None:
    world = team_world(agent("ada"), agent("bob"), mode="parallel")
    was = [at(world)]
    submitted(world)
    was.append(at(world))
    done(world, "ada")
    done(world, "bob")
    was.append(at(world))
    world.join(next(iter(world.joins)))

    assert [*was, at(world)] == ["idle", "executing", "aggregating", "idle"]


def test_a_synthesis_by_an_agent_aggregates_also_of_one_result() -> None:
    world = team_world(
        agent("ada"), agent("sum"), mode="parallel", aggregation="synthesis", aggregator="sum", participants=["ada"]
    )
    submitted(world)
    done(world, "ada")

    assert (attempt(world, "sum"), at(world)) == (attempt(world, "sum"), "aggregating")


def test_the_last_of_a_sequence_executes() -> None:
    world = team_world(agent("ada"), agent("bob"))
    submitted(world)
    done(world, "ada")

    assert at(world) == "executing"


def test_a_request_whose_text_is_read_before_its_graph_is_made_is_routed() -> None:
    world = team_world(SupervisorSpec(name="sub", members=[agent("ada", "parse")], auto_discover=True))
    submitted(world, "parse " * 100)
    was = at(world)
    world.read(world.reads[0])

    assert (was, at(world)) == ("routing", "executing")


def test_a_search_outside_the_team_discovers_until_a_person_is_asked_about_what_it_found() -> None:
    discovery = DiscoveryConfig(modes=(AgentDiscoveryMode.CATALOGUE,))
    world = team_world(agent("ada", "parse"), auto_discover=True, options=SupervisorOptions(discovery=discovery))
    submitted(world, "paint pictures")
    was = at(world)
    group = next(task for task in world.state.tasks.values() if task.kind == "group")
    looked = activity_of_task(world.state, group, {}, world.now_ms)
    painter = AgentSpec(name="painter", agent_type="llm", model="openai/gpt-4o", specialties=["paint", "pictures"])
    found = FoundSpec(source=AgentDiscoveryMode.CATALOGUE, id="c1", hash=spec_hash(painter), spec=painter)
    world.say(AgentsFound(task_id=group.id, text="paint pictures", found=[found]))

    assert (was, at(world)) == ("discovering", "waiting")
    assert (looked.kind, looked.words) == ("queued", "looks for agents")
    assert [search.chosen for search in world.state.supervisors["s1"].discoveries] == [["c1"]]


def test_work_that_a_pause_holds_back_waits_and_goes_on() -> None:
    world = team_world(agent("ada"))
    world.order(Pause(target="ada"))
    submitted(world)
    was = at(world)
    world.order(Resume(target="ada"))

    assert (was, at(world)) == ("waiting", "executing")


def test_a_question_waits_while_nothing_else_works() -> None:
    world = team_world(agent("ada", on_failure=(Escalate(),)), agent("bob"), mode="parallel")
    submitted(world)
    world.fail(attempt(world, "ada"))
    was = at(world)
    done(world, "bob")

    assert (was, at(world)) == ("executing", "waiting")


def test_a_supervisor_is_at_what_everything_under_it_is_at() -> None:
    teams: list[AgentSpec | SupervisorSpec] = [
        SupervisorSpec(name="busy", members=[agent("ada")]), SupervisorSpec(name="free", members=[agent("bob")])
    ]  # fmt: skip
    world = team_world(*teams)
    world.order(Submit(request="go", supervisor="busy"))

    assert [at(world, name) for name in ("", "busy", "free")] == ["executing", "executing", "idle"]


@settings(max_examples=examples(40))
@given(worlds())
def test_the_word_agrees_with_what_the_open_tasks_do(world: World) -> None:
    state = world.state
    before = encode_state(state)
    for supervisor in state.supervisors.values():
        word, kinds = workflow_state(state, supervisor), kinds_below(state, supervisor)
        assert (word == "idle") == (not kinds)
        assert (word in ("executing", "aggregating")) == bool(kinds & {"at work"})
        assert word != "routing" or not kinds <= HELD_UP
        assert not kinds or not kinds <= HELD_UP or word == "waiting"
    assert encode_state(state) == before


def kinds_below(state: State, supervisor: Supervisor) -> set[str]:
    """Return what open tasks do; with `at work` where one holds a slot, or is built-in work."""
    below, activities = {one.id for one in subtree_of(state, supervisor)}, Activities(state, {}, state.at_ms)
    tasks = [task for task in state.tasks.values() if not task.ended and task.supervisor_id in below]
    is_busy = any(task.id in agent.running for agent in state.agents.values() for task in tasks)
    is_busy |= any(task.kind in ("join", "check") and task.attempt is not None for task in tasks)
    return {*map(activities.kind_of_task, tasks), *(["at work"] if is_busy else [])}
