"""A budget with less left than the next call of a model takes ends as if it were spent, until the call fits."""

from decimal import Decimal
from typing import Literal

import pytest

from engine.core.commands import Answer, ChangeSupervisor
from engine.core.events import BudgetExhausted, Event
from engine.core.records.values import Usage
from engine.core.signals import BudgetShort
from engine.core.specs.limits import Limits
from engine.core.specs.options import SupervisorOptions
from engine.core.state import RunStatus
from tests.legal import assert_legal
from tests.story import applied, attempt, ended, kinds, submitted, task_of
from tests.world import World, agent, team_world


def world_with(limits: Limits) -> World:
    """A team whose agent ada has reported 900 tokens and works on."""
    world = team_world(agent("ada"), options=SupervisorOptions(limits=limits))
    submitted(world)
    world.record(attempt(world, "ada"), "one", usage=Usage(tokens_in=900))
    return world


def short(world: World, needs: int, number: int = 1) -> list[Event]:
    """What follows when its next call takes so many tokens."""
    root = world.state.roots[0]
    return world.say(
        BudgetShort(
            task_id=task_of(world, "ada").id, attempt=number, subject=root.id, amount="tokens", needs=Decimal(needs)
        )
    )


def test_what_an_attempt_has_reported_is_summed_up() -> None:
    world = world_with(Limits(tokens=1_000))

    world.record(attempt(world, "ada"), "two", usage=Usage(tokens_out=5, cost_usd=Decimal(1)))

    going_on = task_of(world, "ada").attempt
    assert going_on is not None
    assert going_on.spent == Usage(tokens_in=900, tokens_out=5, cost_usd=Decimal(1))


def test_a_call_that_fits_or_is_of_another_attempt_ends_nothing() -> None:
    world = world_with(Limits(tokens=1_000))

    assert short(world, 100) == []
    assert short(world, 500, number=7) == []


def test_the_budget_ends_with_what_is_left_and_what_is_needed() -> None:
    world = world_with(Limits(tokens=1_000))

    events = short(world, 101)

    assert kinds(events)[0] == "budget_exhausted"
    assert "budget of 1,000 tokens of chief has too little left for the next call of a model" in str(events[0])
    assert world.state.roots[0].exhausted is not None
    assert short(world, 101) == []
    assert_legal(world.state)


def test_more_of_it_lets_go_on_only_where_the_call_fits_then() -> None:
    world = world_with(Limits(tokens=1_000))
    short(world, 500)
    root = world.state.roots[0]

    applied(world, ChangeSupervisor(supervisor="chief", options=SupervisorOptions(limits=Limits(tokens=1_300))))
    still = root.exhausted
    applied(world, ChangeSupervisor(supervisor="chief", options=SupervisorOptions(limits=Limits(tokens=1_400))))

    assert still is not None
    assert root.exhausted is None


def test_a_person_who_says_continue_grants_as_much_as_the_call_needs() -> None:
    world = world_with(Limits(tokens=1_000, then="ask"))
    short(world, 2_500)
    question = next(iter(world.state.escalations.values()))

    applied(world, Answer(escalation=question.id, answer="continue"))

    assert world.state.ledgers[world.state.roots[0].id].granted == {"tokens": 3}
    assert world.state.roots[0].exhausted is None
    assert_legal(world.state)


def test_a_person_who_ends_it_is_told_again_what_the_call_needed() -> None:
    world = world_with(Limits(tokens=1_000, then="ask"))
    short(world, 2_500)
    question = next(iter(world.state.escalations.values()))

    applied(world, Answer(escalation=question.id, answer="fail"))

    *_, event = exhausted(world)
    assert event.then == "fail"
    assert event.needs == 2_500
    assert "about 2,500 needed" in event.error


@pytest.mark.parametrize("then", ["stop", "fail"])
def test_an_attempt_that_was_let_finish_stops_when_its_next_call_does_not_fit(then: Literal["stop", "fail"]) -> None:
    world = team_world(agent("ada"), agent("bob"), mode="parallel")
    run_id = submitted(world, limits=Limits(attempts=1, tokens=1_000, then=then))
    ada = attempt(world, "ada")
    world.record(ada, "one", usage=Usage(tokens_in=900))
    assert [(one.amount, one.stopping) for one in exhausted(world)] == [
        ("attempts", [ada[0]] if then == "fail" else [])
    ]

    world.say(BudgetShort(task_id=ada[0], attempt=1, subject=run_id, amount="tokens", needs=Decimal(500)))

    assert [one.amount for one in exhausted(world)] == ["attempts"] if then == "fail" else ["attempts", "tokens"]
    assert ada in world.stopping
    world.settle()
    assert ended(world).status is RunStatus.FAILED
    assert_legal(world.state)


@pytest.mark.parametrize("spends", ["run", "agent", "supervisor"])
@pytest.mark.parametrize("then", ["stop", "ask"])
def test_an_attempt_that_is_let_finish_for_want_of_attempts_stops_when_it_spends_another_budget(
    spends: str, then: Literal["stop", "ask"]
) -> None:
    limits = Limits(attempts=1, tokens=1_000, time_s=60, then=then)
    ada = agent("ada", max_concurrency=2, limits=limits if spends == "agent" else None)
    options = SupervisorOptions(limits=limits if spends == "supervisor" else None)
    world = team_world(ada, agent("bob"), mode="parallel", options=options)
    submitted(world, limits=limits if spends == "run" else None)
    if spends == "agent":
        submitted(world, "again")
    at_work = attempt(world, "ada")
    assert not world.stopping

    world.record(at_work, "one", usage=Usage(tokens_in=999))
    assert not world.stopping
    world.record(at_work, "two", usage=Usage(tokens_in=1))

    assert at_work in world.stopping
    world.settle()
    assert_legal(world.state)


def exhausted(world: World) -> list[BudgetExhausted]:
    """The budgets that have ended so far."""
    return [one for one in world.journal if isinstance(one, BudgetExhausted)]
