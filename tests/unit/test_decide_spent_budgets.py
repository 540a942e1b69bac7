"""What a spent budget ends: what is left undone, and nothing that has ended."""

from decimal import Decimal
from typing import Any

import pytest

from engine.core.commands import Answer, ChangeSupervisor, Resume, Submit, SupervisorSpec
from engine.core.effects import StopAttempt
from engine.core.events import BudgetReached
from engine.core.records.values import Usage
from engine.core.specs.limits import Limits
from engine.core.specs.options import SupervisorOptions
from engine.core.state import RunStatus
from engine.supervisor.metrics import agent_view
from tests.lawful import assert_lawful
from tests.legal import assert_legal
from tests.story import applied, attempt, done, ended, found, kinds, member, only, refused, submitted, works
from tests.world import agent, team_world

TOKENS = Limits(tokens=1_000)


def spent(tokens: int) -> Usage:
    return Usage(tokens_in=tokens)


def test_a_run_that_fails_for_its_budget_stops_where_it_is_but_for_the_attempt_that_is_at_a_step() -> None:
    world = team_world(agent("ada"), agent("bob"), mode="parallel")
    submitted(world, limits=Limits(cost_usd=Decimal("2.50"), then="fail"))
    ada, bob = attempt(world, "ada"), attempt(world, "bob")

    world.record(ada, "s", usage=Usage(cost_usd=Decimal("3")))

    stops = {(one.task_id, one.attempt): one.now for one in world.effects if isinstance(one, StopAttempt)}
    assert stops == {ada: False, bob: True}
    world.stop(bob)
    world.stop(ada)
    assert ended(world).error == "budget of $2.5 is spent ($3)"


def test_what_is_asked_of_others_counts_for_the_task_that_asks() -> None:
    world = team_world(agent("ada", task_limits=TOKENS), agent("bob"), participants=["ada"])
    submitted(world)
    key = attempt(world, "ada")
    world.ask(key, "bob", ["x"])

    reached = only(world.record(attempt(world, "bob"), "s", usage=spent(1_000)), "budget_reached")
    assert (reached.task_id, reached.stopping) == (key[0], [attempt(world, "bob")[0]])

    out = only(world.stop(attempt(world, "bob")), "budget_exhausted")

    assert out.task_id == key[0]
    assert len(out.stopping) == 2
    world.stop(key)
    assert ended(world).error == "ada: budget of 1,000 tokens is spent (1,000)"


@pytest.mark.parametrize("then", ["stop", "fail", "ask"])
def test_a_run_of_which_only_a_join_is_left_is_done_whatever_was_spent(then: Any) -> None:
    world = team_world(agent("ada"), agent("bob"), mode="parallel")
    submitted(world, limits=Limits(tokens=1_000, then=then))
    ada, bob = attempt(world, "ada"), attempt(world, "bob")

    world.record(ada, "last", usage=spent(5_000))
    assert only(world.journal, "budget_reached").reporter == ada[0]
    world.succeed(ada, "one")
    world.succeed(bob, "two")
    world.settle()

    assert ended(world).status is RunStatus.DONE
    assert not {"budget_exhausted", "escalated"} & set(kinds(world.journal))
    assert_legal(world.state)
    assert_lawful(world.journal)


def test_a_person_is_asked_once_an_attempt_has_stopped_before_it_was_done() -> None:
    world = team_world(agent("ada"))
    submitted(world, limits=Limits(tokens=1_000, then="ask"))
    key = attempt(world, "ada")
    world.record(key, "one", usage=spent(1_000))
    assert not world.state.escalations

    world.stop(key, "half")

    (question,) = world.state.escalations
    assert_legal(world.state)
    assert_lawful(world.journal)
    applied(world, Answer(escalation=question, answer="continue"))
    assert works(world) == ["ada"]


def test_work_that_a_check_may_still_rule_out_is_not_counted_as_left() -> None:
    options = SupervisorOptions(settings={"branches": [{"when": {"contains": "x"}, "to": "bob"}]})
    world = team_world(agent("ada"), agent("bob"), mode="conditional", options=options)
    submitted(world, limits=TOKENS)

    world.record(attempt(world, "ada"), "last", usage=spent(1_000))
    world.succeed(attempt(world, "ada"), "y")
    found(world, holds=[])

    assert (ended(world).status, ended(world).output) == (RunStatus.DONE, "y")
    assert "budget_exhausted" not in kinds(world.journal)


@pytest.mark.parametrize("then", ["stop", "fail", "ask"])
@pytest.mark.parametrize("other", [agent("bob"), SupervisorSpec(name="below", members=[agent("bob"), agent("cyd")])])
def test_work_that_an_answer_at_work_may_make_needless_is_not_counted_as_left(other: Any, then: Any) -> None:
    options = SupervisorOptions(settings={"need": 1})
    world = team_world(agent("ada"), other, mode="parallel", options=options, max_parallel=1)
    submitted(world, limits=Limits(tokens=1_000, then=then))

    world.record(attempt(world, "ada"), "last", usage=spent(1_000))
    assert_lawful(world.journal)
    world.succeed(attempt(world, "ada"), "enough")
    world.settle()

    assert ended(world).status is RunStatus.DONE
    assert not {"budget_exhausted", "escalated"} & set(kinds(world.journal))
    assert_legal(world.state)
    assert_lawful(world.journal)


