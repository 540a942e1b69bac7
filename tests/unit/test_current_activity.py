"""What an agent does at a moment, told in small stories; the laws are in `tests/simulation/test_activity_laws.py`."""

from engine.core.activities import Activities, CurrentActivity, Live, LiveCall, LiveProcess, LiveStep, parse_live
from engine.core.commands import Pause, Resume, SwapAgent
from engine.core.queries.work.times import times_of
from engine.core.records.values import Usage
from engine.core.signals import PersonAsked, StepFinished
from engine.core.specs.limits import Limits
from engine.core.specs.options import SupervisorOptions
from engine.core.state import Agent
from tests.story import applied, attempt, member, submitted
from tests.world import World, agent, team_world

MINUTE_MS = 60_000


def one_hand() -> World:
    """An agent that is at work for run r1, and nothing else."""
    world = team_world(agent("ada"))
    submitted(world)
    return world


def does(world: World, live: Live | None = None, *, after_ms: int = 0) -> CurrentActivity:
    """Return what ada does, some time after the last event."""
    ada: Agent = member(world, "ada")
    records = dict.fromkeys(ada.running, live) if live is not None else {}
    return Activities(world.state, records, world.now_ms + after_ms).of_agent(ada)


def recorded(world: World, key: str) -> None:
    """Record a call of the tool `scan` that took ten seconds."""
    task_id, number = attempt(world, "ada")
    world.say(
        StepFinished(
            task_id=task_id,
            attempt=number,
            generation=1,
            what="tool",
            name="scan",
            key=key,
            output=1,
            duration_ms=10_000,
        )
    )


def test_an_agent_at_work_says_which_tool_it_calls_with_its_first_argument() -> None:
    call = LiveCall(name="fetch_page", arguments={"url": "https://a.example", "depth": 2}, since_ms=7)

    activity = does(one_hand(), Live(calls=(call,)))

    assert (activity.kind, activity.words, activity.since_ms) == ("working", "fetch_page https://a.example", 7)


def test_a_stream_is_silent_after_thirty_seconds_and_stuck_after_five_minutes() -> None:
    world = one_hand()
    step = LiveStep(what="model", name="turn:3", since_ms=world.now_ms)
    live = Live(chunk_ms=world.now_ms, steps=(step,), output="The pool is full.\n\n- It holds ten con\n|--")

    assert does(world, live, after_ms=29_000).words == "It holds ten con"
    begun = Live(chunk_ms=world.now_ms, steps=(step,), output="The pool is full. It")
    assert does(world, begun, after_ms=29_000).words == "The pool is full. It"
    silent, stuck = does(world, live, after_ms=94_000), does(world, live, after_ms=5 * MINUTE_MS)

    assert (silent.kind, silent.words, silent.since_ms) == ("silent", "silent 94 s in turn 3", world.now_ms)
    assert (stuck.kind, stuck.words) == ("stuck", "silent 5 min in turn 3")


def test_a_step_is_silent_after_three_times_what_its_slow_ones_took_once_there_are_ten() -> None:
    world = one_hand()
    for number in range(9):
        recorded(world, f"scan:{number}")
    begun_ms = world.now_ms
    live = Live(steps=(LiveStep(what="tool", name="scan", since_ms=begun_ms),))

    assert does(world, live, after_ms=299_000).kind == "working"
    assert does(world, live, after_ms=300_000).kind == "silent"
    recorded(world, "scan:9")

    assert member(world, "ada").step_ms == {"tool:scan": [10_000] * 10}
    assert does(world, live, after_ms=29_000).kind == "working"
    assert does(world, live, after_ms=30_000).kind == "silent"
    assert does(world, live, after_ms=300_000).kind == "stuck"


def test_the_options_of_the_agent_come_before_those_of_its_supervisor() -> None:
    options = SupervisorOptions(silent_s=10, stuck_s=100)
    world = team_world(agent("ada", stuck_s=20), options=options)
    submitted(world)
    live = Live(chunk_ms=world.now_ms, steps=(LiveStep(what="model", name="turn:1", since_ms=world.now_ms),))

    assert does(world, live, after_ms=9_000).kind == "working"
    assert does(world, live, after_ms=10_000).kind == "silent"
    assert does(world, live, after_ms=20_000).kind == "stuck"


