"""What an agent does at a moment, told in small stories; the laws are in `tests/simulation/test_activity_laws.py`."""

from engine.core.activities import Activities, CurrentActivity, Live, LiveCall, LiveProcess, LiveStep, parse_live
from engine.core.commands import Pause
from engine.core.signals import PersonAsked, StepFinished
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


def test_a_paused_agent_at_work_is_pausing_until_its_next_step() -> None:
    world = one_hand()
    applied(world, Pause(target="ada"))

    assert does(world).kind == "pausing"


def test_live_texts_that_are_damaged_are_left_out() -> None:
    live = parse_live({"pulse:t1": "{", "call:t1": '[{"name": "ls", "arguments": [], "since_ms": 1}]'})

    assert live["t1"] == Live(calls=(LiveCall(name="ls", arguments=[], since_ms=1),))
