"""What is shown of an attempt while it works: thoughts and running tools stand in the live texts, and leave them."""

import json
from typing import Any

import anyio
import pytest

from engine.core.specs.spec import AgentSpec
from engine.stream.board import LiveTexts
from engine.stream.records import Piece, Speaker
from tests.patience import PATIENCE_S
from tests.runtime.engines import Engines


@pytest.mark.anyio
async def test_a_tool_that_runs_is_shown_with_its_arguments_until_it_returns(engine: Engines) -> None:
    shown: list[dict[str, str]] = []

    async def search(text: str, limit: int = 5) -> str:
        shown.append(running.store.live.texts())
        return f"{limit} found"

    async def ask(task: Any, ctx: Any) -> Any:
        found = await ctx.tool("search", text="tides", limit=2)
        with anyio.fail_after(PATIENCE_S):
            while running.store.live.texts():
                await ctx.sleep(0.01)
        return found

    async with engine(AgentSpec(name="scout", run=ask, tools=[search])) as running:
        assert await running.ask() == "2 found"

        ((key, text),) = shown[0].items()
        assert key.startswith("call:t")
        (call,) = json.loads(text)
        assert (call["name"], call["arguments"]) == ("search", {"text": "tides", "limit": 2})


@pytest.mark.anyio
async def test_the_values_of_secrets_are_not_shown_with_a_running_tool(engine: Engines, monkeypatch: Any) -> None:
    monkeypatch.setenv("SHOP_API_KEY", "sk-planted-4711")
    shown: list[str] = []

    async def buy(what: str, password: str) -> None:
        shown.extend(running.store.live.texts().values())

    async def ask(task: Any, ctx: Any) -> None:
        await ctx.tool("buy", "sk-planted-4711", password="hidden too")

    async with engine(AgentSpec(name="shopper", run=ask, tools=[buy])) as running:
        await running.ask()

    assert "sk-planted-4711" not in shown[0]
    assert "hidden too" not in shown[0]
    assert "[SHOP_API_KEY]" in shown[0]


@pytest.mark.anyio
async def test_what_an_attempt_shows_is_gone_when_it_has_ended(engine: Engines) -> None:
    def wait(task: Any, ctx: Any) -> None:
        ctx.emit("Reading")
        raise ValueError("no such page")

    async with engine(AgentSpec(name="reader", run=wait)) as running:
        await running.fails()
        assert running.store.live.texts() == {}


def test_a_thought_is_shown_until_the_step_that_it_belongs_to_is_recorded() -> None:
    board = LiveTexts(with_recent=True, on_change=lambda: None)
    speaker = Speaker(run_id="r1", task_id="t1", attempt=1, agent_id="a1", agent="ada")
    board.add(Piece(speaker, "thought", 0, "Where?"))
    board.add(Piece(speaker, "text", 0, "Here."))
    before = board.take()
    board.note(7, "t1")
    after = board.take()

    assert (before["thought:t1"], before["output:t1"]) == ("Where?", "Here.")
    assert after["thought:t1"] == ""
    assert "output:t1" not in after


def test_the_text_of_a_model_is_live_until_its_answer_is_recorded_and_that_of_a_function_until_it_ends() -> None:
    board = LiveTexts(with_recent=True, on_change=lambda: None)
    speaker = Speaker(run_id="r1", task_id="t1", attempt=1, agent_id="a1", agent="ada")
    board.add(Piece(speaker, "text", 0, "I ask the scouts."))
    board.note(7, "t1")
    assert board.take()["output:t1"] == "I ask the scouts."
    board.note(8, "t1", ends_text=True)
    assert board.take()["output:t1"] == ""
    board.add(Piece(speaker, "text", 0, "# Trams"))
    assert board.take()["output:t1"] == "# Trams"
