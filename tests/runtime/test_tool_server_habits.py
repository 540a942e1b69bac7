"""Tool servers that are not perfect: each odd answer costs its own call, at once, with one line that says why."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from engine import AgentSpec, Fail, SupervisorOptions, ToolError
from engine.core.specs.model_spec import McpSpec
from tests.runtime.engines import Engines
from tests.runtime.tool_server import GATEWAYS, HABITS, ONCE

pytestmark = pytest.mark.anyio

SERVER = Path(__file__).with_name("tool_server.py")
ONE_ANSWER = {"log and progress", "requests", "new tools", "twice"}
"""What a body of JSON cannot hold: more than one message."""


@contextmanager
def at_address(notes: Path, misbehaviour: str = "", port: int = 0) -> Iterator[McpSpec]:
    argv = [sys.executable, str(SERVER), "web", misbehaviour, str(notes)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env={**os.environ, "PORT": str(port)}) as process:
        assert process.stdout is not None
        try:
            yield McpSpec(url=process.stdout.readline().strip())
        finally:
            process.kill()


@contextmanager
def reached(transport: str, notes: Path, misbehaviour: str = "") -> Iterator[McpSpec]:
    """Run a server over pipes, or at an address that answers with bodies (`json`) or with streams (`events`)."""
    if transport == "stdio":
        yield McpSpec(argv=(sys.executable, str(SERVER), "stdio", misbehaviour, str(notes)))
    else:
        with at_address(notes, "events" if transport == "events" else misbehaviour) as spec:
            yield spec


async def outcomes(engine: Engines, server: McpSpec, names: list[str]) -> list[Any]:
    """Return the result or the error of each call, one after another in one attempt."""

    async def work(task: Any, ctx: Any) -> Any:
        ends: list[Any] = []

        for name in names:
            try:
                ends.append([False, await ctx.tool("files/habit", name=name)])
            except ToolError as error:
                ends.append([True, str(error)])
        return ends

    spec = AgentSpec(name="ada", run=work, mcp=("files",), on_failure=[Fail()])
    async with engine(spec, options=SupervisorOptions(mcp={"files": server})) as running:
        output: Any = await running.ask()
    return list(output)


@pytest.mark.parametrize("transport", ["stdio", "json", "events"])
async def test_each_odd_answer_costs_its_own_call_at_once(engine: Engines, tmp_path: Path, transport: str) -> None:
    notes = tmp_path / "notes"
    names = [
        name for name, habit in HABITS.items()
        if (transport != "stdio" or habit.status == 200) and (transport != "json" or name not in ONE_ANSWER)
    ]  # fmt: skip
    with reached(transport, notes) as server:
        ends = await outcomes(engine, server, [*names, "well"])

    unexpected = {}
    for name, (is_error, outcome) in zip(names, ends, strict=False):
        text = outcome if isinstance(outcome, str) else json.dumps(outcome)
        if HABITS[name].outcome not in text or is_error != HABITS[name].is_error or "\n" in text:
            unexpected[name] = text[:300]
    assert unexpected == {}
    assert ends[-1] == [False, "well"]
    lines = notes.read_text().splitlines()
    assert sum(line.startswith("start ") for line in lines) == 1
    for name in names:  # a call that was refused with its session is made once more, any other never
        assert lines.count(f"habit {name}") == (2 if name.endswith("for ever") else 1), name


@pytest.mark.parametrize("name", ONCE)
async def test_a_server_that_forgot_its_sessions_is_given_a_new_one(engine: Engines, tmp_path: Path, name: str) -> None:
    notes = tmp_path / "notes"
    with at_address(notes) as server:
        assert await outcomes(engine, server, ["before", name, "after"]) == [
            [False, "before"], [False, name], [False, "after"],
        ]  # fmt: skip
    assert notes.read_text().count("session") == 2


@pytest.mark.parametrize("name", GATEWAYS)
async def test_a_call_whose_gateway_lost_the_server_is_in_doubt_and_not_made_again(
    engine: Engines, tmp_path: Path, name: str
) -> None:
    notes = tmp_path / "notes"

    async def work(task: Any, ctx: Any) -> Any:
        return await ctx.tool("files/habit", name=name)

    spec = AgentSpec(name="ada", run=work, mcp=("files",), on_failure=[Fail()])
    with at_address(notes) as server:
        async with engine(spec, options=SupervisorOptions(mcp={"files": server})) as running:
            await running.submit()
            await running.until(lambda state: bool(state.escalations or state.finished))
            assert [question.kind for question in running.state.escalations.values()] == ["doubt"]
    assert notes.read_text().count(f"habit {name}") == 1


async def test_tools_that_are_described_oddly_are_offered(engine: Engines, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    names: list[str] = []

    async def work(task: Any, ctx: Any) -> Any:
        return [await ctx.tool(f"files/{name}") for name in names]

    with reached("stdio", notes, "lists oddly") as server:
        spec = AgentSpec(name="ada", run=work, mcp=("files",), on_failure=[Fail()])
        async with engine(spec, options=SupervisorOptions(mcp={"files": server})) as running:
            assert await running.ask() == []
            names = ["odd name!"]
            assert await running.ask() == ["odd"]
    assert notes.read_text().count("list") == 2
