"""What is spent adds up at every level, and whoever has spent a budget stops, asks or fails."""

from decimal import Decimal
from typing import Any

import pytest

from engine.core.commands import Answer, ChangeSupervisor, RetryWork, Submit, SupervisorSpec, SwapAgent
from engine.core.effects import StopAttempt
from engine.core.events import BudgetExhausted, BudgetReached
from engine.core.queries.money.budget import budgets_of, deadline_of
from engine.core.records.values import Usage
from engine.core.signals import ThreadCameBack
from engine.core.specs.limits import Limits
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import Retry
from engine.core.state import RunStatus, TaskStatus
from tests.legal import assert_legal
from tests.story import (
    applied,
    attempt,
    attempts,
    done,
    ended,
    kinds,
    member,
    only,
    refused,
    submitted,
    task_of,
    works,
)
from tests.world import World, agent, team_world

TOKENS = Limits(tokens=1_000)


def spent(tokens: int) -> Usage:
    return Usage(tokens_in=tokens)


def asks(**limits: Any) -> Limits:
    return Limits(then="ask", **limits)


def test_what_an_attempt_spends_counts_at_every_level_above_it() -> None:
    world = team_world(SupervisorSpec(name="below", members=[agent("ada")]))
    run_id = submitted(world)
    task = task_of(world, "ada")

    world.record(attempt(world, "ada"), "one", usage=Usage(tokens_in=10, tokens_out=5))
    world.succeed(attempt(world, "ada"), usage=Usage(tokens_in=1, cost_usd=Decimal("0.5"), time_ms=30))

    total = Usage(tokens_in=11, tokens_out=5, cost_usd=Decimal("0.5"), time_ms=30)
    state = world.state
    assert task.usage == total
    assert [one.usage for one in state.supervisors.values()] == [total, total]
    assert [one.begun for one in state.supervisors.values()] == [1, 1]
    assert (member(world, "ada").usage, state.usage, ended(world).usage) == (total, total, total)
    assert ended(world).id == run_id


def test_what_is_not_known_is_not_shown_as_nothing_and_adds_nothing() -> None:
    world = team_world(agent("ada", limits=TOKENS))
    submitted(world)

    world.succeed(attempt(world, "ada"), usage=Usage(time_ms=5))

    assert member(world, "ada").usage.tokens_in is None
    (budget,) = budgets_of(world.state, member(world, "ada").id)
    assert (budget.spent, budget.share) == (Decimal(0), 0.0)


def test_a_budget_is_warned_about_once() -> None:
    world = team_world(agent("ada"))
    submitted(world, limits=TOKENS)
    key = attempt(world, "ada")

    assert "budget_warned" not in kinds(world.record(key, "a", usage=spent(799)))
    warned = only(world.record(key, "b", usage=spent(1)), "budget_warned")
    assert (warned.amount, warned.spent, warned.limit) == ("tokens", 800, 1000)
    assert "budget_warned" not in kinds(world.record(key, "c", usage=spent(1)))


def test_a_run_that_has_spent_its_tokens_stops_at_the_next_step_and_keeps_what_is_done() -> None:
    world = team_world(agent("ada"), agent("bob"), agent("cyd"))
    submitted(world, limits=Limits(tokens=2_000_000))
    world.succeed(attempt(world, "ada"), "first part", usage=spent(1_000_000))

    out = only(world.record(attempt(world, "bob"), "s", usage=spent(1_014_310)), "budget_exhausted")
    assert (len(out.ended), len(out.stopping)) == (1, 1)
    assert [one.now for one in world.effects if isinstance(one, StopAttempt)] == [False]
    world.stop(attempt(world, "bob"), "second, begun")

    run = ended(world)
    assert (run.status, run.error) == (RunStatus.FAILED, "budget of 2,000,000 tokens is spent (2,014,310)")
    assert run.output == "first part"
    assert [start.agent for start in world.starts] == ["ada", "bob"]


@pytest.mark.parametrize("limit", ["run", "agent", "task"])
def test_a_budget_that_is_spent_when_an_attempt_makes_way_ends_what_waits_at_once(limit: str) -> None:
    own = {"agent": {"limits": TOKENS}, "task": {"task_limits": TOKENS}}.get(limit, {})
    world = team_world(agent("ada", **own))
    run_id = submitted(world, limits=TOKENS if limit == "run" else None)
    task = task_of(world, "ada")
    key = attempt(world, "ada")
    submitted(world, "now", priority=0)

    out = only(world.stop(key, usage=spent(1000)), "budget_exhausted")

    assert out.subject == {"run": run_id, "agent": member(world, "ada").id, "task": task.id}[limit]
    assert_legal(world.state)


