"""What a model was told for a step is put together from the state and the steps before it."""

from typing import Any

from engine.core.events import StepRecorded
from engine.core.queries.work.prompts import prompt_of
from engine.core.records.keys import stem_of
from tests.story import attempt, done, submitted, task_of
from tests.world import World, agent, team_world


def step(world: World, what: Any, key: str, output: Any, **said: Any) -> StepRecorded:
    task_id, number = attempt(world, "lead")
    told = {"what": what, "name": key, "key": key, "output": output, **said}
    return StepRecorded(task_id=task_id, attempt=number, agent_id="a1", duration_ms=1, **told)


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"id": name, "name": name, "arguments": arguments}


def told(world: World, *steps: StepRecorded, of: StepRecorded | None = None) -> list[tuple[str, Any]]:
    return [(one.role, one.content) for one in prompt_of(world.state, task_of(world, "lead"), of, steps)]


def at_work() -> World:
    world = team_world(agent("lead"), agent("bob"), participants=["lead"])
    submitted(world, "first", conversation="main")
    done(world, "lead", "the first answer")
    submitted(world, "second", conversation="main")
    return world


def test_parts_earlier_runs_and_the_request_come_first() -> None:
    world = at_work()

    assert told(world, of=step(world, "model", "turn:1", {"text": "x"}, parts=["h1"])) == [
        ("part", "h1"), ("user", "first"), ("assistant", "the first answer"), ("user", "second"),
    ]  # fmt: skip


def test_results_of_tools_and_delegations_stand_behind_their_answer_in_the_order_of_its_calls() -> None:
    world, look = at_work(), call("look", at=1)
    asks: dict[str, Any] = {"worker": "bob", "instructions": "x"}
    delegated = f"{stem_of('call:delegate', asks)}:1"
    world.ask(attempt(world, "lead"), "bob", ["x"], call=delegated)
    done(world, "bob", "bob's answer")
    first = step(world, "model", "turn:1", {"calls": [call("delegate", **asks), look, look]})
    looks = [step(world, "tool", f"{stem_of('call:look', {'at': 1})}:{number}", f"seen {number}") for number in (2, 1)]
    said = told(world, first, *looks)

    assert said[-3:] == [("tool", "bob's answer"), ("tool", "seen 1"), ("tool", "seen 2")]
    assert [role for role, _ in said] == ["user", "assistant", "user", "assistant", "tool", "tool", "tool"]


def test_a_summary_that_keeps_more_than_is_recorded_drops_nothing() -> None:
    world = at_work()
    short = {"summary": "SHORT", "kept": 3}
    steps = [
        step(world, "model", "turn:1", {"text": "one"}), step(world, "model", "turn:2", {"text": "two"}),
        step(world, "compact", "compact", short),
    ]  # fmt: skip

    said = [one.content for one in prompt_of(world.state, None, None, steps)]

    assert said == [short, {"text": "one"}, {"text": "two"}]


def test_a_summary_stands_for_what_was_before_it_and_people_are_heard() -> None:
    world = at_work()
    short = {"summary": "SHORT", "kept": 1}
    answer = {"text": "kept"}
    steps = [
        step(world, "model", "turn:1", {"text": "gone"}), step(world, "model", "turn:2", answer),
        step(world, "compact", "compact", short), step(world, "code", "steered:3", ["Hurry"], steers=["m1"]),
    ]  # fmt: skip

    assert told(world, *steps) == [("user", "second"), ("summary", short), ("assistant", answer), ("steer", "Hurry")]
