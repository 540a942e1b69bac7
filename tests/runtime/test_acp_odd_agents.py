"""Agents with odd habits at the other end of the Agent Client Protocol: each costs an attempt at most, and one line.

The habits stand in a table of `acp_agent.py`; what comes of each stands here.
"""

import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from engine.core.specs.spec import AgentSpec
from tests.runtime.engines import Engines
from tests.runtime.test_jsonl_agents import steps

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(find_spec("acp") is None, reason="the extra is not installed"),
]

PROGRAM = Path(__file__).with_name("acp_agent.py")
LINK = "engine.runtimes.programs.acp_link"
"""By its name: workers that run none of these tests need not load the protocol."""

HARMLESS = {
    "an update of an unknown sort": "done",
    "an unknown notification": "done",
    "an unknown request": "done",
    "an unknown kind of tool": "done",
    "a call that ends and never began": "done",
    "a call that ends twice": "done",
    "a call with a million values": "done",
    "a call with half a character": "done",
    "bytes that are no UTF-8": "\ufffd\ufffd\ndone",
    "answers nobody waits for": "done",
    "usage in words": "done",
    "usage below zero": "done",
    "usage under _meta": "done",
    "money that is no number": "done",
    "leave with options of no kind": "Invalid params",
    "leave without options": "{'outcome': 'cancelled'}",
    "leave for a call with a million values": "Invalid params",
    "leave for two hundred calls at once": "more than 100 requests are open",
}
"""The output of an attempt, by the habit that does no harm to it."""
HARMFUL = {
    "no stop reason": "session/prompt: its answer is not one (stopReason: Field required)",
    "an unknown stop reason": "session/prompt: its answer is not one (stopReason: Input should be",
    "null as an answer": "session/prompt: its answer is not one",
    "a line that never ends": "wrote a line that is too long",
    "lines without end": "wrote more than 2,000 messages",
    "messages without end": "wrote more than 2,000 messages",
    "requests whose answers it does not read": "wrote more than 2,000 messages",
    "dies in the middle": "exited with 9",
}
"""The error of an attempt, by the habit that ends it."""


def agent(tmp_path: Path, like: str = "") -> AgentSpec:
    argv = [sys.executable, str(PROGRAM), str(tmp_path / "log"), like]
    return AgentSpec(name="odd", agent_type="acp", options={"argv": argv})


@pytest.mark.parametrize("habit", HARMLESS)
async def test_a_habit_that_does_no_harm_costs_nothing(
    engine: Engines, tmp_path: Path, habit: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with engine(agent(tmp_path)) as running:
        assert await running.ask(habit) == HARMLESS[habit]
    assert not caplog.records


@pytest.mark.parametrize("habit", HARMFUL)
async def test_a_habit_that_ends_an_attempt_is_one_line(
    engine: Engines, tmp_path: Path, habit: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("engine.runtimes.programs.acp.MAX_LINE_BYTES", 100_000)
    monkeypatch.setattr(f"{LINK}.MAX_MESSAGES", 2_000)

    async with engine(agent(tmp_path)) as running:
        assert HARMFUL[habit] in await running.fails(habit)
    assert not caplog.records


@pytest.mark.parametrize("like", ["hello is a list", "hello without a version", "hello with a version in words"])
async def test_one_that_says_nothing_sensible_of_itself_fails_in_one_line(
    engine: Engines, tmp_path: Path, like: str
) -> None:
    async with engine(agent(tmp_path, like)) as running:
        assert "initialize: its answer is not one" in await running.fails("work")


@pytest.mark.parametrize("habit", ["a call nested deep", "an update with bytes that are no UTF-8", "an answer twice"])
async def test_what_cannot_be_read_is_shown_as_text_or_left_out(engine: Engines, tmp_path: Path, habit: str) -> None:
    async with engine(agent(tmp_path)) as running:
        assert str(await running.ask(habit)).endswith("done")


async def test_a_kind_of_tool_that_is_not_known_is_other(engine: Engines, tmp_path: Path) -> None:
    async with engine(agent(tmp_path)) as running:
        await running.ask("an unknown kind of tool")

        assert ("Look", {"status": "completed", "kind": "other"}) in await steps(running)


FLOODS = [
    ("MAX_BYTES", "messages without end", "wrote more than 500 bytes"),
    ("MAX_BYTES", "lines without end", "wrote more than 500 bytes"),
    ("MAX_UNSENT", "requests whose answers it does not read", "does not read its input: 500 answers wait"),
]


@pytest.mark.parametrize(("limit", "habit", "fault"), FLOODS)
async def test_each_bound_of_a_session_ends_it_in_one_line(
    engine: Engines, tmp_path: Path, limit: str, habit: str, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{LINK}.{limit}", 500)
    monkeypatch.setattr(f"{LINK}.MAX_REQUESTS", 2_000)

    async with engine(agent(tmp_path)) as running:
        assert fault in await running.fails(habit)


@pytest.mark.parametrize(
    "shape", [lambda most: [0] * (most - 1), lambda most: {str(key): 0 for key in range(most - 1)}]
)
def test_a_value_is_looked_at_up_to_a_bound_wherever_its_parts_are(shape: Callable[[int], Any]) -> None:
    from engine.runtimes.programs import acp_link

    most, half = acp_link.MAX_VALUES, acp_link.MAX_VALUES // 2

    assert acp_link._is_small(shape(most))
    assert not acp_link._is_small(shape(most + 1))
    assert acp_link._is_small([shape(half), {"inner": shape(half - 2)}])
    assert not acp_link._is_small([shape(half), {"inner": shape(half - 1)}])
