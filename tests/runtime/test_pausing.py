"""A pause takes effect at the next step: nothing that costs begins, the slot is free, and time limits stand still."""

from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import AgentSpec, tool
from engine.core.commands import Answer, Pause, Resume
from engine.core.specs.model_spec import ModelSpec
from engine.core.specs.options import SupervisorOptions
from engine.platform.clock import VirtualClock
from tests.depth import examples
from tests.patience import PATIENCE_S
from tests.runtime.engines import Engine, Engines, running

pytestmark = pytest.mark.anyio


class Digger:
    """A function of two steps; the first ends when it may."""

    def __init__(self) -> None:
        self.begun, self.may_end = anyio.Event(), anyio.Event()
        self.calls: list[str] = []

    async def work(self, task: Any, ctx: Any) -> str:
        await ctx.step("one", self.first)
        return str(await ctx.step("two", self.second))

    async def first(self) -> str:
        self.calls.append("one")
        self.begun.set()
        await self.may_end.wait()
        return "dug"

    async def second(self) -> str:
        self.calls.append("two")
        return "done"


async def parked(running: Engine, why: str = "paused") -> None:
    await running.until(
        lambda state: any(task.attempt and task.attempt.parked_for == why for task in state.tasks.values())
    )


@pytest.mark.parametrize("target", ["ada", "team", "r1"])
async def test_an_attempt_parks_at_its_next_step_and_goes_on_after_the_pause(engine: Engines, target: str) -> None:
    digger = Digger()
    async with engine(AgentSpec(name="ada", run=digger.work)) as running:
        run = await running.submit()
        await digger.begun.wait()
        await running.host.order(Pause(target=target))
        digger.may_end.set()
        await parked(running)
        assert (digger.calls, running.state.agents["a1"].running) == (["one"], {})

        await running.host.order(Resume(target=target))

        assert (await running.ended(run))[1] == "done"
        assert digger.calls == ["one", "two"]


async def test_of_two_pauses_both_have_to_end(engine: Engines) -> None:
    digger = Digger()
    async with engine(AgentSpec(name="ada", run=digger.work)) as running:
        run = await running.submit()
        await digger.begun.wait()
        for target in ("ada", "r1"):
            await running.host.order(Pause(target=target))
        digger.may_end.set()
        await parked(running)
        await running.host.order(Resume(target="ada"))
        await running.host.wait_until_written()
        assert digger.calls == ["one"]

        await running.host.order(Resume(target="r1"))

        assert (await running.ended(run))[0].status == "done"


async def test_a_pause_now_sets_the_attempt_aside_and_keeps_its_steps(engine: Engines) -> None:
    digger = Digger()
    digger.may_end.set()
    hangs, calls = anyio.Event(), digger.calls

    async def work(task: Any, ctx: Any) -> str:
        await ctx.step("one", digger.first)
        if len(calls) == 1:
            calls.append("cut off")
            hangs.set()
            await anyio.sleep_forever()
        return "done"

    async with engine(AgentSpec(name="ada", run=work)) as running:
        run = await running.submit()
        await hangs.wait()
        applied = await running.host.order(Pause(target="ada", now=True))
        await running.until(lambda state: all(task.attempt is None for task in state.tasks.values()))
        assert applied.summary == "paused ada; 1 attempt set aside"
        assert [record.kind for record in await running.journal("attempt_set_aside")] == ["attempt_set_aside"]

        await running.host.order(Resume(target="ada"))

        assert (await running.ended(run))[1] == "done"
        assert calls == ["one", "cut off"]


async def test_a_step_beside_one_that_runs_waits_for_the_end_of_the_pause_only(engine: Engines) -> None:
    digger = Digger()

    async def work(task: Any, ctx: Any) -> str:
        async def later() -> None:
            await digger.begun.wait()
            await paused.wait()
            await ctx.step("two", digger.second)
            digger.may_end.set()

        async with anyio.create_task_group() as group:
            group.start_soon(later)
            first: str = await ctx.step("one", digger.first)
        return first

    paused = anyio.Event()
    async with engine(AgentSpec(name="ada", run=work)) as running:
        run = await running.submit()
        await digger.begun.wait()
        await running.host.order(Pause(target="ada"))
        paused.set()
        await anyio.wait_all_tasks_blocked()
        assert digger.calls == ["one"]

        await running.host.order(Resume(target="ada"))

        with anyio.fail_after(PATIENCE_S):
            assert (await running.ended(run))[0].status == "done"
        assert not await running.journal("attempt_parked")


