"""What a step that spends a budget asks of the others: each event whole, for every holder of a budget."""

from decimal import Decimal
from typing import Any

import pytest

from engine.core.commands import Submit, SupervisorSpec, SwapAgent
from engine.core.events import BudgetExhausted, BudgetReached, BudgetWarned
from engine.core.records.values import Usage
from engine.core.specs.limits import Limits
from engine.core.specs.options import SupervisorOptions
from tests.legal import assert_legal
from tests.story import applied, attempt, attempts, done, found, kinds, member, only, submitted
from tests.world import World, agent, team_world

GRACE = SupervisorOptions(grace_s=7)


def spend(world: World, key: tuple[str, int], tokens: int = 1_200, **usage: Any) -> list[Any]:
    return world.record(key, f"step {len(world.journal)}", usage=Usage(tokens_in=tokens, **usage))


@pytest.mark.parametrize("then", ["stop", "fail", "ask"])
@pytest.mark.parametrize("holder", ["run", "task", "agent", "supervisor"])
def test_a_spent_budget_is_reported_whole(holder: str, then: Any) -> None:
    limits = Limits(tokens=1_000, then=then)
    options = SupervisorOptions(grace_s=7, limits=limits) if holder == "supervisor" else GRACE
    own = {"agent": {"limits": limits}, "task": {"task_limits": limits}}.get(holder, {})
    world = team_world(agent("ada", max_concurrency=2, **own), options=options)
    world.now_ms += 50
    for _ in range(2):
        submitted(world, limits=limits if holder == "run" else None)
    first, second = attempts(world, "ada")

    (event,) = [one for one in spend(world, first) if isinstance(one, BudgetReached | BudgetExhausted)]

    task = world.state.tasks[first[0]]
    subject = {"run": task.run_id, "task": task.id, "agent": task.agent_id, "supervisor": "s1"}[holder]
    common: dict[str, Any] = {
        "subject": subject,
        "run_id": task.run_id if holder in ("run", "task") else None,
        "task_id": task.id if holder == "task" else None,
        "agent_id": task.agent_id if holder == "agent" else None,
        "amount": "tokens", "spent": Decimal(1_200), "limit": Decimal(1_000), "then": then, "at_ms": world.now_ms,
        "stopping": [first[0]] if holder in ("run", "task") else [first[0], second[0]],
        "reporter": first[0], "grace_ms": 7_000,
    }  # fmt: skip
    whose = {"agent": " of ada", "supervisor": " of chief"}.get(holder, "")
    is_ended = holder in ("agent", "supervisor") and then != "ask"
    error = f"budget of 1,000 tokens{whose} is spent (1,200)"
    assert event == (BudgetExhausted(**common, ended=[], error=error) if is_ended else BudgetReached(**common))
    assert_legal(world.state)


@pytest.mark.parametrize("then", ["stop", "fail", "ask"])
def test_a_budget_that_a_step_spends_ends_at_once_where_a_team_has_its_turn_still_to_come(then: Any) -> None:
    below = SupervisorSpec(name="below", members=[agent("bob")])
    world = team_world(agent("ada"), below, options=GRACE)
    submitted(world, limits=Limits(tokens=1_000, then=then))
    ada = attempt(world, "ada")

    event = only(spend(world, ada), "budget_exhausted")

    assert (event.then, event.stopping, event.reporter, event.grace_ms) == (then, [ada[0]], ada[0], 7_000)
    assert event.error == "budget of 1,000 tokens is spent (1,200)"
    assert bool(event.ended) == (then != "ask")
    assert_legal(world.state)


def test_what_a_check_has_let_through_is_work_that_is_left() -> None:
    nodes: list[Any] = [
        {"name": "draft", "agent": "ada"},
        {"name": "fix", "agent": "bob", "after": ["draft"], "when": {"contains": "x"}},
        {"name": "read", "agent": "cyd"},
        {"name": "end", "agent": "cyd", "after": ["fix", "read"]},
    ]
    world = team_world(
        agent("ada"), agent("bob"), agent("cyd"), mode="graph",
        options=SupervisorOptions(settings={"nodes": nodes, "output": "end"}),
    )  # fmt: skip
    submitted(world, limits=Limits(tokens=1_000))
    done(world, "ada", "x")
    found(world, holds=[0])
    bob, cyd = attempt(world, "bob"), attempt(world, "cyd")

    event = only(spend(world, cyd), "budget_exhausted")

    assert event.reporter == cyd[0]
    assert {*event.stopping} == {bob[0], cyd[0]}
    assert "budget_reached" not in kinds(world.journal)


def test_a_warning_of_one_amount_comes_with_the_end_of_another() -> None:
    world = team_world(agent("ada"), options=GRACE)
    submitted(world, limits=Limits(tokens=1_000, cost_usd=Decimal(2)))

    events = spend(world, attempt(world, "ada"), 900, cost_usd=Decimal(3))

    about = [(type(one), one.amount) for one in events if isinstance(one, BudgetWarned | BudgetReached)]
    assert about == [(BudgetWarned, "tokens"), (BudgetReached, "cost_usd")]
    reached = only(events, "budget_reached")
    assert (reached.spent, reached.limit, reached.grace_ms) == (Decimal(3), Decimal(2), 7_000)


