"""The stream of a run says why each task was stopped, whoever stopped it."""

from collections.abc import Callable
from typing import Any

import pytest

from engine.core import events as e
from engine.core.commands import Cancel, Submit
from engine.core.records.values import Usage
from engine.core.specs.limits import Limits
from engine.core.specs.options import SupervisorOptions
from engine.core.state import State
from engine.stream.narrator import Narrator
from tests.story import attempt, task_of
from tests.world import World, agent, team_world


def told(world: World) -> dict[str, tuple[str | None, str]]:
    """Return the status and the text of the last end of each task of the first run."""
    narrator, ends = Narrator(State()), dict[str, tuple[str | None, str]]()
    narrator.run_id = "r1"
    for seq, event in enumerate(world.journal, start=1):
        for line in narrator.narrate((seq, event)):
            if line.kind == "task_ended":
                ends[line.task_id] = line.status, line.text
    return ends


def cancels(world: World) -> str:
    world.order(Cancel(target=task_of(world, "ada").id, reason="the wrong folder"))
    world.stop(attempt(world, "ada"))
    return "the wrong folder"


def cancels_the_run(world: World) -> str:
    world.order(Cancel(target="r1", reason="not today"))
    world.stop(attempt(world, "ada"))
    return "not today"


def needs_no_more(world: World) -> str:
    world.succeed(attempt(world, "bob"))
    world.stop(attempt(world, "ada"))
    return "the first answer is there"


def passes_its_deadline(world: World) -> str:
    world.due("deadline:r1")
    world.stop(attempt(world, "ada"))
    return "deadline of 60 s passed"


def spends_its_budget(world: World) -> str:
    world.record(attempt(world, "ada"), "last", usage=Usage(tokens_in=10))
    world.stop(attempt(world, "ada"))
    return "budget of 10 tokens is spent (10)"


@pytest.mark.parametrize("stop", [cancels, cancels_the_run, needs_no_more, passes_its_deadline, spends_its_budget])
def test_the_end_of_a_stopped_task_says_why(stop: Callable[[World], str]) -> None:
    options = SupervisorOptions(settings={"need": 1})
    world = team_world(agent("ada"), agent("bob"), agent("cyd", max_concurrency=1), mode="parallel", options=options)
    world.order(Submit(request="go", deadline_s=60, limits=Limits(tokens=10)))
    task = task_of(world, "ada")

    reason = stop(world)

    assert told(world)[task.id] == ("cancelled", reason)


def test_a_task_that_ends_before_it_begins_says_why() -> None:
    world = team_world(agent("ada"), agent("bob"))
    world.order(Submit(request="go", deadline_s=60))
    waiting = next(task for task in world.state.tasks.values() if task.title == "bob")

    world.due("deadline:r1")

    assert told(world)[waiting.id] == ("cancelled", "deadline of 60 s passed")


STOP = e.CancelRequested(run_id="r1", cancelled=[], stopping=["t2"], reason="not today")
ATTEMPT: dict[str, Any] = {"run_id": "r1", "task_id": "t2", "attempt": 1, "agent_id": "a1", "duration_ms": 1}
CANCELLED = e.AttemptCancelled(**ATTEMPT, partial="half")
LIMITED = e.AttemptCancelled(**ATTEMPT, partial="half", limit="deadline of 60 s passed")
FAILED = e.AttemptFailed(**ATTEMPT, error="it broke", error_type="OSError")
DONE = e.AttemptDone(**ATTEMPT, output="whole")


@pytest.mark.parametrize(
    ("events", "ends"),
    [
        ([STOP, CANCELLED], [("cancelled", "not today", "half")]),
        ([STOP, LIMITED], [("cancelled", "deadline of 60 s passed", "half")]),
        ([STOP, FAILED], [("failed", "it broke", None)]),
        ([STOP, DONE], [("done", "", "whole")]),
        ([CANCELLED], [("cancelled", "", "half")]),
        ([STOP, FAILED, CANCELLED], [("failed", "it broke", None), ("cancelled", "", "half")]),
        ([STOP, DONE, CANCELLED], [("done", "", "whole"), ("cancelled", "", "half")]),
    ],
)
def test_an_attempt_has_its_own_error_or_the_reason_of_its_own_stop(
    events: list[e.Event], ends: list[tuple[str, str, Any]]
) -> None:
    world = team_world(agent("ada"))
    world.order(Submit(request="go"))
    narrator = Narrator(State())
    narrator.run_id = "r1"
    lines = [line for heard in enumerate([*world.journal, *events], start=1) for line in narrator.narrate(heard)]

    assert task_of(world, "ada").id == "t2"
    assert [(line.status, line.text, line.result) for line in lines if line.kind == "task_ended"] == ends
