"""What a model agent does not do for ever: turns, loops, contexts, large results; and what it makes of odd answers."""

import json
from typing import Any

import pytest

from engine import AgentSpec
from engine.core.specs.model_spec import ModelSpec
from engine.core.specs.options import SupervisorOptions
from engine.runtimes.functions.tools import idempotent
from tests.runtime.engines import Engine, Engines

pytestmark = pytest.mark.anyio

BOOK = "".join(f"line {number:04}\n" for number in range(500))


@idempotent
def read_book(page: int = 1) -> str:
    """Read a book."""
    return BOOK


def spoken(*replies: Any, **model: Any) -> SupervisorOptions:
    return SupervisorOptions(models={"fake": ModelSpec(replies=replies, **model)})


def call(name: str, /, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def reader(**spec: Any) -> AgentSpec:
    return AgentSpec(name="ada", **{"agent_type": "ReactAgent", "model": "fake", "tools": [read_book], **spec})


async def steps(engine: Engine, what: str) -> list[dict[str, Any]]:
    found = [json.loads(record.body) for record in await engine.journal("step_recorded")]
    return [step for step in found if step["what"] == what]


async def test_a_model_that_finds_no_end_fails_at_its_turn_limit_in_a_sentence(engine: Engines) -> None:
    replies = [{"calls": [call("read_book", page=number)]} for number in range(9)]

    async with engine(reader(options={"turns": 4}), options=spoken(*replies)) as running:
        assert "no answer after 4 turns; give it more with options.turns" in await running.fails()
        assert len(await steps(running, "model")) == 4
        assert len(await running.journal("attempt_started")) == 1


async def test_a_model_that_does_the_same_three_times_is_stopped(engine: Engines) -> None:
    async with engine(reader(), options=spoken(*[{"calls": [call("read_book")]}] * 9)) as running:
        assert "it called read_book three times in a row with the same arguments" in await running.fails()
        assert len(await steps(running, "model")) == 3


async def test_the_same_call_with_other_results_is_no_loop(engine: Engines) -> None:
    numbers = iter(range(9))

    def count() -> int:
        return next(numbers)

    replies = spoken(*[{"calls": [call("count")]}] * 5, {"text": "{text}"})
    async with engine(reader(tools=[count]), options=replies) as running:
        assert await running.ask() == "4"


async def test_a_large_result_is_kept_whole_and_read_in_parts(engine: Engines) -> None:
    replies = spoken(
        {"calls": [call("read_book")]},
        {"calls": [call("read_result", result="r1.1", start=300)]},
        {"calls": [call("read_result", result="r1.1", start=4800), call("read_result", result="r9.9", start=0)]},
        {"text": "{text}"},
    )
    async with engine(reader(options={"result_chars": 300}), options=replies) as running:
        output = await running.ask()

        (read,) = await steps(running, "tool")
        assert read["output"] == BOOK
        assert output == BOOK[4800:] + '\n{"error": "there is no result \'r9.9\' to read on in", "results": ["r1.1"]}'


async def test_what_is_shown_of_a_large_result_says_how_to_read_on(engine: Engines) -> None:
    replies = spoken({"calls": [call("read_book")]}, {"text": "{text}"})

    async with engine(reader(options={"result_chars": 300}), options=replies) as running:
        shown = await running.ask()

        assert (
            shown == f'{BOOK[:300]}\n[characters 0 to 300 of 5,000; read on with read_result(result="r1.1", start=300)]'
        )


async def test_a_conversation_that_fills_the_context_is_put_in_short_by_a_recorded_step(engine: Engines) -> None:
    replies = spoken(
        {"match": "Write down what this conversation", "text": "SHORT: page 1 says line 0000"},
        {"match": "^go$", "calls": [call("read_book", page=1)]},
        {"match": "line 0499", "calls": [call("read_book", page=2)]},
        {"text": "Done with: {text}"},
        context_tokens=2_000,
    )
    async with engine(reader(), options=replies) as running:
        await running.ask()

        (short,) = await steps(running, "compact")
        assert short["output"]["summary"] == "SHORT: page 1 says line 0000"
        assert short["usage"]["tokens_in"]


async def test_arguments_that_are_no_object_and_unknown_tools_are_results_that_the_model_reads(engine: Engines) -> None:
    replies = spoken(
        {"calls": [{"name": "read_book", "invalid": "{page: one"}, call("write_book", page=1)]},
        {"text": "{text}"},
    )
    async with engine(reader(), options=replies) as running:
        first, second = str(await running.ask()).split("\n")

        assert json.loads(first) == {"error": "the arguments of read_book are not a JSON object: {page: one"}
        assert json.loads(second) == {"error": "there is no tool 'write_book'", "tools": ["read_book"]}
        assert len(await steps(running, "tool")) == 2


async def test_a_tool_that_raises_is_a_result_and_is_not_called_again(engine: Engines) -> None:
    def shout(text: str) -> str:
        raise OSError("no voice")

    replies = spoken({"calls": [call("shout", text="x"), call("shout", wrong=1)]}, {"text": "{text}"})
    async with engine(reader(tools=[shout]), options=replies) as running:
        first, second = str(await running.ask()).split("\n")

        assert json.loads(first) == {"error": "OSError: no voice"}
        assert "wrong" in json.loads(second)["error"]
        assert running.state.escalations == {}


async def test_a_model_that_says_nothing_is_asked_once_again(engine: Engines) -> None:
    async with engine(reader(), options=spoken({"text": ""}, {"text": "here"})) as running:
        assert await running.ask() == "here"

    async with engine(reader(), options=spoken({"text": ""}, {"text": ""})) as running:
        assert "the model answered nothing, twice" in await running.fails()


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ({"options": {"turns": 0}}, "agent 'ada': options.turns: Input should be greater than or equal to 1"),
        ({"options": {"turn": 3}}, "agent 'ada': options.turn: Extra inputs are not permitted"),
        ({"options": {"temperature": "hot"}}, "agent 'ada': options.temperature: Input should be a valid number"),
        ({"options": {"tool_names": {"give": "x"}}}, "agent 'ada': options: tool_names: no tool 'give' of the engine"),
        ({"options": {"tool_names": {"delegate": "recall"}}}, "two tools would have the name 'recall'"),
        (
            {"agent_type": "SimpleAgent"},
            "tools does nothing for an agent of type SimpleAgent; leave it out, or make it",
        ),
        ({"output": {"type": "nothing"}}, "agent 'ada': output: type: 'nothing' is not valid under any of the given"),
        ({"tools": ["search"]}, "agent 'ada': the tool 'search' is a name without code"),
    ],
)
async def test_what_cannot_be_right_is_refused_in_one_line(engine: Engines, spec: dict[str, Any], says: str) -> None:
    async with engine(reader(**spec), options=spoken({"text": "x"})) as running:
        await running.submit()
        await running.until(lambda state: state.agents["a1"].error is not None)

        error = running.state.agents["a1"].error or ""
        assert says in error
        assert "\n" not in error
