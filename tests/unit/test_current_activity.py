"""What an agent does at a moment, told in small stories; the laws are in `tests/simulation/test_activity_laws.py`."""

from engine.core.activities import Activities, CurrentActivity, Live, LiveCall, LiveStep, parse_live
from engine.core.commands import Pause
from engine.core.signals import PersonAsked
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


def test_an_agent_at_work_says_which_tool_it_calls_with_its_first_argument() -> None:
    call = LiveCall(name="fetch_page", arguments={"url": "https://a.example", "depth": 2}, since_ms=7)

    activity = does(one_hand(), Live(calls=(call,)))

    assert (activity.kind, activity.words, activity.since_ms) == ("working", "fetch_page https://a.example", 7)


def test_a_stream_is_silent_after_thirty_seconds_and_stuck_after_five_minutes() -> None:
    world = one_hand()
    step = LiveStep(what="model", name="turn:3", since_ms=world.now_ms)
    live = Live(chunk_ms=world.now_ms, steps=(step,), output="x" * 54)

    assert does(world, live, after_ms=29_000).words == "writes 54 characters"
    silent, stuck = does(world, live, after_ms=94_000), does(world, live, after_ms=5 * MINUTE_MS)

    assert (silent.kind, silent.words, silent.since_ms) == ("silent", "silent 94 s in turn 3", world.now_ms)
    assert (stuck.kind, stuck.words) == ("stuck", "silent 5 min in turn 3")


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
