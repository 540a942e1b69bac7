"""Cancel, abort and time limits, also for code that does not want to stop."""

import contextlib
import threading
from collections.abc import AsyncGenerator
from typing import Any

import anyio
import anyio.to_thread
import pytest

from engine.core.commands import Cancel, RemoveMember
from engine.core.specs.spec import AgentSpec
from engine.platform.clock import VirtualClock
from tests.patience import PATIENCE_S
from tests.runtime.engines import Engine, Engines

pytestmark = pytest.mark.anyio


async def cancelled(running: Engine, begun: anyio.Event) -> str:
    """Cancel a run once its agent is at work, and return how it ended."""
    run_id = await running.submit()
    await begun.wait()
    await running.host.order(Cancel(target=run_id))
    summary, _ = await running.ended(run_id)
    return str(summary.status)


async def test_a_cancelled_attempt_goes_on_to_its_next_step_and_its_clean_up_runs(engine: Engines) -> None:
    begun, go_on, after = anyio.Event(), anyio.Event(), []

    async def work(task: Any, ctx: Any) -> str:
        try:
            begun.set()
            await go_on.wait()
            after.append("went on")
            await ctx.step("next", len, "x")
            after.append("too far")
        except Exception:
            after.append("caught")
        finally:
            after.append("cleaned up")
        return "never"

    async with engine(AgentSpec(name="work", run=work)) as running:
        run_id = await running.submit()
        await begun.wait()
        await running.host.order(Cancel(target=run_id))
        go_on.set()
        summary, _ = await running.ended(run_id)

    assert summary.status == "cancelled"
    assert after == ["went on", "cleaned up"]


async def test_one_that_reaches_no_step_is_stopped_after_its_grace(engine: Engines) -> None:
    begun = anyio.Event()

    async def work(text: str) -> str:
        begun.set()
        await anyio.sleep_forever()
        return "never"

    async with engine(AgentSpec(name="work", run=work), host={"grace_s": 0.01}) as running:
        assert await cancelled(running, begun) == "cancelled"


async def test_an_attempt_past_its_time_limit_has_failed(engine: Engines) -> None:
    async def work(task: Any, ctx: Any) -> str:
        await ctx.sleep(3600)
        return "never"

    clock = VirtualClock()
    async with engine(AgentSpec(name="work", run=work, timeout_s=60), clock=clock) as running:
        began_ms = clock.now_ms()

        assert "time limit of 60 s" in await running.fails()
        assert clock.now_ms() - began_ms == 60_000


async def test_one_that_ends_in_time_leaves_no_timer_behind(engine: Engines) -> None:
    async def work(task: Any, ctx: Any) -> str:
        await ctx.sleep(1)
        return "done"

    clock = VirtualClock()
    async with engine(AgentSpec(name="work", run=work, timeout_s=60), clock=clock) as running:
        began_ms = clock.now_ms()
        await running.ask()
        await running.ask()

        assert clock.now_ms() - began_ms == 2_000


async def swallow(begun: anyio.Event, *, inside: bool) -> None:
    begun.set()
    while True:
        try:
            if inside:
                async with anyio.create_task_group() as group:
                    group.start_soon(anyio.sleep_forever)
            else:
                await anyio.sleep_forever()
        except BaseException:
            continue


# Python says aloud that what was given up would not even be closed.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("inside", [False, True], ids=["plain", "in a task group"])
async def test_one_that_swallows_every_cancellation_is_given_up_and_the_engine_goes_on(
    engine: Engines, inside: bool
) -> None:
    begun = anyio.Event()

    async def stubborn(text: str) -> str:
        if text == "go":
            await swallow(begun, inside=inside)
        return "fine"

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("engine.runtimes.attempts.attempt.GIVE_UP_MS", 20)
        async with engine(AgentSpec(name="stubborn", run=stubborn), host={"grace_s": 0.01}) as running:
            assert await cancelled(running, begun) == "cancelled"
            await running.until(lambda state: state.agents["a1"].stuck == 0)

            assert await running.ask("again") == "fine"


async def test_code_that_leaves_a_cancel_scope_open_harms_nobody(engine: Engines) -> None:
    kept = []

    async def ticks() -> AsyncGenerator[str, None]:
        with anyio.fail_after(PATIENCE_S):
            yield "first"
            yield "second"

    async def leaky(text: str) -> str:
        generator = ticks()
        kept.append(generator)
        return await anext(generator)

    async with engine(AgentSpec(name="leaky", run=leaky)) as running:
        assert [await running.ask() for _ in range(3)] == ["first"] * 3
        await running.host.stop()
    # Closed by nobody else, each would complain when it is collected.
    for generator in kept:
        with contextlib.suppress(RuntimeError):
            await generator.aclose()


async def test_a_thread_that_a_coroutine_waits_for_takes_a_slot_until_it_returns(engine: Engines) -> None:
    begun, go_on = anyio.Event(), threading.Event()

    async def shielded(text: str) -> str:
        begun.set()
        await anyio.to_thread.run_sync(go_on.wait, PATIENCE_S)
        return "too late"

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("engine.runtimes.attempts.attempt.GIVE_UP_MS", 20)
        async with engine(AgentSpec(name="shielded", run=shielded), host={"grace_s": 0.01}) as running:
            assert await cancelled(running, begun) == "cancelled"
            assert running.state.agents["a1"].stuck == 1

            go_on.set()
            await running.until(lambda state: state.agents["a1"].stuck == 0)


async def test_one_that_returns_after_its_stop_without_having_looked_is_done(engine: Engines) -> None:
    begun, go_on = anyio.Event(), anyio.Event()

    async def work(text: str) -> str:
        begun.set()
        await go_on.wait()
        return "all of it"

    async with engine(AgentSpec(name="work", run=work)) as running:
        run_id = await running.submit()
        await begun.wait()
        await running.host.order(Cancel(target=run_id))
        go_on.set()
        await running.ended(run_id)

        assert len(await running.journal("attempt_done")) == 1


async def test_abort_stops_at_once(engine: Engines) -> None:
    begun, seen = anyio.Event(), []

    async def work(text: str) -> str:
        begun.set()
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            seen.append("stopped")
            raise
        return "never"

    async with engine(AgentSpec(name="work", run=work), host={"grace_s": 3600}) as running:
        await running.submit()
        await begun.wait()
        await running.host.order(RemoveMember(target="work", mode="abort"))
        await running.until(lambda state: "a1" not in state.agents)

    assert seen == ["stopped"]
