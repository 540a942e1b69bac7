"""Tools that models and functions call: errors, time limits, how many at once, and what is journaled of them."""

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
import pytest

from engine import AgentSpec, ToolError, ToolTimeout, tool
from engine.core.commands import Cancel
from engine.core.records.records import JsonValue
from engine.core.state import Attempt, State
from engine.runtimes.attempts.work import Work
from engine.runtimes.catalogue import built_in
from engine.runtimes.code import Code
from engine.runtimes.toolbox.functions import FunctionTool
from tests.patience import PATIENCE_S
from tests.runtime.engines import Engine, Engines

pytestmark = pytest.mark.anyio

HERE = "tests.runtime.test_tools:"


@dataclass
class Weather:
    place: str
    degrees: float


at_work: list[int] = []
most_at_work: list[int] = []
leave: list[anyio.Event] = []


@pytest.fixture(autouse=True)
def afresh() -> None:
    for one in (at_work, most_at_work, leave):
        one.clear()
    leave.append(anyio.Event())


async def weather(place: str) -> Weather:
    """Say how it is somewhere."""
    return Weather(place, 21.5)


def divide(a: int, b: int) -> float:
    """Divide, in a thread."""
    assert threading.current_thread() is not threading.main_thread()
    return a / b


@tool(timeout_s=0.01)
async def hangs(place: str) -> str:
    """Never answer."""
    await anyio.sleep_forever()
    return place


async def leaves() -> str:
    """End the program, as it thinks."""
    raise SystemExit("usage: leaves")


def leaves_a_thread() -> str:
    """The same, in a thread."""
    raise KeyboardInterrupt


@tool(at_once=2, idempotent=True)
async def crowded(number: int) -> int:
    """Count who is here."""
    at_work.append(number)
    most_at_work.append(len(at_work))
    await leave[0].wait()
    at_work.remove(number)
    return number


@tool(name="renamed")
async def original() -> str:
    """Have another name."""
    return "done"


class Opaque:
    """Nothing that a schema could hold."""


def strange(thing: Opaque) -> None:
    """Take what no model can give."""


class ModelPlayed:
    """Calls a tool as a model would: `{"tool": name, "arguments": {…}}`, and answers with what it is told."""

    def __init__(self, spec: AgentSpec, code: Code) -> None:
        self._spec = spec
        self._code = code
        self._tools: dict[str, FunctionTool] = {}

    async def check(self) -> None:
        self._tools = await self._code.load_tools(self._spec, described=True)

    async def execute(self, work: Work) -> JsonValue:
        request: Any = await work.value()
        key = work.attempt.key(request["tool"], request["arguments"])
        async with work.slot.step("tool", f"tool:{request['tool']}"):
            try:
                return {"result": await self._tools[request["tool"]].call(work, request["arguments"], key)}
            except ToolError as error:
                return {"error": str(error)}


@asynccontextmanager
async def played(engine: Engines, *tools: str, **settings: Any) -> AsyncIterator[Engine]:
    runtimes = {**built_in(), "played": ModelPlayed}
    spec = AgentSpec(name="ada", agent_type="played", tools=tuple(HERE + one for one in tools), **settings)
    async with engine(spec, host={"runtimes": runtimes}) as running:
        yield running


async def test_a_model_calls_functions_async_or_plain(engine: Engines) -> None:
    async with played(engine, "weather", "divide") as running:
        assert await running.ask({"tool": "divide", "arguments": {"a": 7, "b": 2}}) == {"result": 3.5}
        assert await running.ask({"tool": "weather", "arguments": {"place": "Lisbon"}}) == {
            "result": {"place": "Lisbon", "degrees": 21.5}
        }


async def test_a_model_is_told_what_a_tool_raises_and_which_argument_is_wrong(engine: Engines) -> None:
    async with played(engine, "divide") as running:
        assert await running.ask({"tool": "divide", "arguments": {"a": 1, "b": 0}}) == {
            "error": "ZeroDivisionError: division by zero"
        }
        assert await running.ask({"tool": "divide", "arguments": {"a": 1}}) == {
            "error": "wrong arguments of divide: b: Field required"
        }
        began = await running.journal("tool_started")
        assert len(began) == 1  # the wrong argument was found before anything began


@pytest.mark.parametrize(
    ("name", "says"), [("leaves", "SystemExit: usage: leaves"), ("leaves_a_thread", "KeyboardInterrupt")]
)
async def test_a_tool_that_would_end_the_program_has_raised_and_is_not_in_doubt(
    engine: Engines, name: str, says: str
) -> None:
    async def work(task: Any, ctx: Any) -> str:
        try:
            await ctx.tool(name)
        except ToolError as error:
            return f"heard: {error}"
        return "went on"

    async with played(engine, name) as running:
        assert await running.ask({"tool": name, "arguments": {}}) == {"error": says}
    async with engine(AgentSpec(name="ada", run=work, tools=(leaves, leaves_a_thread))) as running:
        assert await running.ask() == f"heard: {says}"
        assert len(await running.journal("tool_failed")) == 1


