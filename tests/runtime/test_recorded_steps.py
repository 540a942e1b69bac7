"""What the journal says of a step: what it was, what it was called with as far as a person reads it, and no secret."""

import json
from typing import Any

import pytest

from engine import AgentSpec
from tests.runtime.engines import Engines

pytestmark = pytest.mark.anyio

SECRET = "sk-planted-in-the-environment"
CALLED: list[tuple[Any, ...]] = []


def search(words: str, *, most: int = 3) -> list[str]:
    """A tool."""
    CALLED.append((words, most))
    return [words] * most


async def steps_of(engine: Engines, work: Any, **spec: Any) -> list[dict[str, Any]]:
    async with engine(AgentSpec(name="ada", run=work, **spec)) as running:
        await running.ask()
        return [json.loads(record.body) for record in await running.journal("step_recorded")]


async def test_a_step_and_a_tool_are_recorded_with_what_they_were_called_with(engine: Engines) -> None:
    async def work(task: Any, ctx: Any) -> str:
        await ctx.step("read", lambda page, size: page, "a page", {"size": 3})
        await ctx.step("nothing", lambda: 1)
        await ctx.tool("search", "tides", most=2)
        return "done"

    steps = await steps_of(engine, work, tools=("tests.runtime.test_recorded_steps:search",))

    assert [(step["what"], step["name"], step["input"]) for step in steps] == [
        ("code", "read", ["a page", {"size": 3}]),
        ("code", "nothing", []),
        ("tool", "tool:search", [["tides"], {"most": 2}]),
    ]


async def test_a_large_input_is_cut_in_the_journal_and_given_whole(engine: Engines) -> None:
    async def work(task: Any, ctx: Any) -> int:
        length: int = await ctx.step("count", len, "x" * 10**6)
        return length

    (step,) = await steps_of(engine, work)

    assert step["output"] == 10**6
    assert len(json.dumps(step["input"])) < 1_000
    assert "1,000,000 characters" in step["input"][0]


async def test_no_secret_of_the_environment_is_in_an_input(engine: Engines, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEARCH_API_KEY", SECRET)

    async def work(task: Any, ctx: Any) -> str:
        await ctx.step("ask", lambda *given: "said", f"Bearer {SECRET}", {"deep": [SECRET * 40], SECRET: 1})
        monkeypatch.setenv("SEARCH_API_KEY", SECRET[::-1])
        await ctx.step("ask", lambda *given: "said", SECRET[::-1])
        return "done"

    steps = await steps_of(engine, work)

    assert [step["input"][0] for step in steps] == ["Bearer [SEARCH_API_KEY]", "[SEARCH_API_KEY]"]
    assert SECRET not in json.dumps(steps)
    assert SECRET[::-1] not in json.dumps(steps)