def test_durations_of_twenty_kinds_of_steps_are_kept_and_all_turns_of_a_model_are_one() -> None:
    world = one_hand()
    for number in range(25):
        world.record(attempt(world, "ada"), f"turn:{number}", what="model", duration_ms=1 + number)
        world.record(attempt(world, "ada"), f"step {number}", duration_ms=7)

    step_ms = member(world, "ada").step_ms

    assert len(step_ms) == 20
    assert step_ms["model:turn"] == [*range(1, 26)]
    assert list(step_ms)[-1] == "code:step 24"


def test_a_program_without_processor_time_and_output_is_stuck() -> None:
    world = one_hand()
    live = Live(process=LiveProcess(pid=7, cpu_s=1.0, active_ms=world.now_ms))

    assert does(world, live, after_ms=299_000).kind == "working"
    assert does(world, live, after_ms=300_000).kind == "stuck"


def test_an_agent_that_asks_a_person_says_what() -> None:
    world = one_hand()
    task_id, number = attempt(world, "ada")
    question = "may it deploy?"
    world.say(
        PersonAsked(
            task_id=task_id, attempt=number, generation=1, key="ask:1", kind="ask", question=question, options=[]
        )
    )

    activity = does(world)

    assert (activity.kind, activity.words, activity.ids) == ("person", "asks: may it deploy?", ("e1",))


def test_a_paused_agent_at_work_is_pausing_since_its_pause_and_says_until_when() -> None:
    world = one_hand()
    world.now_ms += MINUTE_MS
    applied(world, Pause(target="ada"))
    paused_ms = world.now_ms

    activity = does(world, after_ms=9)
    assert (activity.kind, activity.since_ms) == ("pausing", paused_ms)
    assert activity.words == "pauses at a step or its end: go"
    recorded(world, "scan:1")
    assert does(world).words == "pauses at its next step: go"


def test_who_waits_for_the_end_of_a_pause_says_since_when_it_lasts_and_names_who_is_paused_once() -> None:
    world = one_hand()
    submitted(world, "more")
    first, second = (task for task in world.state.tasks.values() if task.kind == "agent")
    world.now_ms += MINUTE_MS
    applied(world, Pause(target="r2"))
    paused_ms = world.now_ms
    world.now_ms += MINUTE_MS

    def waits() -> CurrentActivity:
        return Activities(world.state, {}, world.now_ms).of_task(second)

    assert (waits().words, waits().since_ms) == ("its run is paused", paused_ms)
    applied(world, Resume(target="r2"))
    world.now_ms += MINUTE_MS
    applied(world, Pause(target="ada"))
    paused_ms = world.now_ms
    world.rest((first.id, 1), why="paused")
    world.now_ms += MINUTE_MS

    assert (waits().words, waits().since_ms) == ("ada is paused", paused_ms)
    run = Activities(world.state, {}, world.now_ms).of_run(world.state.runs["r2"])
    assert (run.kind, run.words) == ("paused", "ada is paused")


def test_an_attempt_that_migrates_does_not_say_that_it_ends() -> None:
    world = one_hand()
    applied(world, SwapAgent(agent="ada", spec=agent("ada", timeout_s=9), mode="migrate"))

    activity = does(world)

    assert (activity.words, activity.since_ms) == ("goes on with the new generation at its next step", None)


def test_a_task_that_waits_for_its_own_budget_is_held_by_a_budget_and_so_is_its_time() -> None:
    limits = Limits(tokens=10, then="ask")
    world = team_world(agent("ada", task_limits=limits))
    submitted(world)
    (task,) = (task for task in world.state.tasks.values() if task.kind == "agent")
    world.record((task.id, 1), "a", usage=Usage(tokens_in=20))
    world.stop((task.id, 1))
    asked_ms = world.now_ms
    world.now_ms += MINUTE_MS

    activity = Activities(world.state, {}, world.now_ms).of_task(task)

    assert (activity.kind, activity.words) == ("budget", "held by its own budget, a person is asked (e1)")
    assert activity.since_ms == asked_ms
    assert times_of(world.state, task, world.now_ms)["budget"] == MINUTE_MS


def test_live_texts_that_are_damaged_are_left_out() -> None:
    live = parse_live({"pulse:t1": "{", "call:t1": '[{"name": "ls", "arguments": [], "since_ms": 1}]'})

    assert live["t1"] == Live(calls=(LiveCall(name="ls", arguments=[], since_ms=1),))