@pytest.mark.parametrize("is_over", [False, True])
def test_what_a_thread_spent_that_comes_back_late_is_noticed_at_once(*, is_over: bool) -> None:
    world = team_world(agent("ada", max_concurrency=2, limits=TOKENS), agent("bob"), mode="parallel")
    run_id = submitted(world, limits=Limits(tokens=900))
    key = attempt(world, "ada")
    world.fail(key, stuck=True)
    if is_over:
        done(world, "bob")
        world.settle()
        assert not world.state.runs

    late = world.say(ThreadCameBack(agent_id=member(world, "ada").id, task_id=key[0], usage=spent(1000)))

    out = [event.subject for event in late if isinstance(event, BudgetReached | BudgetExhausted)]
    assert out == [*([] if is_over else [run_id]), member(world, "ada").id]
    assert_legal(world.state)


def test_a_run_whose_last_work_spends_the_rest_is_done() -> None:
    world = team_world(agent("ada"))
    submitted(world, limits=TOKENS)

    world.succeed(attempt(world, "ada"), usage=spent(5_000))

    assert ended(world).status is RunStatus.DONE


def test_what_a_run_and_its_supervisor_say_both_count() -> None:
    options = SupervisorOptions(run_limits=Limits(tokens=100, warn_at=0.5))
    world = team_world(agent("ada"), options=options)
    run_id = submitted(world, limits=Limits(tokens=500, cost_usd=Decimal(1)))

    found = {str(each.name): (float(each.limit), each.warn_at) for each in budgets_of(world.state, run_id)}

    assert found == {"tokens": (100.0, 0.5), "cost_usd": (1.0, 0.8)}


def test_a_task_has_the_limits_of_its_agent_or_those_inherited_from_above() -> None:
    below = SupervisorSpec(name="below", members=[agent("cyd"), agent("dan", task_limits=Limits(tokens=5))])
    world = team_world(below, mode="parallel", options=SupervisorOptions(task_limits=TOKENS))
    submitted(world)
    world.succeed(attempt(world, "cyd"))

    cyd = next(task for task in world.state.tasks.values() if task.title == "cyd")
    assert [each.limit for each in budgets_of(world.state, cyd.id)] == [1_000]
    assert [each.limit for each in budgets_of(world.state, task_of(world, "dan").id)] == [5]


def test_a_budget_of_attempts_ends_the_retries_before_one_is_scheduled() -> None:
    world = team_world(agent("ada", task_limits=Limits(attempts=2), on_failure=[Retry(9)]))
    submitted(world)
    world.fail(attempt(world, "ada"))
    world.due(next(one for one in world.timers if one.startswith("retry")))

    events = world.fail(attempt(world, "ada"), "boom")

    assert "retry_scheduled" not in kinds(events)
    assert ended(world).error == "ada: budget of 2 attempts is spent (2); it failed with: boom"


def test_a_budget_of_attempts_of_a_run_lets_nothing_more_begin() -> None:
    world = team_world(agent("ada"), agent("bob"), mode="parallel")
    submitted(world, limits=Limits(attempts=1))

    assert works(world) == ["ada"]
    bob = next(task for task in world.state.tasks.values() if task.title == "bob")
    assert bob.status is TaskStatus.CANCELLED
    assert not world.stopping
    world.succeed(attempt(world, "ada"), "half of it")
    assert (ended(world).error, ended(world).output) == ("budget of 1 attempt is spent (1)", "half of it")


def test_what_an_agent_has_begun_is_not_stopped_for_want_of_attempts() -> None:
    world = team_world(agent("ada", limits=Limits(attempts=1), max_concurrency=2), agent("bob"))
    submitted(world)
    submitted(world, "again")

    assert (works(world), world.stopping) == (["ada"], set())
    assert ended(world).error == "ada: budget of 1 attempt of ada is spent (1)"
    world.settle()
    assert ended(world).status is RunStatus.DONE


def test_with_ask_what_asks_others_waits_for_a_person_without_being_stopped() -> None:
    world = team_world(agent("ada", task_limits=asks(attempts=1)), agent("bob"), participants=["ada"])
    submitted(world)
    world.ask(attempt(world, "ada"), "bob", ["x"])
    assert (works(world), world.stopping) == (["ada"], set())

    applied(world, Answer(escalation="e1", answer="continue"))

    assert works(world) == ["ada", "bob"]
    world.settle()
    assert ended(world).status is RunStatus.DONE


