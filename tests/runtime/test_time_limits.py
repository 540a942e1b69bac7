"""Time limits of attempts and steps count work, and not the time for which a person is waited for."""

import threading
import time
from decimal import Decimal
from typing import Any

import anyio
import pytest

from engine import AgentSpec
from engine.core.commands import Abort, Answer
from engine.core.queries.money.spending import spending_rows
from engine.core.records.records import JsonValue
from engine.core.specs.limits import Limits
from engine.core.specs.model_spec import ModelSpec, Price
from engine.core.specs.options import SupervisorOptions
from engine.platform.clock import RealClock, VirtualClock
from engine.runtimes.functions.tools import tool
from tests.patience import PATIENCE_S
from tests.runtime.engines import Engines
from tests.runtime.test_jsonl_agents import speaker

pytestmark = pytest.mark.anyio
HOUR_S = 3_600.0


async def nobody_answers(ctx: Any) -> str:
    """Ask a person who does not answer for an hour."""
    return str(await ctx.ask("Go on?", default="yes", due_s=HOUR_S))


async def asks(task: Any, ctx: Any) -> str:
    await ctx.sleep(30)
    answer = await nobody_answers(ctx)
    await ctx.sleep(float(task.text))
    return answer


async def test_the_limit_of_an_attempt_does_not_count_a_wait_for_a_person(engine: Engines) -> None:
    ada = AgentSpec(name="ada", run=asks, timeout_s=60)
    async with engine(ada, clock=VirtualClock()) as running:
        assert await running.ask("20") == "yes"
        assert await running.fails("40") == "ada: took longer than its time limit of 60 s"


async def test_the_limit_of_a_step_does_not_count_it_either(engine: Engines) -> None:
    async def steps(task: Any, ctx: Any) -> str:
        async def part() -> str:
            await ctx.sleep(3)
            answer = await nobody_answers(ctx)
            await ctx.sleep(float(task.text))
            return answer

        return str(await ctx.step("part", part))

    ada = AgentSpec(name="ada", run=steps, step_timeout_s=5)
    async with engine(ada, clock=VirtualClock()) as running:
        assert await running.ask("1") == "yes"
        assert await running.fails("3") == "ada: step 'part' took longer than 5 s"


async def test_no_limit_counts_the_time_for_which_the_computer_slept_or_that_its_clock_was_set_forward(
    engine: Engines,
) -> None:
    ahead_ms, begun = 0, anyio.Event()
    clock = RealClock(wall_ns=lambda: time.time_ns() + ahead_ms * 1_000_000, look_s=0.001)

    async def works(task: Any, ctx: Any) -> str:
        async def part() -> str:
            begun.set()
            before_ms = clock.now_ms()
            while clock.now_ms() - before_ms < HOUR_S * 1_000:
                await anyio.lowlevel.checkpoint()
            await clock.sleep_until(clock.now_ms() + 20)  # by then a limit that had passed would have stopped it
            return "done"

        return str(await ctx.step("part", part))

    minute = Limits(time_s=60)
    ada = AgentSpec(name="ada", run=works, timeout_s=60, step_timeout_s=60, limits=minute, task_limits=minute)
    async with engine(ada, clock=clock) as running:
        run_id = await running.submit()
        await begun.wait()
        ahead_ms = round(2 * HOUR_S * 1_000)
        summary, output = await running.ended(run_id)
        spent_ms = [summary.usage.time_ms, *(one.usage.time_ms for one in running.state.agents.values())]

    assert output == "done"
    assert max(spent_ms) < 60_000


async def test_work_beside_the_question_counts(engine: Engines) -> None:
    async def both(task: Any, ctx: Any) -> str:
        async def step() -> str:
            await ctx.sleep(float(task.text))
            return "done"

        async with anyio.create_task_group() as group:
            group.start_soon(nobody_answers, ctx)
            group.start_soon(ctx.step, "beside", step)
        return "both"

    ada = AgentSpec(name="ada", run=both, timeout_s=60)
    async with engine(ada, clock=VirtualClock()) as running:
        assert await running.ask("50") == "both"
        assert await running.fails("70") == "ada: took longer than its time limit of 60 s"


async def test_a_wait_for_delegated_work_counts(engine: Engines) -> None:
    async def leads(task: Any, ctx: Any) -> str:
        return str(await ctx.delegate("bob", task.text))

    async def works(task: Any, ctx: Any) -> str:
        await ctx.sleep(float(task.text))
        return "done"

    team = [AgentSpec(name="ada", run=leads, timeout_s=60), AgentSpec(name="bob", run=works)]
    async with engine(*team, clock=VirtualClock(), participants=["ada"]) as running:
        assert await running.ask("50") == "done"
        assert await running.fails("70") == "ada: took longer than its time limit of 60 s"


