"""Function agents that are a plain `def`: in a thread, with a `ctx` that blocks."""

import threading
from collections.abc import Callable
from typing import Any

import anyio
import anyio.to_thread
import pytest

from engine.core.commands import Cancel
from engine.core.specs.spec import AgentSpec
from engine.platform.clock import VirtualClock
from engine.runtimes.functions import threads
from engine.runtimes.functions.child import report_progress
from tests.patience import PATIENCE_S
from tests.runtime.engines import Engines, Hurried, soon

pytestmark = pytest.mark.anyio


def agent(name: str, run: Callable[..., Any], **fields: Any) -> AgentSpec:
    return AgentSpec(name=name, run=run, **fields)


async def shout(text: str) -> str:
    return text.upper()


async def test_a_plain_function_runs_beside_the_loop(engine: Engines) -> None:
    def where(text: str) -> bool:
        return threading.current_thread() is threading.main_thread()

    async with engine(agent("where", where)) as running:
        assert await running.ask() is False


async def test_a_plain_function_runs_in_the_loop_where_its_spec_says_so(engine: Engines) -> None:
    def where(text: str) -> bool:
        return threading.current_thread() is threading.main_thread()

    async with engine(agent("where", where, run_in="loop")) as running:
        assert await running.ask() is True


async def test_an_async_function_in_a_thread_is_refused(engine: Engines) -> None:
    async with engine(agent("shout", shout, run_in="thread")) as running:
        await running.until(lambda state: "run_in='thread'" in (state.agents["a1"].error or ""))


async def test_a_blocking_ctx_has_the_same_names(engine: Engines) -> None:
    def lead(task: Any, ctx: Any) -> Any:
        ctx.emit("working")
        ctx.progress(1, 2, "half")
        ctx.sleep(0)
        return [
            ctx.agent,
            ctx.cancelled,
            ctx.task is task,
            ctx.step("add", lambda a, b: a + b, 1, 2),
            ctx.tool("len", "four"),
            ctx.delegate("shout", "a"),
            ctx.map("shout", ["b", "c"]),
        ]

    specs = agent("lead", lead, tools=[len]), agent("shout", shout)
    async with engine(*specs, participants=["lead"]) as running:
        assert await running.ask() == ["lead", False, True, 3, 4, "A", ["B", "C"]]


async def test_progress_is_shown_live_and_taken_away_at_the_end(engine: Engines) -> None:
    go_on = threading.Event()

    def work(text: str) -> str:
        report_progress(3, 10, "files")
        assert go_on.wait(PATIENCE_S)
        return "done"

    async with engine(agent("work", work)) as running:
        run_id = await running.submit()
        shown = await soon(running.shown)
        go_on.set()
        await running.ended(run_id)

        assert list(shown.values()) == ['{"done": 3, "total": 10, "note": "files"}']
        assert running.store.live.texts() == {}


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), StopIteration("x")])
async def test_whatever_a_thread_raises_fails_the_attempt_and_not_the_engine(
    engine: Engines, error: BaseException
) -> None:
    def bad(text: str) -> str:
        if text == "bad":
            raise error
        return "fine"

    async with engine(agent("bad", bad)) as running:
        await running.fails("bad")

        assert await running.ask("good") == "fine"


async def test_a_thread_past_its_time_limit_ends_the_attempt_and_takes_a_slot_until_it_returns(engine: Engines) -> None:
    began, go_on = threading.Event(), threading.Event()

    def stuck(text: str) -> str:
        began.set()
        assert go_on.wait(PATIENCE_S)
        return "too late"

    clock = Hurried()
    async with engine(agent("stuck", stuck, timeout_s=3600), clock=clock) as running:
        run_id = await running.submit()
        assert await anyio.to_thread.run_sync(began.wait, PATIENCE_S)
        clock.let_pass(3600)
        summary, _ = await running.ended(run_id)
        assert "time limit of 3600 s" in (summary.error or "")
        assert running.state.agents["a1"].stuck == 1

        go_on.set()
        await running.until(lambda state: state.agents["a1"].stuck == 0)


async def test_a_thread_that_cannot_start_is_not_waited_for_when_the_attempt_is_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_more(*_: Any) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threads, "_Thread", no_more)
    returned: list[bool] = []

    with pytest.raises(RuntimeError, match="can't start"):
        await threads.Threads().run(list, on_return=lambda: returned.append(True))

    assert returned == [True]


async def test_a_cancelled_thread_stops_at_its_next_call_on_ctx(engine: Engines) -> None:
    begun, go_on, after = threading.Event(), threading.Event(), []

    def work(task: Any, ctx: Any) -> str:
        begun.set()
        assert go_on.wait(PATIENCE_S)
        ctx.progress(1, 2)
        after.append("still here")
        return "never"

    async with engine(agent("work", work)) as running:
        run_id = await running.submit()
        assert await anyio.to_thread.run_sync(begun.wait, PATIENCE_S)
        await running.host.order(Cancel(target=run_id))
        go_on.set()
        summary, _ = await running.ended(run_id)

    assert summary.status == "cancelled"
    assert after == []


async def test_a_thread_that_looks_at_cancelled_returns_its_partial_result(engine: Engines) -> None:
    begun = threading.Event()

    def work(task: Any, ctx: Any) -> str:
        begun.set()
        while not ctx.cancelled:
            threading.Event().wait(0.001)
        return "half of it"

    async with engine(agent("work", work)) as running:
        run_id = await running.submit()
        assert await anyio.to_thread.run_sync(begun.wait, PATIENCE_S)
        await running.host.order(Cancel(target=run_id))
        summary, _ = await running.ended(run_id)
        bodies = [record.body for record in await running.journal("attempt_cancelled")]

    assert summary.status == "cancelled"
    assert b"half of it" in bodies[0]


async def test_time_does_not_move_while_a_thread_works(engine: Engines) -> None:
    def work(task: Any, ctx: Any) -> str:
        threading.Event().wait(0.02)
        ctx.sleep(3600)
        return "rested"

    clock = VirtualClock()
    async with engine(agent("work", work, timeout_s=3601), clock=clock) as running:
        began_ms = clock.now_ms()

        assert await running.ask() == "rested"
        assert clock.now_ms() - began_ms == 3_600_000


@pytest.mark.parametrize("call", ["emit", "sleep"])
async def test_a_blocking_ctx_raises_at_once_in_the_engines_loop(engine: Engines, call: str) -> None:
    def lead(task: Any, ctx: Any) -> Any:
        async def look() -> None:
            ctx.emit("looking") if call == "emit" else ctx.sleep(1)

        return ctx.step("look", look)

    async with engine(agent("lead", lead, on_failure=[])) as running:
        assert "the ctx of a plain def blocks, and cannot be called in the engine's event loop" in await running.fails()


async def test_a_thread_that_waits_for_an_engine_which_is_lost_is_told_that_its_attempt_is_over(
    engine: Engines,
) -> None:
    ended = list[str]()

    def lead(task: Any, ctx: Any) -> Any:
        try:
            return ctx.delegate("nap", "a")
        except BaseException as error:
            ended.append(type(error).__name__)
            raise

    async def nap(text: str) -> None:
        await anyio.sleep_forever()

    async with engine(agent("lead", lead), agent("nap", nap), participants=["lead"]) as running:
        await running.submit()
        await running.until(lambda state: any(task.parent_id == "t2" and task.attempt for task in state.tasks.values()))

    async def told() -> list[str]:
        return ended

    assert await soon(told) == ["AttemptInterrupted"]