def test_an_agent_that_has_spent_its_budget_gets_nothing_more_and_others_take_over() -> None:
    world = team_world(agent("ada", "parse", limits=TOKENS), agent("bob", "parse"), participants=["ada"])
    submitted(world)
    key = attempt(world, "ada")

    out = only(world.record(key, "s", usage=spent(1_000)), "budget_exhausted")
    assert (out.agent_id, out.error) == (member(world, "ada").id, "budget of 1,000 tokens of ada is spent (1,000)")
    events = world.stop(key)

    assert "attempt_set_aside" in kinds(events)
    assert works(world) == ["bob"]
    assert world.started[attempt(world, "bob")].steps == {"s": "step"}
    submitted(world, "again")
    world.settle()
    assert [run.status for run in world.state.finished] == [RunStatus.DONE, RunStatus.DONE]
    assert [start.agent for start in world.starts] == ["ada", "bob", "bob"]


def test_work_that_nobody_else_can_do_ends_with_the_budget_of_its_agent() -> None:
    world = team_world(agent("ada", limits=TOKENS), agent("bob"))
    submitted(world)
    submitted(world, "again")
    world.succeed(attempt(world, "ada"), usage=spent(2_000))
    world.settle()

    assert [run.status for run in world.state.finished] == [RunStatus.FAILED, RunStatus.DONE]
    assert world.state.finished[0].error == "ada: budget of 1,000 tokens of ada is spent (2,000)"
    assert [start.agent for start in world.starts] == ["ada", "bob"]


def test_what_is_asked_by_capability_goes_to_those_who_have_something_left() -> None:
    poor, rich = agent("bob", "parse", limits=TOKENS), agent("cyd", "parse")
    world = team_world(agent("ada"), poor, rich, participants=["ada"])
    submitted(world)
    key = attempt(world, "ada")
    world.ask(key, "parse", ["x"])
    world.succeed(attempt(world, "bob"), usage=spent(1_000))

    world.ask(key, "parse", ["y", "z"], call="k2")

    assert (len(attempts(world, "bob")), len(attempts(world, "cyd"))) == (0, 1)


def test_a_supervisor_that_has_spent_its_budget_starts_nothing_below_it_and_takes_nothing() -> None:
    below = SupervisorSpec(name="below", members=[agent("ada"), agent("bob")])
    world = team_world(below, agent("cyd"), options=SupervisorOptions(limits=TOKENS))
    submitted(world)
    world.succeed(attempt(world, "ada"), "so far", usage=spent(1_500))

    error = "budget of 1,000 tokens of chief is spent (1,500)"
    assert works(world) == []
    assert ended(world).error == f"below: bob: {error}"
    for supervisor in ("chief", "below"):
        assert error in refused(world, Submit(request="more", supervisor=supervisor))


def test_with_ask_a_run_waits_for_a_person_who_may_grant_the_same_amount_again() -> None:
    world = team_world(agent("ada"), agent("bob"), mode="parallel", max_parallel=1)
    submitted(world, limits=asks(tokens=1_000))
    key = attempt(world, "ada")

    events = world.record(key, "s", usage=spent(1_000))
    question = only(events, "escalated")
    assert question.options == ["continue", "stop", "fail"]
    assert question.question == "go: budget of 1,000 tokens is spent (1,000); may it continue?"
    world.stop(key)
    assert works(world) == []
    applied(world, Answer(escalation=question.escalation_id, answer="continue"))

    assert works(world) == ["ada"]
    assert [each.limit for each in budgets_of(world.state, "r1")] == [2_000]
    assert world.started[attempt(world, "ada")].steps == {"s": "step"}
    world.settle()
    assert ended(world).status is RunStatus.DONE


@pytest.mark.parametrize(("answer", "now"), [("stop", False), ("fail", True)])
def test_a_person_may_say_that_it_ends(answer: str, now: bool) -> None:
    world = team_world(agent("ada"), agent("bob"))
    submitted(world, limits=asks(tokens=1_000))
    key = attempt(world, "ada")
    world.record(key, "s", usage=spent(1_000))

    applied(world, Answer(escalation="e1", answer=answer))

    assert now in {one.now for one in world.effects if isinstance(one, StopAttempt)}
    world.stop(key)
    assert ended(world).error == "budget of 1,000 tokens is spent (1,000)"
    assert not world.state.escalations


