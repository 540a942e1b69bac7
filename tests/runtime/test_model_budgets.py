"""Budgets of agents that models play: looked at before a call is made, also where many are made at once."""

from decimal import Decimal
from typing import Any

import pytest
from msgspec import structs

from engine.core.commands import Answer, SwapAgent
from engine.core.records.records import JsonValue
from engine.core.specs.limits import Limits
from engine.core.specs.model_spec import ModelSpec, Price
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import AgentSpec
from engine.platform.clock import VirtualClock
from tests.runtime.engines import Engines

pytestmark = pytest.mark.anyio


def options(tokens_out: int, *, limits: Limits, delay_s: float = 0.0, **more: Any) -> SupervisorOptions:
    """Settings under which a scripted model says one word, which costs so many tokens."""
    reply: JsonValue = {"text": "word", "tokens_in": 0, "tokens_out": tokens_out, "delay_s": delay_s}
    price = Price(out_usd=Decimal(1_000_000))
    return SupervisorOptions(models={"fake": ModelSpec(replies=(reply,), price=price)}, limits=limits, **more)


def writers(count: int) -> list[AgentSpec]:
    """Agents that call the model once each."""
    return [AgentSpec(name=f"writer{n}", agent_type="SimpleAgent", model="fake") for n in range(count)]


@pytest.mark.parametrize("amount", [{"tokens": 45}, {"cost_usd": Decimal(45)}])
async def test_calls_at_the_same_time_do_not_spend_more_together_than_a_budget_has(
    engine: Engines, amount: dict[str, Any]
) -> None:
    settings = options(10, limits=Limits(**amount), delay_s=5)

    async with engine(
        *writers(20), mode="parallel", clock=VirtualClock(), max_parallel=20, options=settings
    ) as running:
        summary, _ = await running.ended(await running.submit("Write."))
        total, steps = running.state.usage, await running.journal("step_recorded")
        exhausted = await running.journal("budget_exhausted")

    assert summary.status == "failed"
    assert (total.tokens_out, total.cost_usd, len(steps)) == (40, Decimal(40), 4)
    assert len(exhausted) == 1
    spent, needed = ("$40", "$10") if "cost_usd" in amount else ("40", "10")
    said = f"has too little left for the next call of a model ({spent} spent, about {needed} needed)"
    assert said in (summary.error or "")


async def test_a_call_that_fits_waits_for_those_before_it_that_took_less_than_was_held_back(engine: Engines) -> None:
    async with engine(
        *writers(4), mode="parallel", clock=VirtualClock(), options=options(10, limits=Limits(tokens=40), delay_s=5)
    ) as running:
        await running.ask("Write.")
        total = running.state.usage.tokens_out

    assert total == 40


async def test_a_person_who_grants_more_lets_the_call_be_made(engine: Engines) -> None:
    settings = options(10, limits=Limits(tokens=15, then="ask"))

    async with engine(*writers(2), clock=VirtualClock(), options=settings) as running:
        run_id = await running.submit("Write.")
        await running.until(lambda state: bool(state.escalations))
        question = next(iter(running.state.escalations.values()))
        spent = running.state.usage.tokens_out
        await running.host.order(Answer(escalation=question.id, answer="continue"))
        summary, _ = await running.ended(run_id)

    assert "about 10 needed" in question.question
    assert spent == 10
    assert summary.status == "done"
    assert summary.usage.tokens_out == 20


async def test_an_agent_with_too_little_left_gets_no_more_work_until_its_limit_is_raised(engine: Engines) -> None:
    spec = AgentSpec(name="writer", agent_type="SimpleAgent", model="fake", limits=Limits(tokens=15))

    async with engine(spec, clock=VirtualClock(), options=options(10, limits=Limits(tokens=1_000))) as running:
        await running.ask("Write.")
        second, third = await running.fails("Write."), await running.fails("Write.")
        exhausted, total = await running.journal("budget_exhausted"), running.state.usage.tokens_out
        raised = structs.replace(spec, limits=Limits(tokens=100))
        await running.host.order(SwapAgent(agent="writer", spec=raised))
        await running.ask("Write.")

    assert "budget of 15 tokens of writer has too little left" in second
    assert "budget of 15 tokens of writer has too little left" in third
    assert (len(exhausted), total) == (1, 10)
