"""Every task that waits says for what: one answer, with the numbers behind it."""

from engine.core.commands import AddAgent, Pause, RemoveMember, Resume, SetPriority, SupervisorSpec
from engine.core.scheduler import Schedule
from engine.core.scheduler.waiting import Wait, WaitReasons
from engine.core.signals import AgentUnusable, EngineEnds, PersonAsked
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import Retry
from engine.core.state import Task
from tests.bench.histories import mapped
from tests.story import applied, attempt, attempts, submitted
from tests.world import World, agent, team_world


def waits(world: World, task: Task) -> Wait:
    """Return what a task waits for."""
    found = WaitReasons(world.state).wait_of(task)
    assert found is not None
    return found


def of_run(world: World, run_id: str) -> Task:
    """Return the first task of an agent of a run, or its root where there is none."""
    tasks = [world.state.tasks[task_id] for task_id in world.state.runs[run_id].tasks]
    return next((task for task in tasks if task.kind == "agent"), tasks[0])


def one_hand() -> World:
    """An agent that is at work for run r1, and nothing else."""
    world = team_world(agent("ada"))
    submitted(world)
    return world


def test_a_task_at_work_waits_for_nothing() -> None:
    world = one_hand()

    assert WaitReasons(world.state).wait_of(of_run(world, "r1")) is None


def test_a_task_says_how_many_begin_before_it_and_how_urgent_they_are() -> None:
    world = one_hand()
    last = submitted(world)
    for priority in (1, 2, 5):
        submitted(world, priority=priority)

    wait = waits(world, of_run(world, last))

    assert (wait.reason, wait.ahead, wait.words) == ("turn", 2, "behind 2 of priority 1–2 in ada's queue")
    assert waits(world, of_run(world, "r3")).words == "next in ada's queue"
    assert waits(world, of_run(world, "r5")).ahead == 3


def test_a_task_behind_equals_says_only_how_many() -> None:
    world = one_hand()
    submitted(world)
    submitted(world)

    assert waits(world, of_run(world, "r3")).words == "behind 1 in ada's queue"


def test_a_task_in_back_off_says_until_when() -> None:
    world = team_world(agent("ada", on_failure=[Retry(2, base_s=4.0)]))
    submitted(world)
    world.fail(attempt(world, "ada"))

    wait = waits(world, of_run(world, "r1"))

    assert (wait.reason, wait.words, wait.until_ms) == ("retry", "backing off", of_run(world, "r1").retry_at_ms)


def test_a_task_says_which_tasks_and_which_runs_it_comes_after() -> None:
    world = team_world(agent("ada"), agent("bob"), agent("cyd"))
    submitted(world)
    submitted(world, after=["r1"])
    bob = next(task for task in world.state.tasks.values() if task.title == "bob")

    assert (waits(world, bob).reason, waits(world, bob).words) == ("tasks", "waits for ada")
    assert waits(world, of_run(world, "r2")) == Wait(reason="runs", words="waits for run r1", ids=("r1",))


def test_a_task_whose_delegations_are_open_counts_them_and_one_with_its_answers_waits_for_a_slot() -> None:
    world = team_world(agent("lead"), agent("ada", "sum"), participants=["lead"])
    submitted(world)
    lead = attempt(world, "lead")
    world.ask(lead, "sum", ["x"])
    assert waits(world, world.state.tasks[lead[0]]).words == "waits for 1 delegated task"

    submitted(world)
    world.succeed(attempt(world, "ada"))

    assert waits(world, world.state.tasks[lead[0]]).reason == "slot"


def test_a_pause_is_named_wherever_it_is() -> None:
    world = team_world(SupervisorSpec(name="below", members=[agent("ada")]))
    submitted(world)
    second = of_run(world, submitted(world))
    applied(world, Pause(target="ada"))
    assert waits(world, second).words == "ada is paused"
    applied(world, Pause(target="chief"))
    assert waits(world, second).words == "supervisor chief is paused"
    applied(world, Pause(target="r2"))
    assert waits(world, second) == Wait(reason="pause", words="its run is paused", ids=("r2",))


def test_an_agent_in_error_says_what_is_wrong() -> None:
    world = one_hand()
    second = of_run(world, submitted(world))
    world.say(AgentUnusable(agent_id="a1", generation=1, error="no module crew"))

    assert waits(world, second).words == "ada is in error: no module crew"


