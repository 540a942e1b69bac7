"""Laws of activities: whatever has happened, each agent and task does one thing, and no wait for a person is idle."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.core.activities import ACTIVITY_KINDS, Activities, Live, LiveStep
from engine.core.activities.tasks import KIND_OF_WAIT
from engine.core.encoding.codec import encode_state
from engine.core.scheduler.waiting import WaitReasons
from engine.core.state import Agent, State, Task
from tests.chance import worlds
from tests.depth import examples
from tests.world import World

some = settings(max_examples=examples(12), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
HOUR_MS = 3_600_000


def tasks_of(state: State, agent: Agent) -> list[Task]:
    """Return the open tasks that an agent works on, or tried last."""
    return [task for task in state.tasks.values() if task.agent_id == agent.id and not task.ended]


@some
@given(worlds())
def test_every_agent_and_task_does_one_thing_and_looking_changes_nothing(world: World) -> None:
    state, before = world.state, encode_state(world.state)
    activities = Activities(state, {}, world.now_ms)

    shown = [activities.of_agent(agent) for agent in state.agents.values()]
    shown += [activities.of_task(task) for task in state.tasks.values()]
    shown += [activities.of_supervisor(supervisor) for supervisor in state.supervisors.values()]

    assert {activity.kind for activity in shown} <= set(ACTIVITY_KINDS)
    assert all("\n" not in activity.words and len(activity.words) <= 130 for activity in shown)
    assert encode_state(state) == before


@some
@given(st.data())
def test_an_agent_is_idle_only_without_a_question_or_open_work_of_its_own(data: st.DataObject) -> None:
    world = data.draw(worlds())
    state = world.state
    activities = Activities(state, {}, world.now_ms)
    asked = {question.subject for question in state.escalations.values()}

    for agent in state.agents.values():
        if activities.of_agent(agent).kind == "idle":
            assert not tasks_of(state, agent), agent.name
            assert not agent.running
            assert not agent.parked
            assert agent.id not in asked or agent.works


@some
@given(worlds())
def test_nothing_is_silent_in_the_past_and_everything_at_work_is_after_an_hour_without_a_sign(world: World) -> None:
    state = world.state
    past = Activities(state, {}, world.now_ms + HOUR_MS)
    steps = (LiveStep(what="model", name="turn:1", since_ms=world.now_ms),)
    present = Activities(state, {task_id: Live(steps=steps) for task_id in state.tasks}, world.now_ms + HOUR_MS)

    for task in state.tasks.values():
        assert past.of_task(task).kind not in ("silent", "stuck")
        attempt = task.attempt
        if attempt is not None and attempt.agent_id is not None and not attempt.parked:
            assert present.of_task(task).kind in ("suspended", "stuck")


@some
@given(worlds(), st.sampled_from([0, HOUR_MS]), st.booleans())
def test_the_kind_alone_is_that_of_the_activity(world: World, later_ms: int, repeats: bool) -> None:
    state = world.state
    record = Live(chunk_ms=world.now_ms, repeats="search" if repeats else "")
    live = dict.fromkeys([*state.tasks][::2], record)
    words, kinds = (Activities(state, live, world.now_ms + later_ms) for _ in range(2))

    for agent in state.agents.values():
        assert kinds.kind_of(agent) == words.of_agent(agent).kind
    for task in state.tasks.values():
        assert kinds.kind_of_task(task) == words.of_task(task).kind


@some
@given(worlds())
def test_a_task_that_waits_does_what_its_reason_says(world: World) -> None:
    state = world.state
    activities, reasons = Activities(state, {}, world.now_ms), WaitReasons(state)

    for task in state.tasks.values():
        wait = reasons.wait_of(task)
        if wait is None or task.attempt is not None or task.asks:
            continue
        activity = activities.of_task(task)
        assert activity.kind == ("suspended" if state.runs[task.run_id].suspended else KIND_OF_WAIT[wait.reason])
        assert activity.until_ms == wait.until_ms or activity.kind in ("person", "budget")


@some
@given(worlds())
def test_a_run_does_the_first_of_what_its_open_tasks_do(world: World) -> None:
    state = world.state
    activities = Activities(state, {}, world.now_ms)

    for run in state.runs.values():
        tasks = [task for task in state.tasks.values() if task.run_id == run.id and not task.ended]
        kinds = [activities.kind_of_task(task) for task in tasks if task.kind != "group"]
        if kinds:
            assert activities.of_run(run).kind == min(kinds, key=ACTIVITY_KINDS.index)


@some
@given(st.data())
def test_without_an_engine_all_open_work_is_suspended(data: st.DataObject) -> None:
    world = data.draw(worlds())
    state = world.state
    activities = Activities(state, {}, world.now_ms, working=False)

    assert {activities.of_task(task).kind for task in state.tasks.values() if not task.ended} <= {"suspended"}
    for agent in state.agents.values():
        assert activities.of_agent(agent).kind == "suspended" or not (agent.running or agent.parked)