async def test_a_tool_that_takes_too_long_ends_with_an_error_and_the_run_goes_on(engine: Engines) -> None:
    async with played(engine, "hangs") as running:
        assert await running.ask({"tool": "hangs", "arguments": {"place": "x"}}) == {
            "error": "tool 'hangs' took longer than its 0.01 s; what it does may still happen"
        }


async def test_a_function_hears_of_the_time_limit_of_its_tool_too(engine: Engines) -> None:
    async def work(task: Any, ctx: Any) -> str:
        try:
            await ctx.tool("hangs", "x")
        except ToolTimeout as late:
            return f"gave up on {late.name} after {late.timeout_s}"
        return "went on"

    async with engine(AgentSpec(name="ada", run=work, tools=(hangs,))) as running:
        assert await running.ask() == "gave up on hangs after 0.01"


async def test_no_more_calls_of_a_tool_are_under_way_than_it_says_whoever_calls(engine: Engines) -> None:
    async def work(task: Any, ctx: Any) -> Any:
        return await ctx.tool("crowded", int(task.text))

    specs = [AgentSpec(name=f"a{at}", run=work, tools=(crowded,), max_concurrency=5) for at in range(2)]
    async with engine(*specs) as running, anyio.create_task_group() as group:
        runs = [await running.submit(str(at)) for at in range(6)]
        with anyio.fail_after(PATIENCE_S):
            while len(at_work) < 2:
                await anyio.lowlevel.checkpoint()
        leave[0].set()
        for run in runs:
            group.start_soon(running.ended, run)

    assert max(most_at_work) == 2
    assert len(most_at_work) == 12


async def test_a_call_that_waits_for_its_turn_is_stopped_with_its_attempt(engine: Engines) -> None:
    async def work(task: Any, ctx: Any) -> Any:
        return await ctx.tool("crowded", 1)

    async with engine(AgentSpec(name="ada", run=work, tools=(crowded,), max_concurrency=5)) as running:
        first = [await running.submit() for _ in range(2)]
        third = await running.submit()
        await running.until(lambda state: sum(task.attempt is not None for task in state.tasks.values()) == 3)
        await running.host.order(Cancel(target=third))
        summary, _ = await running.ended(third)
        leave[0].set()
        for run in first:
            assert (await running.ended(run))[0].status == "done"

    assert summary.status == "cancelled"


async def test_a_call_that_waits_for_its_turn_holds_no_slot(engine: Engines) -> None:
    async def work(task: Any, ctx: Any) -> Any:
        return await ctx.tool("crowded", 1)

    async with engine(AgentSpec(name="ada", run=work, tools=(crowded,), max_concurrency=3)) as running:
        runs = [await running.submit() for _ in range(4)]
        # The third call waits, so that a fourth attempt begins beside it, although ada works on three at a time.
        await running.until(lambda state: sum(one.parked_for == "tool" for one in attempts(state)) == 2)
        assert len(attempts(running.state)) == 4
        leave[0].set()
        for run in runs:
            assert (await running.ended(run))[0].status == "done"

    assert max(most_at_work) == 2


def attempts(state: State) -> list[Attempt]:
    return [task.attempt for task in state.tasks.values() if task.attempt is not None]


async def test_a_tool_is_called_by_the_name_that_it_was_given(engine: Engines) -> None:
    async def work(task: Any, ctx: Any) -> Any:
        return await ctx.tool("renamed")

    async with engine(AgentSpec(name="ada", run=work, tools=(original,))) as running:
        assert await running.ask() == "done"


async def test_a_tool_that_cannot_be_described_makes_the_agent_of_a_model_unusable(engine: Engines) -> None:
    async with played(engine, "strange") as running:
        error = await running.fails({"tool": "strange", "arguments": {}})

    assert error.startswith("ada: tool 'strange': its parameter 'thing' of type Opaque cannot be described to a model")


async def test_the_schema_of_a_tool_is_made_once_for_all_specs_that_name_it(engine: Engines) -> None:
    made: list[FunctionTool] = []

    class Keeps(ModelPlayed):
        async def check(self) -> None:
            await super().check()
            made.extend(self._tools.values())

        async def execute(self, work: Work) -> JsonValue:
            return "done"

    specs = [
        AgentSpec(name=f"a{at}", agent_type="keeps", tools=(HERE + "weather",), options={"at": at}) for at in range(3)
    ]
    async with engine(*specs, host={"runtimes": {**built_in(), "keeps": Keeps}}) as running:
        await running.ask()

    assert len(made) == 3
    assert len({id(one) for one in made}) == 1
    assert len({id(one.parameters) for one in made}) == 1