def test_a_capability_that_nobody_has_any_more_is_named() -> None:
    world = team_world(agent("lead"), agent("ada", "sum"), participants=["lead"])
    submitted(world)
    world.ask(attempt(world, "lead"), "sum", [1, 2])
    applied(world, RemoveMember(target="ada", mode="requeue"))
    world.stop(attempt(world, "ada"))

    waiting = [task for task in world.state.tasks.values() if task.queue == "able:s1:sum"]
    assert {waits(world, task).words for task in waiting} == {"no agent can 'sum'; a person is asked (e1)"}
    world.order(AddAgent(spec=agent("bob", "sum")))
    assert len(attempts(world, "bob")) == 1


def test_a_full_supervisor_and_a_full_team_say_how_full() -> None:
    world = team_world(agent("ada"), agent("bob"), participants=["ada"], max_parallel=1, mode="parallel")
    below = SupervisorSpec(name="below", members=[agent("cyd")])
    team = team_world(agent("ada"), below, participants=["ada"], options=SupervisorOptions(max_total=1))
    submitted(world)
    world.ask(attempt(world, "ada"), "bob", ["x"])
    submitted(world)
    submitted(team)
    submitted(team, supervisor="below")

    bob = next(task for task in world.state.tasks.values() if task.title == "x")
    assert WaitReasons(world.state).wait_of(bob) is None
    assert waits(world, of_run(world, "r2")).words == "supervisor chief is full: 1 of 1 at work"
    assert waits(team, of_run(team, "r2")).words == "the team of chief is full: 1 of 1 at work"
    assert waits(team, of_run(team, "r2")).reason == "team"


def test_an_urgent_task_says_who_makes_way_and_that_one_says_afterwards_that_it_did() -> None:
    world = one_hand()
    urgent = submitted(world, priority=0)
    victim = attempt(world, "ada")
    assert waits(world, of_run(world, urgent)).words == "ada makes way for it"

    world.stop(victim)

    wait = waits(world, world.state.tasks[victim[0]])
    assert (wait.words, wait.preempted, wait.ahead) == ("has made way; next in ada's queue", True, 0)


def test_without_an_engine_everything_waits_for_one() -> None:
    world = one_hand()
    second = of_run(world, submitted(world))
    world.say(EngineEnds(reason="test"))

    assert waits(world, second).reason == "engine"


def test_of_many_that_wait_each_has_a_place_of_its_own() -> None:
    state = mapped(500, 50).world.state
    reasons = WaitReasons(state)
    told = [reasons.wait_of(task) for task in state.tasks.values()]
    (queue,) = [queue for queue in state.queues.values() if queue.ready]

    places = [wait.ahead for wait in told if wait is not None and wait.ahead is not None]
    assert sorted(places) == list(range(queue.ready))
    ready = [state.tasks[task_id] for task_id in Schedule.of(state).ready(state, queue.key)]
    assert [wait.ahead for task in ready if (wait := reasons.wait_of(task)) is not None] == sorted(places)


def test_a_changed_priority_changes_the_place_that_is_told() -> None:
    world = one_hand()
    submitted(world)
    third = submitted(world)
    applied(world, SetPriority(target=third, priority=1))

    assert waits(world, of_run(world, third)).ahead == 0
    assert waits(world, of_run(world, "r2")).words == "behind 1 of priority 1 in ada's queue"


def test_what_is_left_for_an_answer_stands_still_with_its_run() -> None:
    world = one_hand()
    key = attempt(world, "ada")
    world.say(
        PersonAsked(
            task_id=key[0], attempt=1, generation=1, key="ask:1", kind="ask", question="go on?", options=["yes", "no"],
            default="no", due_s=30.0,
        )
    )  # fmt: skip
    world.rest(key, why="ask", until_ms=world.now_ms + 30_000)
    assert waits(world, of_run(world, "r1")).until_ms == world.now_ms + 30_000

    applied(world, Pause(target="r1"))
    world.now_ms += 3_600_000
    assert waits(world, of_run(world, "r1")).until_ms is None

    applied(world, Resume(target="r1"))
    assert waits(world, of_run(world, "r1")).until_ms == world.now_ms + 30_000