def test_a_grant_is_enough_to_go_on_with() -> None:
    world = team_world(agent("ada"))
    submitted(world, limits=asks(tokens=1_000))
    key = attempt(world, "ada")
    world.record(key, "s", usage=spent(5_500))
    world.stop(key)

    events = world.order(Answer(escalation="e1", answer="continue"))

    assert only(events, "budget_extended").limit == 6_000
    assert works(world) == ["ada"]


def test_a_raise_by_an_amount_is_added_once_and_the_original_amount_is_granted_again_after_it() -> None:
    world = team_world(agent("ada"))
    submitted(world, limits=asks(tokens=1_000))
    key = attempt(world, "ada")
    world.record(key, "s", usage=spent(1_200))
    world.stop(key)

    refused = only(world.order(Answer(escalation="e1", answer="continue", amount=200)), "command_refused")
    assert refused.reason == "200 more is not enough to go on; e1 needs more than 200"
    applied(world, Answer(escalation="e1", answer="continue", amount=500))
    assert [each.limit for each in budgets_of(world.state, "r1")] == [1_500]
    key = attempt(world, "ada")
    world.record(key, "t", usage=spent(400))
    world.stop(key)
    applied(world, Answer(escalation="e2", answer="continue"))

    assert [each.limit for each in budgets_of(world.state, "r1")] == [2_500]


def test_with_ask_a_task_waits_and_the_rest_of_the_run_goes_on() -> None:
    world = team_world(agent("ada", task_limits=asks(tokens=10)), agent("bob"), mode="parallel")
    submitted(world)
    key = attempt(world, "ada")
    world.record(key, "s", usage=spent(10))
    world.stop(key)

    world.succeed(attempt(world, "bob"))
    assert (works(world), task_of_title(world, "ada").status) == ([], TaskStatus.WAITING)
    applied(world, Answer(escalation=key[0], answer="continue"))
    world.settle()

    assert ended(world).status is RunStatus.DONE


@pytest.mark.parametrize("whose", ["run", "task"])
def test_a_question_about_time_stays_where_the_attempt_says_that_it_worked_less(whose: str) -> None:
    world = team_world(agent("ada", task_limits=asks(time_s=5) if whose == "task" else None))
    submitted(world, limits=asks(time_s=5) if whose == "run" else None)
    key = attempt(world, "ada")
    world.due(next(one for one in world.timers if one.startswith("time:")))

    only(world.stop(key, usage=Usage(time_ms=4_990)), "escalated")

    assert works(world) == []
    applied(world, Answer(escalation="e1" if whose == "run" else key[0], answer="continue"))
    assert works(world) == ["ada"]


def test_a_limit_below_what_an_idle_agent_has_spent_holds_it_at_once() -> None:
    world = team_world(agent("ada"), agent("bob"), mode="parallel")
    submitted(world)
    world.record(attempt(world, "ada"), "s", usage=spent(10))
    world.settle()

    applied(world, ChangeSupervisor(supervisor="chief", options=SupervisorOptions(agent_limits=Limits(tokens=10))))
    assert [one.name for one in world.state.agents.values() if one.exhausted is not None] == ["ada"]


def task_of_title(world: World, title: str) -> Any:
    return next(task for task in world.state.tasks.values() if task.title == title)


def test_with_ask_an_agent_waits_and_so_does_a_supervisor() -> None:
    for limits in ({"agent_limits": asks(tokens=10)}, {"limits": asks(tokens=10)}):
        world = team_world(agent("ada"), options=SupervisorOptions(**limits))  # type: ignore[arg-type]
        submitted(world)
        submitted(world, "again")
        world.succeed(attempt(world, "ada"), usage=spent(10))
        assert (len(world.state.runs), works(world)) == (1, [])

        applied(world, Answer(escalation="e1", answer="continue"))
        assert works(world) == ["ada"]


def test_the_time_of_a_run_is_over_while_its_attempts_work() -> None:
    world = team_world(agent("ada"), agent("bob"), mode="parallel")
    run_id = submitted(world, limits=Limits(time_s=60))

    assert world.state.timers[f"time:{run_id}"].due_ms == 1_000 + 30_000
    world.now_ms += 20_000
    world.succeed(attempt(world, "bob"), usage=Usage(time_ms=20_000))
    assert "budget_exhausted" not in kinds(world.due(f"time:{run_id}"))
    assert world.state.timers[f"time:{run_id}"].due_ms == 1_000 + 40_000
    assert only(world.due(f"time:{run_id}"), "budget_reached").spent == 60
    out = only(world.stop(attempt(world, "ada")), "budget_exhausted")
    assert out.error == "budget of 60 s of work is spent (60)"

    assert ended(world).status is RunStatus.FAILED


