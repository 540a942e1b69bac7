"""An urgent run on a real engine takes a slot at the next step, and what made way goes on where it was."""

from typing import Any

import anyio
import pytest

from engine.core.commands import Answer, Submit
from engine.core.specs.options import Preempt, SupervisorOptions
from engine.core.specs.spec import AgentSpec
from tests.runtime.engines import Engine, Engines

pytestmark = pytest.mark.anyio


class Desk:
    """One desk at which work is done in two steps, with a gate between them for everything that is not urgent."""

    def __init__(self) -> None:
        self.begun, self.gate = anyio.Event(), anyio.Event()
        self.log: list[str] = []

    async def work(self, task: Any, ctx: Any) -> str:
        """Read, wait at the gate, and write."""
        await ctx.step("read", self._noted, f"read {task.request}")
        self.begun.set()
        if task.request != "urgent":
            await self.gate.wait()
        await ctx.step("write", self._noted, f"write {task.request}")
        return str(task.request)

    async def _noted(self, what: str) -> str:
        self.log.append(what)
        return what


async def urgent_while_busy(running: Engine, desk: Desk) -> list[Any]:
    """Begin usual work, submit urgent work once that has done a step, and return how both ended."""
    usual = await running.submit("usual")
    await desk.begun.wait()
    applied = await running.host.order(Submit(request="urgent", priority=0))
    return [str(applied.result["run_id"]), usual]


async def test_an_urgent_run_is_done_before_the_one_at_work_which_repeats_no_step(engine: Engines) -> None:
    desk = Desk()
    async with engine(AgentSpec(name="desk", run=desk.work)) as running:
        urgent, usual = await urgent_while_busy(running, desk)
        assert len(await running.journal("preemption_asked")) == 1
        desk.gate.set()
        outputs = [(await running.ended(run_id))[1] for run_id in (urgent, usual)]
        preempted = await running.journal("attempt_preempted")

    assert outputs == ["urgent", "usual"]
    assert desk.log == ["read usual", "read urgent", "write urgent", "write usual"]
    assert len(preempted) == 1


async def test_now_takes_the_slot_from_work_that_comes_to_no_step(engine: Engines) -> None:
    desk = Desk()
    options = SupervisorOptions(preempt=Preempt(at="now"))
    async with engine(AgentSpec(name="desk", run=desk.work), options=options) as running:
        urgent, usual = await urgent_while_busy(running, desk)
        assert (await running.ended(urgent))[1] == "urgent"
        desk.gate.set()
        assert (await running.ended(usual))[1] == "usual"

    assert desk.log == ["read usual", "read urgent", "write urgent", "write usual"]


async def test_work_without_another_step_ends_in_peace_and_the_urgent_run_follows(engine: Engines) -> None:
    gate, begun, order = anyio.Event(), anyio.Event(), []

    async def work(text: str) -> str:
        order.append(text)
        begun.set()
        await gate.wait()
        return text

    async with engine(AgentSpec(name="desk", run=work)) as running:
        usual = await running.submit("usual")
        await begun.wait()
        urgent = (await running.host.order(Submit(request="urgent", priority=0))).result["run_id"]
        gate.set()
        assert [(await running.ended(str(run_id)))[1] for run_id in (usual, urgent)] == ["usual", "urgent"]

    assert order == ["usual", "urgent"]


async def test_work_that_comes_to_a_question_makes_way_before_it_is_asked(engine: Engines) -> None:
    desk = Desk()

    async def work(task: Any, ctx: Any) -> str:
        desk.begun.set()
        if task.request != "urgent":
            await desk.gate.wait()
            await ctx._work.questions.approve("send", {}, "always")
        return str(task.request)

    async with engine(AgentSpec(name="desk", run=work)) as running:
        urgent, usual = await urgent_while_busy(running, desk)
        desk.gate.set()
        assert (await running.ended(urgent))[1] == "urgent"

        await running.until(lambda state: bool(state.escalations))
        (question,) = running.state.escalations
        await running.host.order(Answer(escalation=question, answer="allow_once"))
        assert (await running.ended(usual))[1] == "usual"
