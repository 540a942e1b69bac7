"""Tools that must not be called twice, with a real engine that is lost in the middle of a call."""

from pathlib import Path
from typing import Any

import anyio
import pytest

from engine import AgentCrashed, idempotent, tool
from engine.core.commands import Answer
from engine.core.specs.model_spec import ModelSpec
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import AgentSpec, Retry
from engine.platform.clock import VirtualClock
from tests.patience import PATIENCE_S
from tests.runtime.engines import Engine, Engines

pytestmark = pytest.mark.anyio

paid: list[str] = []
keys: list[str] = []
hangs: list[bool] = []


@pytest.fixture(autouse=True)
def afresh() -> None:
    for one in (paid, keys, hangs):
        one.clear()


async def pay(amount: str) -> str:
    """Take money, and hang before it says so where it is told to."""
    paid.append(amount)
    if hangs:
        await anyio.sleep_forever()
    return f"receipt for {amount}"


@idempotent
async def look(what: str, idempotency_key: str = "") -> str:
    """Look something up; may be done as often as one likes."""
    keys.append(idempotency_key)
    if hangs:
        await anyio.sleep_forever()
    return what


async def refuses(amount: str) -> str:
    paid.append(amount)
    raise ValueError("no money")


async def buys(task: Any, ctx: Any) -> str:
    return str(await ctx.tool("pay", "5"))


async def looks(task: Any, ctx: Any) -> str:
    return str(await ctx.tool("look", "weather"))


async def tries(task: Any, ctx: Any) -> str:
    return str(await ctx.tool("refuses", "5"))


BUYER = AgentSpec(name="buyer", run=buys, tools=[pay])


async def in_the_call(running: Engine, done: list[str]) -> None:
    """Begin a run, and return once its tool has been called."""
    await running.submit()
    with anyio.fail_after(PATIENCE_S):
        while not done:
            await anyio.lowlevel.checkpoint()


async def cut_off(engine: Engines, path: Path, spec: AgentSpec, done: list[str]) -> None:
    """Lose an engine in the middle of a tool call."""
    hangs.append(True)
    async with engine(spec, path=path) as running:
        await in_the_call(running, done)
    hangs.clear()


@pytest.mark.parametrize(("answer", "times", "output"), [("ran", 1, "by hand"), ("again", 2, "receipt for 5")])
async def test_a_tool_runs_twice_only_where_a_person_says_so(
    engine: Engines, tmp_path: Path, answer: str, times: int, output: str
) -> None:
    await cut_off(engine, tmp_path / "team.db", BUYER, paid)

    async with engine(path=tmp_path / "team.db") as running:
        await running.until(lambda state: bool(state.escalations))
        assert paid == ["5"]
        (question,) = running.state.escalations
        await running.host.order(Answer(escalation=question, answer=answer, output="by hand"))
        assert (await running.ended("r1"))[1] == output

    assert len(paid) == times


async def test_an_idempotent_tool_is_called_again_with_the_same_key(engine: Engines, tmp_path: Path) -> None:
    await cut_off(engine, tmp_path / "team.db", AgentSpec(name="looker", run=looks, tools=[look]), keys)

    async with engine(path=tmp_path / "team.db") as running:
        assert (await running.ended("r1"))[1] == "weather"

    assert len(keys) == 2
    assert len(set(keys)) == 1
    assert keys[0].startswith("t")


async def test_a_call_is_on_disk_before_it_is_made_and_its_end_with_its_output(engine: Engines) -> None:
    async with engine(BUYER) as running:
        assert await running.ask() == "receipt for 5"
        kinds = [record.kind for record in await running.journal() if record.task_id == "t2"]

    assert kinds == ["attempt_started", "tool_started", "step_recorded", "attempt_done"]


async def test_a_tool_that_raises_has_ended_and_the_policies_go_on(engine: Engines) -> None:
    spec = AgentSpec(name="tries", run=tries, tools=[refuses], on_failure=[Retry(1, 0.001, 0.001)])
    async with engine(spec) as running:
        assert "no money" in await running.fails()
        assert running.state.escalations == {}

    assert len(paid) == 2


class CrashedAgent(AgentCrashed):
    pass


ERRORS = (AgentCrashed("no line"), CrashedAgent("no line"), ValueError("no"), SystemExit(3), TimeoutError(), None)


@pytest.mark.parametrize("error", ERRORS, ids=repr)
@pytest.mark.parametrize("kind", ["function", "thread", "model"])
async def test_a_call_that_ended_by_raising_has_ended_and_the_chain_decides_for_every_kind_of_agent(
    engine: Engines, kind: str, error: BaseException | None
) -> None:
    @tool(timeout_s=1)
    async def acts(amount: str) -> str:
        paid.append(amount)
        if error is None:
            await anyio.sleep_forever()
        raise error or AssertionError

    async def in_loop(task: Any, ctx: Any) -> Any:
        return await ctx.tool("acts", amount="5")

    def in_thread(task: Any, ctx: Any) -> Any:
        return ctx.tool("acts", amount="5")

    code: dict[str, Any] = {"function": {"run": in_loop}, "thread": {"run": in_thread}, "model": {"model": "fake"}}
    spec = AgentSpec(name="ada", tools=[acts], on_failure=[Retry(1, 0.01, 0.01)], **code[kind])
    replies = ModelSpec(replies=[{"calls": [{"name": "acts", "arguments": {"amount": "5"}}]}, {"text": "noted"}])
    options = SupervisorOptions(models={"fake": replies})

    async with engine(spec, options=options, clock=VirtualClock()) as running:
        summary, output = await running.ended(await running.submit())
        begun, failed = await running.journal("tool_started"), await running.journal("tool_failed")
        steps = [step for step in await running.journal("step_recorded") if b'"tool:acts"' in step.body]
        assert not await running.journal("escalated")

    assert len(begun) == len(failed) + len(steps) == len(paid)
    is_told = kind == "model" and not isinstance(error, AgentCrashed)
    assert (summary.status, output) == (("done", "noted") if is_told else ("failed", None))
    assert len(paid) == (1 if is_told else 2)