@pytest.mark.parametrize(
    ("limit_s", "took_ms", "said"), [(0.125, 130, "0.125 s of work is spent (0.13)"), (1_000, 1e6, "1,000 s of work")]
)
def test_a_spent_time_is_told_whole_and_without_noughts_behind_it(limit_s: float, took_ms: int, said: str) -> None:
    world = team_world(agent("ada"), agent("bob"))
    submitted(world, limits=Limits(time_s=limit_s))

    world.now_ms += int(took_ms)
    out = only(world.succeed(attempt(world, "ada"), usage=Usage(time_ms=int(took_ms))), "budget_exhausted")

    assert out.error.startswith(f"budget of {said}")


def test_time_that_nothing_works_is_not_counted() -> None:
    world = team_world(agent("ada", on_failure=[Retry(1, 10.0, 10.0)]))
    run_id = submitted(world, limits=Limits(time_s=5))
    world.now_ms += 1_000
    world.fail(attempt(world, "ada"), usage=Usage(time_ms=1_000))

    events = world.due(f"time:{run_id}")

    assert only(events, "budget_timed").due_ms is None
    assert [each.spent for each in budgets_of(world.state, run_id, world.now_ms)] == [1]


def test_a_supervisor_says_how_deep_delegations_nest() -> None:
    world = team_world(
        agent("ada"),
        agent("bob"),
        agent("cyd"),
        participants=["ada"],
        options=SupervisorOptions(limits=Limits(depth=1)),
    )
    submitted(world)
    world.ask(attempt(world, "ada"), "bob", ["x"])

    refusal = only(world.ask(attempt(world, "bob"), "cyd", ["x"]), "call_refused")

    assert refusal.reason == "delegations nest 1 deep; 1 is the limit"


def test_limits_that_are_set_anew_let_go_on_who_has_something_left_by_them() -> None:
    world = team_world(agent("ada", limits=asks(tokens=10)), options=SupervisorOptions(limits=TOKENS))
    submitted(world)
    submitted(world, "again")
    world.succeed(attempt(world, "ada"), usage=spent(10))
    assert works(world) == []

    richer = agent("ada", limits=asks(tokens=2_000))
    events = world.order(SwapAgent(agent="ada", spec=richer))
    assert only(events, "budget_extended").amount is None
    assert (works(world), world.state.escalations) == (["ada"], {})
    world.record(attempt(world, "ada"), "s", usage=spent(990))
    assert "is spent" in refused(world, Submit(request="more"))
    applied(world, ChangeSupervisor(supervisor="chief", options=SupervisorOptions(limits=Limits(tokens=9_000))))

    submitted(world, "more")
    world.settle()
    assert ended(world).status is RunStatus.DONE


def test_a_task_that_spent_its_budget_and_is_tried_again_by_hand_ends_again_unless_there_is_more() -> None:
    world = team_world(agent("ada", task_limits=Limits(tokens=10)), agent("bob"), mode="parallel")
    submitted(world)
    key = attempt(world, "ada")
    world.record(key, "s", usage=spent(10))
    world.stop(key)

    events = world.order(RetryWork(target=key[0]))

    assert "budget_exhausted" in kinds(events)
    assert attempts(world, "ada") == []


def test_a_budget_outlives_the_engine() -> None:
    world = team_world(agent("ada"))
    submitted(world, limits=asks(tokens=10))
    key = attempt(world, "ada")
    world.record(key, "s", usage=spent(10))

    world.crash()

    assert works(world) == []
    applied(world, Answer(escalation="e1", answer="continue"))
    assert world.started[attempt(world, "ada")].steps == {"s": "step"}


def test_what_can_be_shown_of_a_deadline() -> None:
    world = team_world(agent("ada"))
    run_id = submitted(world, deadline_s=10)

    found = deadline_of(world.state, run_id)

    assert found is not None
    assert (found.due_ms, found.own, found.warn_ms) == (11_000, True, 9_000)
    task = deadline_of(world.state, task_of(world, "ada").id)
    assert task is not None
    assert (task.due_ms, task.own, task.warn_ms) == (11_000, False, None)
    assert deadline_of(world.state, "t99") is None
