"""The pulse of an attempt: what runs, when it said something last, and whether it repeats itself."""

import json
from typing import Any

import pytest

from engine.core.activities import Activities, parse_live
from engine.core.specs.model_spec import ModelSpec
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import AgentSpec
from engine.stream import pulses
from tests.runtime.engines import Engines

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Publish pulses without the pause between them."""
    monkeypatch.setattr(pulses, "EVERY_S", 0.0)


async def test_an_attempt_at_work_publishes_its_steps_until_it_ends(engine: Engines) -> None:
    shown: list[dict[str, str]] = []

    def look() -> str:
        shown.append({key: text for key, text in board.take().items() if key.startswith("pulse:")})
        return "seen"

    async def work(task: Any, ctx: Any) -> Any:
        ctx.emit("so far")
        return await ctx.step("look", look)

    async with engine(AgentSpec(name="scout", run=work)) as running:
        board = running.host.bus.board
        assert await running.ask() == "seen"

        ((key, text),) = shown[0].items()
        pulse = json.loads(text)
        assert [(step["what"], step["name"]) for step in pulse["steps"]] == [("code", "look")]
        assert pulse["chunk_ms"] <= pulse["steps"][0]["since_ms"]
        assert board.take()[key] == ""


async def test_a_model_that_repeats_its_calls_is_stuck_before_the_third_time_ends_it(engine: Engines) -> None:
    shown: list[tuple[str, str]] = []

    def search(words: str) -> str:
        state = running.state
        activity = Activities(state, parse_live(board.take()), state.at_ms).of_agent(*state.agents.values())
        shown.append((activity.kind, activity.words))
        return "nothing"

    calls: dict[str, Any] = {"calls": [{"name": "search", "arguments": {"words": "tides"}}]}
    model = ModelSpec(replies=[calls, calls, calls, {"text": "done"}])
    ada = AgentSpec(name="ada", model="fake", tools=[search])
    async with engine(ada, options=SupervisorOptions(models={"fake": model})) as running:
        board = running.host.bus.board
        assert "three times in a row" in await running.fails()

    assert [kind for kind, _ in shown] == ["working", "working", "stuck"]
    assert shown[0][1] == "search tides"
    assert shown[2][1] == "repeats search: the same results"