def test_an_amount_is_spent_by_the_last_of_it() -> None:
    world = team_world(agent("ada"))
    submitted(world, limits=Limits(tokens=1_000))

    assert "budget_reached" not in kinds(spend(world, attempt(world, "ada"), 999))
    assert only(spend(world, attempt(world, "ada"), 1), "budget_reached").spent == 1_000


@pytest.mark.parametrize("reason", ["answer", None])
def test_an_attempt_that_waits_stops_for_a_spent_budget_unless_it_waits_for_what_it_asked_of_others(
    reason: str | None,
) -> None:
    limits = Limits(tokens=1_000, then="ask")
    world = team_world(agent("ada", limits=limits, max_concurrency=2), agent("bob"), participants=["ada"])
    submitted(world)
    waiting = attempt(world, "ada")
    if reason is None:
        world.ask(waiting, "bob", ["x"])
    else:
        world.rest(waiting, why=reason)
    ada = member(world, "ada")
    assert [*ada.parked] == [waiting[0]]
    world.order(Submit(request="more"))
    (other,) = [key for key in attempts(world, "ada") if key != waiting]

    event = only(spend(world, other), "budget_reached")

    assert event.stopping == ([other[0]] if reason is None else [other[0], waiting[0]])


def test_a_step_that_ends_after_the_others_were_asked_to_stop_asks_nobody_again() -> None:
    world = team_world(agent("ada"), agent("bob"), mode="parallel")
    submitted(world, limits=Limits(tokens=1_000))
    spend(world, attempt(world, "ada"))
    assert len(only(world.journal, "budget_reached").stopping) == 2

    assert not {"budget_reached", "budget_exhausted"} & {*kinds(spend(world, attempt(world, "bob")))}


def test_the_time_of_attempts_at_work_runs_out_with_nobody_who_reports_it() -> None:
    world = team_world(agent("ada"), agent("bob"), mode="parallel")
    run_id = submitted(world, limits=Limits(time_s=60))
    ada, bob = attempt(world, "ada"), attempt(world, "bob")

    events = world.due(f"time:{run_id}")

    assert kinds(events) == ["budget_reached"]
    (event,) = events
    assert isinstance(event, BudgetReached)
    assert (event.amount, event.stopping, event.reporter) == ("time_s", [ada[0], bob[0]], None)
    assert not [one for one in world.state.timers.values() if one.subject == run_id]


@pytest.mark.parametrize("then", ["stop", "ask"])
def test_attempts_that_a_budget_of_attempts_let_finish_stop_once_they_spend_another(then: Any) -> None:
    world = team_world(agent("ada"), agent("bob"), agent("cyd"), mode="parallel", options=GRACE, max_parallel=2)
    run_id = submitted(world, limits=Limits(attempts=2, tokens=1_000, then=then))
    bob = attempt(world, "bob")
    done(world, "ada")
    assert only(world.journal, "budget_exhausted").amount == "attempts"

    event = only(spend(world, bob), "budget_exhausted")

    assert event == BudgetExhausted(
        subject=run_id, run_id=run_id, task_id=None, agent_id=None, amount="tokens", then=then, ended=[],
        spent=Decimal(1_200), limit=Decimal(1_000), stopping=[bob[0]], reporter=bob[0], grace_ms=7_000,
        error="budget of 1,000 tokens is spent (1,200)", at_ms=world.now_ms,
    )  # fmt: skip
    assert_legal(world.state)


@pytest.mark.parametrize("then", ["stop", "fail", "ask"])
def test_who_stops_already_is_not_asked_again_and_may_not_return_instead(then: Any) -> None:
    world = team_world(agent("ada"), agent("bob"), mode="parallel")
    submitted(world, limits=Limits(tokens=1_000, then=then))
    ada, bob = attempt(world, "ada"), attempt(world, "bob")
    applied(world, SwapAgent(agent="ada", spec=agent("ada", timeout_s=9), mode="migrate"))

    reached = only(spend(world, ada), "budget_reached")

    assert (reached.stopping, reached.reporter) == ([bob[0]], None)


@pytest.mark.parametrize("then", ["stop", "fail"])
def test_an_attempt_that_stopped_for_a_budget_ends_with_the_words_of_it(then: Any) -> None:
    world = team_world(agent("ada"))
    submitted(world, limits=Limits(tokens=1_000, then=then))
    ada = attempt(world, "ada")
    spend(world, ada)

    events = world.stop(ada, "half")

    words = "budget of 1,000 tokens is spent (1,200)"
    assert only(events, "budget_exhausted").error == words
    cancelled = only(events, "attempt_cancelled")
    assert (cancelled.limit, cancelled.requeued) == (words, False)
    assert_legal(world.state)
