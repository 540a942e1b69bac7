"""What agents say that they spend reaches the budgets, and steps that take too long fail."""

import threading
from decimal import Decimal
from typing import Any

import anyio
import pytest

from engine.core.commands import Submit
from engine.core.records.values import Usage
from engine.core.specs.limits import Limits
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import AgentSpec, Retry
from engine.platform.clock import VirtualClock
from tests.patience import PATIENCE_S
from tests.runtime.engines import Engine, Engines, Hurried, soon

pytestmark = pytest.mark.anyio


def scripted(name: str, rule: dict[str, Any], **fields: Any) -> AgentSpec:
    return AgentSpec(name=name, agent_type="scripted", options={"script": [rule]}, **fields)


async def outcome(running: Engine, **fields: Any) -> tuple[str, str | None, Any]:
    """Return the status, the error and the output of a run."""
    applied = await running.host.order(Submit(request="go", **fields))
    summary, output = await running.ended(str(applied.result["run_id"]))
    return str(summary.status.value), summary.error, output


async def test_what_a_function_says_that_it_spent_is_told_with_its_steps_and_the_rest_at_its_end(
    engine: Engines,
) -> None:
    async def work(task: Any, ctx: Any) -> str:
        async def ask() -> str:
            ctx.spent(tokens_in=100, tokens_out=20, tokens_cached=60, cost_usd="0.01")
            return "said"

        await ctx.step("ask", ask)
        ctx.spent(tokens_in=1, tokens_cached=1, cost_usd=0.5)
        ctx.spent(tokens_out=2)
        return "done"

    async with engine(AgentSpec(name="ada", run=work), clock=VirtualClock()) as running:
        await running.ask()
        (step,) = await running.journal("step_recorded")
        usage = running.state.finished[-1].usage

    assert b'"tokens_in":100,"tokens_out":20,"tokens_cached":60,"cost_usd":"0.01"' in step.body
    assert usage == Usage(
        tokens_in=101, tokens_out=22, tokens_cached=61, cost_usd=Decimal("0.51"), time_ms=usage.time_ms
    )


async def test_a_thread_says_what_it_spends_and_so_does_an_attempt_that_fails(engine: Engines) -> None:
    def work(task: Any, ctx: Any) -> str:
        ctx.spent(tokens_in=7)
        raise OSError("no")

    async with engine(AgentSpec(name="ada", run=work)) as running:
        assert "no" in await running.fails()
        assert running.state.finished[-1].usage.tokens_in == 7


@pytest.mark.parametrize(
    "said",
    [
        {"tokens_in": -1},
        {"cost_usd": "much"},
        {"cost_usd": float("nan")},
        {"tokens_out": 1.5},
        {"tokens_in": 5, "tokens_cached": 6},
        {"tokens_cached": 1},
        {"tokens": 3},
    ],
)
async def test_what_cannot_be_spent_is_refused(engine: Engines, said: dict[str, Any]) -> None:
    async def work(task: Any, ctx: Any) -> str:
        ctx.spent(**said)
        return "done"

    async with engine(AgentSpec(name="ada", run=work)) as running:
        assert next(iter(said)) in await running.fails()


async def test_a_script_spends_and_its_run_ends_at_the_step_that_spends_the_rest(engine: Engines) -> None:
    steps = [{"name": f"s{n}", "delay_s": 1, "spend": {"tokens_in": 400}} for n in range(9)]
    rule = {"spend": {"cost_usd": "0.25"}, "steps": steps, "emit": ["so far"]}
    async with engine(scripted("ada", rule), clock=VirtualClock()) as running:
        found = await outcome(running, limits=Limits(tokens=1_000))
        usage = running.state.finished[-1].usage

    assert found == ("failed", "budget of 1,000 tokens is spent (1,200)", "so far")
    assert usage == Usage(tokens_in=1_200, cost_usd=Decimal("0.25"), time_ms=3_000)


async def test_the_time_of_a_run_is_over_in_the_middle_of_a_long_attempt(engine: Engines) -> None:
    clock = VirtualClock()
    async with engine(scripted("ada", {"delay_s": 3_600}), clock=clock) as running:
        began_ms = clock.now_ms()
        status, error, _ = await outcome(running, limits=Limits(time_s=60))

        assert (status, error) == ("failed", "budget of 60 s of work is spent (60)")
        assert clock.now_ms() - began_ms == 60_000


async def test_a_run_ends_at_its_deadline(engine: Engines) -> None:
    clock = VirtualClock()
    async with engine(scripted("ada", {"delay_s": 3_600}), clock=clock) as running:
        began_ms = clock.now_ms()
        assert await outcome(running, deadline_s=60) == ("failed", "deadline of 60 s passed", None)
        assert clock.now_ms() - began_ms == 60_000


async def test_code_that_does_not_come_to_a_step_is_ended_after_the_grace(engine: Engines) -> None:
    async def deaf(task: Any, ctx: Any) -> str:
        ctx.emit("half")
        await anyio.sleep(600)
        return "never"

    options, clock = SupervisorOptions(grace_s=0.05), Hurried()
    async with engine(AgentSpec(name="ada", run=deaf), clock=clock, options=options) as running:

        async def passes() -> None:
            await soon(running.shown)
            clock.let_pass(3600)

        async with anyio.create_task_group() as group:
            group.start_soon(passes)
            assert await outcome(running, deadline_s=3600) == ("failed", "deadline of 3,600 s passed", "half")
        kinds = [record.kind for record in await running.journal()]

    assert kinds.count("deadline_passed") == 1


async def test_a_step_that_takes_too_long_fails_the_attempt_and_is_tried_again(engine: Engines) -> None:
    tries = 0

    async def work(task: Any, ctx: Any) -> str:
        nonlocal tries
        tries += 1

        async def fetch(seconds: int) -> str:
            await ctx.sleep(seconds)
            return "fetched"

        return str(await ctx.step("fetch", fetch, 60 if tries == 1 else 1))

    spec = AgentSpec(name="ada", run=work, step_timeout_s=5, on_failure=[Retry(1, on=("TimeoutError",))])
    clock = VirtualClock()
    async with engine(spec, clock=clock) as running:
        assert await running.ask() == "fetched"
        (failed,) = await running.journal("attempt_failed")

    assert b"step 'fetch' took longer than 5 s" in failed.body
    assert b'"error_type":"TimeoutError"' in failed.body


async def test_a_scripted_step_that_takes_too_long_fails_too_and_a_quick_one_after_a_slow_delay_does_not(
    engine: Engines,
) -> None:
    rule = {"delay_s": 60, "steps": [{"name": "quick", "delay_s": 4}, {"name": "slow", "delay_s": 6}]}
    async with engine(scripted("ada", rule, step_timeout_s=5), clock=VirtualClock()) as running:
        assert await running.fails() == "ada: step 'slow' took longer than 5 s"


async def test_a_step_in_a_thread_is_left_behind_when_it_takes_too_long(engine: Engines) -> None:
    go_on = threading.Event()

    def work(task: Any, ctx: Any) -> str:
        return str(ctx.step("fetch", go_on.wait, PATIENCE_S))

    async with engine(AgentSpec(name="ada", run=work, step_timeout_s=0.02)) as running:
        assert await running.fails() == "ada: step 'fetch' took longer than 0.02 s"
        go_on.set()
        await running.until(lambda state: all(not one.stuck for one in state.agents.values()))
        assert await running.journal("step_recorded") == []
