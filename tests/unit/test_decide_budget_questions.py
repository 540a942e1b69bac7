"""Questions about a budget that is spent: asked once, answered once, and never in the place of another."""

from typing import Any

import pytest

from engine.core.commands import Answer, SwapAgent
from engine.core.events import BudgetExhausted
from engine.core.records.values import Usage
from engine.core.scheduler.waiting import WaitReasons
from engine.core.specs.limits import Limits
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import Escalate, Retry
from engine.core.state import RunStatus
from tests.story import (
    applied,
    attempt,
    attempts,
    ended,
    found,
    submitted,
    works,
)
from tests.world import World, agent, team_world


def asks(**limits: Any) -> Limits:
    return Limits(then="ask", **limits)


@pytest.mark.parametrize("answer", ["continue", "stop", "fail"])
def test_a_limit_of_who_was_to_begin_is_asked_about_once(answer: str) -> None:
    ann = agent("ann", on_failure=[Retry(1, 1, 1)])
    world = team_world(agent("eve"), ann, agent("bob", task_limits=asks(attempts=1)), mode="map")
    submitted(world, ["an item"])  # type: ignore[arg-type]
    found(world, items=1)
    (task_id, _) = attempt(world, "ann")
    world.fail((task_id, 1))
    (timer,) = world.timers
    world.due(timer)
    (question,) = world.state.escalations

    applied(world, Answer(escalation=question, answer=answer))

    assert not world.state.escalations
    assert [key[0] for key in attempts(world, "bob")] == ([task_id] if answer == "continue" else [])


def test_of_a_task_that_is_asked_about_twice_no_question_is_left_behind() -> None:
    asker = agent("ada", on_failure=[Escalate()], task_limits=asks(tokens=1_000))
    world = team_world(asker, agent("bob", "dig", max_concurrency=2), mode="parallel")
    submitted(world)
    (own,) = attempts(world, "bob")
    world.ask(attempt(world, "ada"), "dig", ["here"])
    world.fail(attempt(world, "ada"))
    world.stop(next(key for key in attempts(world, "bob") if key != own), usage=Usage(tokens_in=2_000))
    failure, budget = world.state.escalations.values()
    assert (failure.kind, budget.kind, failure.subject) == ("failure", "budget", budget.subject)

    applied(world, Answer(escalation=budget.id, answer="stop"))

    assert works(world) == ["bob"]
    assert world.state.escalations == {}


def test_work_that_is_held_while_a_person_is_asked_says_so() -> None:
    world = team_world(agent("ada"), agent("bob"), options=SupervisorOptions(run_limits=asks(tokens=10)))
    submitted(world)
    world.succeed(attempt(world, "ada"), usage=Usage(tokens_in=20))
    (held,) = [task for task in world.state.tasks.values() if task.kind == "agent" and not task.ended]

    wait = WaitReasons(world.state).wait_of(held)

    assert wait is not None
    assert (wait.reason, wait.words) == ("budget", "its budget is spent, and a person is asked")


def asking_of_both() -> World:
    """An attempt that fails while a person is asked whether its task may have another."""
    world = team_world(agent("ada", task_limits=asks(attempts=1)), agent("bob"), participants=["ada"])
    submitted(world)
    world.ask(attempt(world, "ada"), "bob", ["x"])
    assert [one.kind for one in world.state.escalations.values()] == ["budget"]
    return world


def test_a_task_that_fails_while_a_person_is_asked_for_more_fails_by_its_policies() -> None:
    world = asking_of_both()

    world.fail(attempt(world, "ada"))

    assert ended(world).status is RunStatus.FAILED
    assert not world.state.escalations


def test_a_question_about_a_failure_beside_one_about_a_budget_leaves_both_to_be_answered() -> None:
    world = asking_of_both()
    spec = agent("ada", task_limits=asks(attempts=1), on_failure=[Escalate()])
    world.order(SwapAgent(agent="ada", spec=spec))
    world.fail(attempt(world, "ada"))
    budget, failure = world.state.escalations

    world.order(Answer(escalation=failure, answer="retry"))

    assert works(world) == []
    world.order(Answer(escalation=budget, answer="continue"))
    assert works(world) == ["ada"]


def test_a_question_about_a_budget_does_not_take_the_place_of_one_about_a_failure() -> None:
    spec = agent("ada", task_limits=asks(tokens=10), on_failure=[Escalate()])
    world = team_world(spec, agent("bob"), participants=["ada"])
    submitted(world)
    lead = attempt(world, "ada")
    world.ask(lead, "bob", ["x"])
    world.fail(lead)
    world.record(attempt(world, "bob"), "one", usage=Usage(tokens_in=10))
    failure, budget = world.state.escalations.values()
    assert (failure.kind, budget.kind) == ("failure", "budget")

    world.order(Answer(escalation=failure.id, answer="use", output="by hand"))

    assert lead[0] not in world.state.tasks or world.state.tasks[lead[0]].output == "by hand"
    assert not world.state.escalations


@pytest.mark.parametrize(("answer", "then"), [("continue", "stop"), ("stop", "stop"), ("fail", "fail")])
def test_an_answer_about_a_limit_raised_since_is_about_the_one_that_holds_the_work_now(answer: str, then: str) -> None:
    world = team_world(agent("ada", max_concurrency=2, limits=asks(attempts=1)), participants=["ada"])
    submitted(world)
    world.record(attempt(world, "ada"), "dear", usage=Usage(tokens_in=20))
    submitted(world)
    (question,) = world.state.escalations
    raised = Limits(attempts=5, tokens=10, then="stop")
    applied(world, SwapAgent(agent="ada", spec=agent("ada", max_concurrency=2, limits=raised)))

    events = world.order(Answer(escalation=question, answer=answer))

    (spent,) = [event for event in events if isinstance(event, BudgetExhausted)]
    assert (spent.amount, int(spent.spent), int(spent.limit), spent.then) == ("tokens", 20, 10, then)
    assert not world.state.escalations