async def test_time_limits_stand_still_in_a_pause(engine: Engines) -> None:
    async def work(task: Any, ctx: Any) -> str:
        for number in range(4):
            await ctx.step(f"part {number}", ctx.sleep, 10)
        return "done"

    async with engine(AgentSpec(name="ada", run=work, timeout_s=60), clock=VirtualClock()) as running:
        run = await running.submit()
        await running.host.order(Pause(target="ada"))
        await parked(running)
        await running.host.clock.sleep_until(running.host.clock.now_ms() + 3_600_000)
        await running.host.order(Resume(target="ada"))

        summary, _ = await running.ended(run)

        assert (summary.status, summary.usage.time_ms) == ("done", 40_000)


@given(st.lists(st.tuples(st.sampled_from(["ada", "team", "r1"]), st.integers(0, 30)), max_size=8))
@settings(max_examples=examples(15))
def test_whatever_is_paused_and_resumed_every_step_runs_once_and_no_time_of_a_pause_counts(
    changes: list[tuple[str, int]],
) -> None:
    async def history() -> None:
        async def work(task: Any, ctx: Any) -> str:
            for number in range(4):
                await ctx.step(f"part {number}", ctx.sleep, 10)
            return "done"

        async with running(AgentSpec(name="ada", run=work, timeout_s=60), clock=VirtualClock()) as team:
            run, paused = await team.submit(), set[str]()
            for target, seconds in changes:
                await team.host.clock.sleep_until(team.host.clock.now_ms() + 1_000 * seconds)
                if run not in team.state.runs:
                    break
                await team.host.order(Resume(target=target) if target in paused else Pause(target=target))
                paused ^= {target}
            for target in sorted(paused) if run in team.state.runs else ():
                await team.host.order(Resume(target=target))
            summary, _ = await team.ended(run)

        assert (summary.status, summary.usage.time_ms) == ("done", 40_000)

    anyio.run(history)


def played(*replies: Any) -> dict[str, Any]:
    return {"options": SupervisorOptions(models={"script": ModelSpec(replies=replies)})}


async def test_a_model_is_not_asked_for_its_next_turn(engine: Engines) -> None:
    begun, may_end = anyio.Event(), anyio.Event()

    @tool(idempotent=True)
    async def look(where: str) -> str:
        """Look."""
        begun.set()
        await may_end.wait()
        return where

    replies = {"calls": [{"name": "look", "arguments": {"where": "there"}}]}, {"text": "saw {text}"}
    async with engine(AgentSpec(name="ada", model="script", tools=(look,)), **played(*replies)) as running:
        run = await running.submit()
        await begun.wait()
        await running.host.order(Pause(target="ada"))
        may_end.set()
        await parked(running)
        assert len(await running.journal("step_recorded")) == 2

        await running.host.order(Resume(target="ada"))

        assert (await running.ended(run))[1] == "saw there"


async def test_a_tool_that_a_person_allows_in_a_pause_is_called_after_it(engine: Engines) -> None:
    paid: list[int] = []

    @tool(approve="always")
    def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return "paid"

    replies = {"calls": [{"name": "pay", "arguments": {"amount": 2}}]}, {"text": "{text}"}
    async with engine(AgentSpec(name="ada", model="script", tools=(pay,)), **played(*replies)) as running:
        run = await running.submit()
        await running.until(lambda state: bool(state.escalations))
        await running.host.order(Pause(target="ada"))
        await running.host.order(Answer(escalation=next(iter(running.state.escalations)), answer="allow_once"))
        await parked(running)
        assert paid == []

        await running.host.order(Resume(target="ada"))

        assert (await running.ended(run))[1] == "paid"


async def test_whoever_is_paused_keeps_no_place_at_a_tool(engine: Engines) -> None:
    may_end = anyio.Event()
    called: list[str] = []

    @tool(at_once=1, idempotent=True)
    async def narrow(name: str) -> str:
        """Let one in."""
        called.append(name)
        await may_end.wait()
        return name

    async def work(task: Any, ctx: Any) -> str:
        return str(await ctx.tool("narrow", ctx.agent))

    specs = [AgentSpec(name=name, run=work, tools=(narrow,)) for name in ("ada", "bob", "cyd")]
    async with engine(*specs, mode="parallel") as running:
        await running.submit()
        await running.until(
            lambda state: sum(bool(task.attempt and task.attempt.parked_for) for task in state.tasks.values()) == 2
        )
        waiting = [task.agent_id for task in running.state.tasks.values() if task.attempt and task.attempt.parked]
        await running.host.order(Pause(target=f"@{waiting[0]}"))
        may_end.set()

        with anyio.fail_after(PATIENCE_S):
            await running.until(lambda state: state.agents[waiting[1] or ""].done == 1)
        assert len(called) == 2
