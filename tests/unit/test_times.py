"""Where the time of tasks and runs went, by kind."""

from engine.core.activities import Activities, parse_live
from engine.core.commands import Answer, Pause, Resume, StopEngine, Submit
from engine.core.events import EngineStarted
from engine.core.queries.work.critical_path import critical_path
from engine.core.queries.work.explain import Explanation, explain
from engine.core.queries.work.times import Times, times_of
from engine.core.signals import EngineBegan, PersonAsked
from engine.core.specs.failure_policies import Retry
from engine.core.specs.spec import AgentSpec
from engine.core.state import CriticalPart
from tests.world import World, agent, team_world

Key = tuple[str, int]


def at_work() -> tuple[World, Key]:
    """Return a world in which bob has worked for 10 ms, with his attempt."""
    world = team_world(agent("bob", "dig", on_failure=[Retry(retries=1)]))
    world.order(Submit(request="go"))
    (key,) = world.started
    world.now_ms += 10
    return world, key


def times(world: World, key: Key) -> Times:
    return times_of(world.state, world.state.tasks[key[0]], world.now_ms)


def ask(world: World, key: Key) -> None:
    """Let an attempt ask a person, and wait."""
    world.say(PersonAsked(task_id=key[0], attempt=key[1], key="why", kind="ask", question="why?", options=[]))
    world.rest(key, why="ask")


def test_the_time_that_an_attempt_waits_for_a_person_is_told_with_the_question() -> None:
    world, key = at_work()
    ask(world, key)
    world.now_ms += 500
    world.order(Answer(escalation="e1", answer="so"))
    world.want(key)
    world.now_ms += 2
    world.succeed(key)

    (summary,) = world.state.finished
    assert summary.times == {"code": 12, "person": 500}
    assert summary.critical == [
        CriticalPart(task_id=key[0], agent="bob", kind="code", ms=12),
        CriticalPart(task_id=key[0], agent="bob", kind="person", ms=500, words="e1"),
    ]


def test_a_task_that_waits_for_its_next_try_backs_off_and_then_waits_in_its_queue() -> None:
    world, key = at_work()
    world.fail(key)
    since_ms = world.now_ms
    (timer_id,) = world.timers
    world.due(timer_id)

    assert times(world, key) == {"code": 10, "backoff": world.now_ms - since_ms}


def test_a_queue_of_a_paused_agent_is_a_pause_while_it_lasts() -> None:
    world, key = at_work()
    world.order(Submit(request="more"))
    world.now_ms += 5
    world.order(Pause(target="bob"))
    world.now_ms += 7
    world.order(Resume(target="bob"))
    world.now_ms += 3
    second = next(task for task in world.state.tasks.values() if task.ready)

    assert times_of(world.state, second, world.now_ms) == {"queue": 8, "paused": 7}
    world.succeed(key)
    assert times_of(world.state, second, world.now_ms) == {"queue": 8, "paused": 7}


def test_a_question_that_waited_while_a_killed_engine_lived_waited_for_a_person() -> None:
    world, key = at_work()
    ask(world, key)
    killed_ms = world.now_ms + 52_000
    world.now_ms = killed_ms + 10_000
    (began, *_) = world.say(EngineBegan(pid=2, token=2, version="test", heard_ms=killed_ms))

    assert isinstance(began, EngineStarted)
    assert began.last_ms == killed_ms
    assert times(world, key) == {"code": 10, "person": 52_000, "suspended": 10_000}


def test_an_engine_that_stopped_is_gone_from_then_on_whatever_its_last_heartbeat_says() -> None:
    world, key = at_work()
    ask(world, key)
    world.order(StopEngine())
    world.now_ms += 5_000
    world.say(EngineBegan(pid=2, token=2, version="test", heard_ms=world.now_ms - 1_000))

    assert times(world, key) == {"code": 10, "suspended": 5_000}


def test_a_pause_of_the_run_is_a_pause_of_what_waits_in_it() -> None:
    world = team_world(agent("bob", "dig"))
    world.order(Pause(target="bob"))
    world.order(Submit(request="go"))
    world.now_ms += 4
    world.order(Pause(target="r1"))
    world.order(Resume(target="bob"))
    world.now_ms += 6
    world.order(Resume(target="r1"))
    (key,) = world.started

    assert times(world, key) == {"paused": 10}


def test_the_time_without_an_engine_is_told_also_after_a_crash() -> None:
    world, key = at_work()
    world.record(key, "step", what="tool", duration_ms=4)
    world.now_ms += 1_000
    world.crash()
    world.now_ms += 1

    assert times(world, key) == {"tool": 4, "code": 7, "suspended": 1_000}
    world.restart()
    world.now_ms += 50
    assert times(world, key)["suspended"] == 1_000


def test_a_task_that_waits_for_another_is_on_the_path_only_from_then_on() -> None:
    world = team_world(agent("bob", "dig"), agent("eve", "sum"))
    world.order(Submit(request="go"))
    for took_ms in (30, 4):
        (key,) = world.started
        world.now_ms += took_ms
        world.succeed(key)

    (summary,) = world.state.finished
    assert [(part.agent, part.kind, part.ms) for part in summary.critical] == [("bob", "code", 30), ("eve", "code", 4)]


def test_the_path_of_a_lead_goes_through_the_delegation_that_ended_last() -> None:
    world = team_world(agent("lead", "lead"), agent("bob", "dig"), agent("eve", "dig"), participants=("lead",))
    world.order(Submit(request="go"))
    (lead,) = world.started
    world.now_ms += 10
    world.record(lead, "turn:1:abc:1", what="model", duration_ms=9)
    world.ask(lead, "dig", ["here", "there"])
    world.rest(lead)
    first, second = [key for key in world.started if key != lead]
    world.now_ms += 20
    world.succeed(first)
    world.now_ms += 15
    world.succeed(second)
    world.now_ms += 1
    path = critical_path(world.state, world.state.runs["r1"], world.now_ms)

    assert path.times == {"model": 9, "code": 37}
    assert [(part.task_id, part.kind, part.ms, part.words) for part in path.parts] == [
        (lead[0], "code", 2, ""),
        (lead[0], "model", 9, "turn 1"),
        (second[0], "code", 35, ""),
    ]


PULSE = '{"chunk_ms": null, "steps": [{"what": "%s", "name": "%s", "since_ms": %d}]}'


def test_an_open_run_says_which_step_its_agent_is_at_and_counts_the_time_for_it() -> None:
    world = team_world(AgentSpec(name="critic", model="claude-x"))
    world.order(Submit(request="go"))
    ((task_id, _),) = world.started
    began_ms = world.now_ms
    now_ms = began_ms + 100_000

    def explained(what: str, name: str) -> Explanation:
        live = parse_live({f"pulse:{task_id}": PULSE % (what, name, began_ms + 10_000)})
        return explain(world.state, world.state.runs["r1"], now_ms, Activities(world.state, live, now_ms))

    at_tool, at_model = explained("tool", "call:fetch"), explained("model", "turn:7")

    assert at_tool.shares == {"tool": 90_000, "code": 10_000}
    assert [(part.kind, part.words) for part in at_tool.critical] == [("code", ""), ("tool", "fetch")]
    assert at_model.shares == {"model": 90_000, "code": 10_000}
    assert at_model.lines[0] == "at the moment: critic at turn 7 of claude-x: asks its model"
    assert at_model.lines[1] == "90 % models answered: turn 7 of critic for 1 min 30 s"
    assert explain(world.state, world.state.runs["r1"], now_ms).shares == {"model": 100_000}
