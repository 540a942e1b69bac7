"""Agents that a model plays: turns and calls are steps, and what is recorded is the conversation."""

import json
from typing import Any

import pytest

from engine import AgentSpec
from engine.core.specs.model_spec import ModelSpec
from engine.core.specs.options import SupervisorOptions
from engine.platform.clock import VirtualClock
from engine.runtimes.functions.tools import idempotent
from tests.runtime.engines import Engine, Engines

pytestmark = pytest.mark.anyio

CALLED: list[Any] = []


def spoken(*replies: Any) -> ModelSpec:
    return ModelSpec(replies=replies)


def said(*replies: Any) -> SupervisorOptions:
    return SupervisorOptions(models={"fake": spoken(*replies)})


def call(name: str, /, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def delegate(worker: str, instructions: str) -> dict[str, Any]:
    return call("delegate", worker=worker, instructions=instructions)


@idempotent
def search(words: str) -> str:
    """Look something up."""
    CALLED.append(words)
    return f"found {words}"


def agent(name: str = "ada", **spec: Any) -> AgentSpec:
    return AgentSpec(name=name, **{"model": "fake", **spec})


async def steps(engine: Engine) -> list[dict[str, Any]]:
    return [json.loads(record.body) for record in await engine.journal("step_recorded")]


async def test_a_simple_agent_answers_with_one_streamed_call(engine: Engines) -> None:
    async with engine(agent(), options=said({"text": "The tide is high. {text}"})) as running:
        assert await running.ask("Look") == "The tide is high. Look"

        (step,) = await steps(running)
        assert (step["what"], step["name"]) == ("model", "turn:1")
        assert step["output"]["text"] == "The tide is high. Look"
        assert running.state.usage.tokens_in


async def test_results_of_tools_go_back_to_the_model(engine: Engines) -> None:
    CALLED.clear()
    replies = said(
        {"calls": [call("search", words="tides"), call("search", words="moon")]}, {"text": "It says: {text}"}
    )

    async with engine(agent(tools=[search]), options=replies) as running:
        assert await running.ask() == "It says: found tides\nfound moon"

        assert sorted(CALLED) == ["moon", "tides"]
        assert [step["what"] for step in await steps(running)] == ["model", "tool", "tool", "model"]


async def test_a_lead_delegates_to_several_at_once_and_hears_them_in_order(engine: Engines) -> None:
    team = [agent("chief"), agent("scout", model="other"), agent("writer", model="other")]
    models = {
        "fake": spoken({"calls": [delegate("writer", "Write"), delegate("scout", "Look")]}, {"text": "{text}"}),
        "other": spoken({"text": "I did: {text}"}),
    }
    options = SupervisorOptions(models=models, lead="chief")

    async with engine(*team, options=options, mode="delegate") as running:
        assert await running.ask("Go") == "I did: Write\nI did: Look"


async def test_a_structured_answer_is_the_value_that_its_schema_asks_for(engine: Engines) -> None:
    schema = {"type": "object", "properties": {"score": {"type": "number"}}, "required": ["score"]}

    async with engine(agent(output=schema), options=said({"text": "four"}, {"text": '{"score": 4}'})) as running:
        assert await running.ask() == {"score": 4}


async def test_an_answer_that_does_not_fit_twice_fails_once_and_for_all(engine: Engines) -> None:
    async with engine(agent(output={"type": "integer"}), options=said({"text": "four"}, {"text": '"five"'})) as running:
        assert (
            "its answer does not fit the schema of its output: 'five' is not of type 'integer'" in await running.fails()
        )
        assert len(await running.journal("attempt_started")) == 1


async def test_a_model_that_fails_hands_over_to_the_next_of_the_list(engine: Engines) -> None:
    models = {"fake": spoken({"fail": "server"}), "spare": spoken({"text": "here"})}

    async with engine(agent(model=["fake", "spare"]), options=SupervisorOptions(models=models)) as running:
        assert await running.ask() == "here"

        (failed,) = [json.loads(record.body) for record in await running.journal("model_failed")]
        assert (failed["model"], failed["error_type"]) == ("fake", "server")
        assert len(await running.journal("attempt_started")) == 1


async def test_the_time_of_calls_that_fail_is_that_of_the_model(engine: Engines) -> None:
    replies = said({"delay_s": 40, "fail": "auth"})

    async with engine(agent(), options=replies, clock=VirtualClock()) as running:
        await running.fails()

        (failed,) = [json.loads(record.body) for record in await running.journal("model_failed")]
        assert failed["duration_ms"] >= 40_000
        (summary,) = running.state.finished
        assert summary.times["model"] == failed["duration_ms"]
        assert [part.words for part in summary.critical if part.kind == "model"] == ["failed calls"]


async def test_without_a_model_an_agent_says_what_to_set(engine: Engines, monkeypatch: pytest.MonkeyPatch) -> None:
    async with engine(agent(model=None), options=said({"text": "from the environment"})) as running:
        assert "agent 'ada' has no model: give it model=, or set QUARTERDECK_MODEL" in await running.fails()

        monkeypatch.setenv("QUARTERDECK_MODEL", "fake")
        assert await running.ask() == "from the environment"


async def test_a_model_that_keeps_failing_is_tried_again_three_times_and_no_tool_with_it(engine: Engines) -> None:
    CALLED.clear()
    replies = said({"calls": [call("search", words="tides")]}, {"fail": "server"})

    async with engine(agent(tools=[search]), options=replies, clock=VirtualClock()) as running:
        assert "the script says server" in await running.fails()

        assert len(await running.journal("attempt_started")) == 4
        assert len(await running.journal("model_failed")) == 4
        assert CALLED == ["tides"]


async def test_a_model_that_refuses_the_key_is_not_tried_again(engine: Engines) -> None:
    async with engine(agent(), options=said({"fail": "auth"})) as running:
        await running.fails()

        assert len(await running.journal("attempt_started")) == 1