@pytest.mark.parametrize("then", ["stop", "fail", "ask"])
def test_a_spent_budget_ends_work_that_is_still_needed_once_the_answer_at_work_does_not_come(then: Any) -> None:
    options = SupervisorOptions(settings={"need": 1})
    world = team_world(agent("ada"), agent("bob"), mode="parallel", options=options, max_parallel=1)
    submitted(world, limits=Limits(tokens=1_000, then=then))

    world.record(attempt(world, "ada"), "last", usage=spent(1_000))
    world.stop(attempt(world, "ada"))

    assert only(world.journal, "budget_exhausted").then == then
    assert not works(world)
    assert_legal(world.state)
    assert_lawful(world.journal)


def test_work_behind_what_a_check_may_rule_out_is_not_counted_as_left() -> None:
    nodes: list[Any] = [
        {"name": "draft", "agent": "ada"},
        {"name": "fix", "agent": "bob", "after": ["draft"], "when": {"contains": "x"}},
        {"name": "praise", "agent": "cyd", "after": ["fix"]},
    ]
    options = SupervisorOptions(settings={"nodes": nodes, "output": "draft"})
    world = team_world(agent("ada"), agent("bob"), agent("cyd"), mode="graph", options=options)
    submitted(world, limits=TOKENS)

    world.record(attempt(world, "ada"), "last", usage=spent(1_000))
    world.succeed(attempt(world, "ada"), "y")
    found(world, holds=[])

    assert (ended(world).status, ended(world).output) == (RunStatus.DONE, "y")
    assert "budget_exhausted" not in kinds(world.journal)


def test_the_work_that_a_check_demands_anew_is_what_a_spent_budget_ends() -> None:
    world = team_world(agent("ada"), agent("bob"), mode="sequential_with_validation")
    submitted(world, limits=TOKENS)
    done(world, "ada")
    world.succeed(attempt(world, "bob"), "no", usage=spent(1_000))
    assert "budget_exhausted" not in kinds(world.journal)

    found(world, approved=False, reasons="thin")

    run = ended(world)
    assert (run.status, run.error) == (RunStatus.FAILED, "budget of 1,000 tokens is spent (1,000)")


def test_an_attempt_that_waits_for_others_may_return_when_it_has_their_answer() -> None:
    world = team_world(agent("ada"), agent("bob"), participants=["ada"])
    submitted(world, limits=TOKENS)
    lead = attempt(world, "ada")
    world.ask(lead, "bob", ["x"])
    bob = attempt(world, "bob")

    world.record(bob, "last", usage=spent(1_000))
    world.succeed(bob, "answer")

    assert [event.stopping for event in world.journal if isinstance(event, BudgetReached)] == [[bob[0]], [lead[0]]]
    world.succeed(lead, "answer")
    assert ended(world).status is RunStatus.DONE


def test_an_agent_that_asks_is_asked_about_only_when_there_is_work_for_it() -> None:
    world = team_world(agent("ada", limits=Limits(tokens=1_000, then="ask")))
    submitted(world)
    world.record(attempt(world, "ada"), "last", usage=spent(1_000))
    world.succeed(attempt(world, "ada"), usage=spent(5))
    assert not world.state.escalations

    world.order(Submit(request="more"))

    (question,) = world.state.escalations.values()
    assert question.kind == "budget"
    assert_legal(world.state)
    assert_lawful(world.journal)


@pytest.mark.parametrize("then", ["stop", "ask"])
def test_every_interface_says_of_an_agent_that_its_budget_is_spent(then: Any) -> None:
    world = team_world(agent("ada", limits=Limits(tokens=1_000, then=then)))
    submitted(world)
    world.succeed(attempt(world, "ada"), usage=spent(1_000))
    world.order(Submit(request="more"))

    ada = member(world, "ada")
    view = agent_view(ada, world.state.spec_of(ada))
    words = "budget of 1,000 tokens of ada is spent (1,000)"
    assert (view.status, view.error) == ("paused", words)
    todo = "answer the question about it" if then == "ask" else "raise its limits"
    assert refused(world, Resume(target="ada")) == f"ada is not paused: {words}; {todo}"


@pytest.mark.parametrize("then", ["stop", "fail", "ask"])
def test_the_time_without_an_engine_spends_no_budget_of_what_was_asked_to_stop(then: Any) -> None:
    world = team_world(agent("ada"), agent("bob"), mode="parallel")
    submitted(world, limits=Limits(tokens=1_000, time_s=60, then=then))
    world.record(attempt(world, "ada"), "one", usage=spent(1_000))

    world.now_ms += 3_600_000
    world.crash()

    out = only(world.journal, "budget_exhausted")
    assert (out.error, out.then) == ("budget of 1,000 tokens is spent (1,000)", then)
    assert len(world.state.escalations) == (then == "ask")
    assert not works(world)
    assert_legal(world.state)
    assert_lawful(world.journal)


def test_work_that_was_asked_to_stop_goes_on_after_a_crash_where_its_budget_was_raised() -> None:
    world = team_world(agent("ada"), options=SupervisorOptions(run_limits=Limits(tokens=1_000, time_s=60)))
    submitted(world)
    world.record(attempt(world, "ada"), "one", usage=spent(1_000))
    more = SupervisorOptions(run_limits=Limits(tokens=2_000, time_s=60))
    world.order(ChangeSupervisor(supervisor="chief", options=more))

    world.now_ms += 3_600_000
    world.crash()

    done(world, "ada")
    assert ended(world).status is RunStatus.DONE
