"""What runs holds a slot: steps beside a delegation wait for one, and give it back when they have ended."""

from typing import Any

import anyio
import pytest

from engine import AgentSpec
from tests.patience import PATIENCE_S
from tests.runtime.engines import Engines

pytestmark = pytest.mark.anyio


class Crew:
    """A lead that asks bob, and does a step of its own beside that."""

    def __init__(self) -> None:
        self.step_runs, self.step_may_end = anyio.Event(), anyio.Event()
        self.bob_works, self.bob_may_end = anyio.Event(), anyio.Event()
        self.resumed = anyio.Event()

    async def bob(self, text: str) -> str:
        self.bob_works.set()
        await self.bob_may_end.wait()
        return "dug"

    async def step(self) -> str:
        self.step_runs.set()
        await self.step_may_end.wait()
        return "thought"


def kinds(records: list[Any]) -> list[str]:
    return [record.kind for record in records]


async def test_a_step_that_runs_keeps_the_slot_and_its_end_gives_it_back(engine: Engines) -> None:
    crew = Crew()

    async def lead(task: Any, ctx: Any) -> str:
        async with anyio.create_task_group() as group:
            group.start_soon(ctx.step, "think", crew.step)
            await crew.step_runs.wait()
            answer: str = await ctx.delegate("bob", "dig")
        return answer

    async with engine(
        AgentSpec(name="lead", run=lead), AgentSpec(name="bob", run=crew.bob), participants=("lead",)
    ) as running:
        with anyio.fail_after(PATIENCE_S):
            run_id = await running.submit()
            await crew.bob_works.wait()
            task = next(one for one in running.state.tasks.values() if one.title == "lead")
            assert task.attempt is not None
            assert not task.attempt.parked
            crew.step_may_end.set()
            await running.until(lambda state: task.id in state.agents[task.agent_id or ""].parked)
            crew.bob_may_end.set()
            assert (await running.ended(run_id))[1] == "dug"
        assert kinds(await running.journal("attempt_parked")) == ["attempt_parked"]


async def test_a_step_after_a_delegation_began_waits_for_a_slot(engine: Engines) -> None:
    crew = Crew()

    async def lead(task: Any, ctx: Any) -> str:
        async def later() -> None:
            await crew.bob_works.wait()
            await ctx.step("think", crew.step)

        async with anyio.create_task_group() as group:
            group.start_soon(later)
            answer: str = await ctx.delegate("bob", "dig")
        return answer

    async with engine(
        AgentSpec(name="lead", run=lead), AgentSpec(name="bob", run=crew.bob), participants=("lead",)
    ) as running:
        with anyio.fail_after(PATIENCE_S):
            run_id = await running.submit()
            await crew.step_runs.wait()
            task = next(one for one in running.state.tasks.values() if one.title == "lead")
            assert task.attempt is not None
            assert not task.attempt.parked
            crew.step_may_end.set()
            crew.bob_may_end.set()
            assert (await running.ended(run_id))[1] == "dug"
        assert kinds(await running.journal("slot_wanted")) == ["slot_wanted"]


@pytest.mark.parametrize("in_thread", [False, True])
async def test_a_step_that_delegates_does_not_keep_the_slot_that_its_own_work_needs(
    engine: Engines, *, in_thread: bool
) -> None:
    async def asks(task: Any, ctx: Any) -> str:
        if task.value == "inner":
            return "inner is done"

        async def inside() -> Any:
            return await ctx.delegate("ada", "inner")

        answer: str = await ctx.step("ask myself", inside)
        return answer

    def asks_in_thread(task: Any, ctx: Any) -> str:
        if task.value == "inner":
            return "inner is done"
        answer: str = ctx.step("ask myself", lambda: ctx.delegate("ada", "inner"))
        return answer

    async with engine(AgentSpec(name="ada", run=asks_in_thread if in_thread else asks)) as running:
        with anyio.fail_after(PATIENCE_S):
            assert await running.ask() == "inner is done"