async def test_a_thread_that_asks_has_all_its_time_afterwards(engine: Engines) -> None:
    def blocks(task: Any, ctx: Any) -> str:
        ctx.sleep(30)
        answer = ctx.ask("Go on?", default="yes", due_s=HOUR_S)
        ctx.sleep(20)
        return str(answer)

    ada = AgentSpec(name="ada", run=blocks, timeout_s=60)
    async with engine(ada, clock=VirtualClock()) as running:
        assert await running.ask() == "yes"


async def test_a_tool_that_waits_for_its_approval_is_not_late(engine: Engines) -> None:
    @tool
    async def look() -> str:
        """Look."""
        return "a tide"

    call: Any = {"calls": [{"name": "look", "arguments": {}}]}
    options = SupervisorOptions(models={"fake": ModelSpec(replies=(call, {"text": "{text}"}))})
    spec = AgentSpec(
        name="ada", agent_type="ReactAgent", model="fake", tools=[look], approve={"look": "always"}, timeout_s=60,
        step_timeout_s=5,
    )  # fmt: skip
    clock = VirtualClock()
    async with engine(spec, clock=clock, options=options) as running:
        run = await running.submit()
        await running.until(lambda state: bool(state.escalations))
        await clock.sleep_until(clock.now_ms() + round(HOUR_S * 1000))
        (question,) = running.state.escalations
        await running.host.order(Answer(escalation=question, answer="allow_once"))
        summary, output = await running.ended(run)

    assert (summary.status, output) == ("done", "a tide")


@pytest.mark.parametrize("once", [False, True])
async def test_a_program_that_asks_has_all_its_time_afterwards(engine: Engines, *, once: bool) -> None:
    code = "say(type='ask', id=1, question='Go on?'); say(type='result', output=hear()['answer'])"
    clock = VirtualClock()
    spec = speaker(code, once=once, timeout_s=60)
    async with engine(spec, clock=clock) as running:
        run = await running.submit()
        await running.until(lambda state: bool(state.escalations))
        await clock.sleep_until(clock.now_ms() + round(HOUR_S * 1000))
        (question,) = running.state.escalations
        await running.host.order(Answer(escalation=question, answer="reply", output="yes"))
        summary, output = await running.ended(run)

    assert (summary.status, output) == ("done", "yes")


async def test_a_call_of_a_model_that_a_stop_cuts_off_has_its_time_and_its_money(engine: Engines) -> None:
    reply: JsonValue = {"text": "word", "tokens_in": 5, "tokens_out": 1, "delay_s": HOUR_S}
    settings = SupervisorOptions(models={"slow": ModelSpec(replies=(reply,), price=Price(in_usd=Decimal(1_000_000)))})
    ada = AgentSpec(name="ada", agent_type="SimpleAgent", model="slow")
    async with engine(ada, clock=VirtualClock(), options=settings) as running:
        run_id = await running.submit("Write.")
        await running.until(lambda state: any(task.attempt is not None for task in state.tasks.values()))
        await running.host.clock.sleep_until(running.host.clock.now_ms() + 60_000)
        await running.host.order(Abort(target=run_id))
        summary, _ = await running.ended(run_id)
        (paid,) = [row for row in spending_rows(running.state) if row.usage.cost_usd]

    assert summary.times == {"model": 60_000}
    assert paid.model == "slow"


TOOL_BEGAN = threading.Event()


@tool(idempotent=True)
async def dig() -> str:
    """Dig until somebody stops it."""
    TOOL_BEGAN.set()
    await anyio.sleep_forever()
    return ""


async def digs(task: Any, ctx: Any) -> None:
    await ctx.tool("dig")


async def test_a_call_of_a_tool_that_a_stop_cuts_off_is_time_of_tools(engine: Engines) -> None:
    async with engine(AgentSpec(name="ada", run=digs, tools=[dig])) as running:
        run_id = await running.submit("Dig.")
        await anyio.to_thread.run_sync(TOOL_BEGAN.wait, PATIENCE_S)
        await running.host.order(Abort(target=run_id))
        await running.ended(run_id)
        (stopped,) = await running.journal("step_stopped")

    assert b'"what":"tool","name":"tool:dig"' in stopped.body
