"""Odd habits of servers of models: what each sends, and what an agent comes to that asks it.

A habit is a line of `HABITS`. Its server answers every request with what the habit says first, until it is sent results
of calls, which it repeats: `GOT …`. An agent has the tool `weather`, or a schema of its output.
"""

import gzip
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue

from tests.model_server import Say, delta_chunk

OSLO, ROME = '{"city": "Oslo"}', '{"city": "Rome"}'
USAGE = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
APPROVAL: JsonValue = {"type": "object", "properties": {"approved": {"type": "boolean"}}, "required": ["approved"]}
SUMMARY = "Write down what this conversation has come to"
"""How the request for a summary begins."""
Decides = Callable[[Mapping[str, Any]], Say]


@dataclass(frozen=True)
class Habit:
    """What a server does."""

    says: Say | Decides
    output: JsonValue = None
    error: str | None = None
    """In the error of the run, where it fails."""
    requests: int = 1
    schema: JsonValue = None
    thought: str | None = None
    """What is recorded as the thought of the last answer."""
    cost: str | None = None
    """What the run costs, in US dollars."""


def call(index: int | None, id: str, name: str, arguments: Any) -> dict[str, Any]:
    """Return a part of a call."""
    return {"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def calls(*deltas: Sequence[dict[str, Any]]) -> Say:
    """Answer with calls: those of each list in one piece."""
    return stream(*({"tool_calls": parts} for parts in deltas), finish="tool_calls")


def stream(*deltas: dict[str, Any], finish: str | None = "stop", every: str | None = None, **usage: Any) -> Say:
    """Answer with these pieces; `every` is the finish reason of each of them, and `finish` comes after them."""
    end = [] if finish is None else [delta_chunk({}, finish)]
    used = {**delta_chunk({}), "choices": [], "usage": {**USAGE, **usage}}
    return Say(events=[*(delta_chunk(delta, every) for delta in deltas), *end, used])


def text(*parts: Any, **more: Any) -> Say:
    """Answer with these contents, each in a piece."""
    return stream(*({"content": part} for part in parts), **more)


def whole(message: Mapping[str, Any], **more: Any) -> Say:
    """Answer whole, though a stream was wanted."""
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}
    frame = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": USAGE}
    return Say(body={**frame, **more})


def gzipped(body: bytes, media: str = "text/event-stream") -> Say:
    """Answer compressed."""
    return Say(body=gzip.compress(body, 1), headers={"Content-Encoding": "gzip", "Content-Type": media})


def plain(body: bytes, media: str = "text/event-stream") -> Say:
    """Answer with these bytes."""
    return Say(body=body, headers={"Content-Type": media})


def page(status: int = 200) -> Say:
    """Answer with a web page."""
    html = b"<!DOCTYPE html>\n<html><body>Please sign in</body></html>"
    return Say(status=status, body=html, headers={"Content-Type": "text/html; charset=utf-8"})


def too_long(error: JsonValue, summary: Say | None = None, status: int = 400) -> Decides:
    """Ask for the weather until there are three results, which are too long; write a summary when asked for one."""

    def decide(body: Mapping[str, Any]) -> Say:
        messages = body["messages"]
        if SUMMARY in json.dumps(messages):
            return text("it has tools") if body.get("tools") else summary or text("three places")
        if "in short" in json.dumps(messages):
            has_summary = ("three places" if summary is None else "characters left out") in json.dumps(messages)
            return text("went on" if has_summary else "knows nothing")
        turn = sum(message["role"] == "assistant" for message in messages)
        if turn == 3:
            return Say(status=status, body={"error": error})
        return calls([call(0, f"c{turn}", "weather", json.dumps({"city": f"City{turn}"}))])

    return decide


def got(*results: str) -> str:
    """Return what a server says to results of calls."""
    return "GOT " + " | ".join(results)


def turns(*says: Say) -> Decides:
    """Give these answers in order, then repeat the last results."""

    def decide(body: Mapping[str, Any]) -> Say:
        turn = sum(message["role"] == "assistant" for message in body["messages"])
        return says[turn] if turn < len(says) else repeated(body)

    return decide


def repeated(body: Mapping[str, Any]) -> Say:
    """Repeat the results after the last answer, as the model is told them."""
    messages = body["messages"]
    last = max(place for place, message in enumerate(messages) if message["role"] == "assistant")
    return text(got(*(message["content"] for message in messages[last + 1 :])))


BOTH = got("sun in Oslo", "sun in Rome")
FAILED = "its answer does not fit the schema of its output: it is not JSON"
TOO_MANY = '{"error": "the arguments of weather are not a JSON object: (more than 200,000 values)"}'
ONE_EVENT = f"data: {json.dumps(delta_chunk({'content': 'x'}))}\n\n".encode()
HABITS: dict[str, Habit] = {
    # Calls
    "two-calls-under-one-index": Habit(
        calls([call(0, "a", "weather", OSLO)], [call(0, "b", "weather", ROME)]), BOTH, requests=2
    ),
    "two-calls-without-an-id": Habit(
        calls([call(0, "", "weather", OSLO)], [call(0, "", "weather", ROME)]), BOTH, requests=2
    ),
    "two-calls-without-an-index": Habit(
        calls([call(None, "a", "weather", OSLO), call(None, "b", "weather", ROME)]), BOTH, requests=2
    ),
    "two-calls-of-one-id": Habit(
        calls([call(0, "a", "weather", OSLO), call(1, "a", "weather", ROME)]), BOTH, requests=2
    ),
    "one-id-in-every-turn": Habit(
        turns(calls([call(0, "a", "weather", OSLO)]), calls([call(0, "a", "weather", ROME)])),
        got("sun in Rome"),
        requests=3,
    ),
    "name-and-id-in-every-piece": Habit(
        calls(
            [call(0, "a", "weather", '{"city": ')], [call(0, "a", "weather", '"Oslo"}')], [call(0, "a", "weather", "")]
        ),
        got("sun in Oslo"),
        requests=2,
    ),
    "a-call-without-a-name": Habit(
        calls([call(0, "", "", OSLO)]),
        got('[result] {"error": "a call names no tool", "tools": ["weather"]}'),
        requests=2,
    ),
    "one-call-of-two-without-a-name": Habit(
        calls([call(0, "a", "", OSLO), call(1, "b", "weather", ROME)]),
        got("sun in Rome", '[result] {"error": "a call names no tool", "tools": ["weather"]}'),
        requests=2,
    ),
    "a-name-that-is-none": Habit(
        calls([call(0, "a", "functions.weather:0", OSLO)]),
        got('{"error": "there is no tool \'functions.weather:0\'", "tools": ["weather"]}'),
        requests=2,
    ),
    "arguments-as-an-object": Habit(
        whole({"content": None, "tool_calls": [call(0, "a", "weather", {"city": "Oslo"})]}),
        got("sun in Oslo"),
        requests=2,
    ),
    # Ends
    "finish-reason-null": Habit(text("hello ", "there", finish=None), "hello there"),
    "finish-reason-empty": Habit(text("hello ", "there", finish=None, every=""), "hello there"),
    "calls-and-finish-reason-stop": Habit(
        stream({"tool_calls": [call(0, "a", "weather", OSLO)]}), got("sun in Oslo"), requests=2
    ),
    # Contents
    "content-in-parts": Habit(text([{"type": "text", "text": "hello "}], "there"), "hello there"),
    "a-thought-in-parts": Habit(
        text([{"type": "thinking", "thinking": [{"type": "text", "text": "a plan"}]}], "4"), "4", thought="a plan"
    ),
    "whole-answer": Habit(whole({"content": "whole"}), "whole"),
    "whole-answer-in-parts": Habit(
        whole({"content": [{"type": "text", "text": "whole "}, {"type": "text", "text": "answer"}]}), "whole answer"
    ),
    "whole-answer-with-calls": Habit(
        whole({"content": None, "tool_calls": [call(None, "a", "weather", OSLO)]}), got("sun in Oslo"), requests=2
    ),
    "error-in-place-of-a-stream": Habit(
        Say(body={"error": {"message": "no such model here", "code": 404}}), error="no such model here", requests=2
    ),
    "web-page": Habit(page(), error="answered with a web page (text/html): is base_url right?"),
    "web-page-of-an-error": Habit(page(404), error="answered with a web page (text/html): is base_url right?"),
    "compressed": Habit(gzipped(ONE_EVENT * 3 + b"data: [DONE]\n\n"), "xxx"),
    # Thoughts
    "think-tag": Habit(
        text("<think>a secret", " plan</think>\n\nthe answer is 4"), "the answer is 4", thought="a secret plan"
    ),
    "think-tag-in-pieces": Habit(text(*"<think>a <b> plan</think>4"), "4", thought="a <b> plan"),
    "think-tag-only-closed": Habit(text("a secret plan\n</think>\n\n4"), "4", thought="a secret plan\n"),
    "think-tag-in-the-text-beside-a-thought": Habit(
        stream({"reasoning_content": "a plan"}, {"content": "It ends with\n</think>\nalone."}),
        "It ends with\n</think>\nalone.",
        thought="a plan",
    ),
    "think-tag-in-the-text": Habit(text("Write <think> and </think>."), "Write <think> and </think>."),
    "think-tag-before-json": Habit(
        text('<think>let me see {this}</think>\n{"approved": true}'), {"approved": True}, schema=APPROVAL
    ),
    "words-before-fenced-json": Habit(
        text('Here you are:\n\n```json\n{"approved": true}\n```\nAnything else?'), {"approved": True}, schema=APPROVAL
    ),
    "two-fenced-blocks": Habit(
        text('```\n{"approved": true}\n```\nor\n```\n{}\n```'), error=FAILED, requests=2, schema=APPROVAL
    ),
    # Conversations that are too long
    "too-long-lm-studio": Habit(
        too_long("the model is loaded with context length of only 8192 tokens, which is not enough"),
        "went on",
        requests=6,
    ),
    "too-long-anthropic": Habit(
        too_long({"message": "prompt is too long: 209000 tokens > 200000 maximum"}), "went on", requests=6
    ),
    "too-long-by-code": Habit(
        too_long({"message": "Please send less.", "code": "context_length_exceeded"}), "went on", requests=6
    ),
    "too-long-openai": Habit(
        too_long({"message": "This model's maximum context length is 8192 tokens"}), "went on", requests=6
    ),
    "a-summary-that-calls": Habit(
        too_long("prompt is too long", calls([call(0, "z", "weather", OSLO)])), "went on", requests=7
    ),
    "a-summary-that-is-a-thought": Habit(
        too_long("prompt is too long", text("<think>a plan</think>")), "went on", requests=7
    ),
    # Sizes
    "answer-without-end-compressed": Habit(
        gzipped(b" " * 50_000_000, "application/json"), error="answered with more than 40,000,000 bytes", requests=2
    ),
    "event-without-end": Habit(
        gzipped(b"data: " + b"x" * 20_000_000), error="sent an event of more than 8,000,000 bytes", requests=2
    ),
    "event-of-many-lines": Habit(
        plain(b"data: x\n" * 100_000), error="sent an event of more than 1,000 lines", requests=2
    ),
    "compressed-otherwise": Habit(
        Say(body=b"x", headers={"Content-Encoding": "snappy", "Content-Type": "text/event-stream"}),
        error="compressed its answer as snappy, which was not asked for",
        requests=2,
    ),
    "compressed-badly": Habit(
        Say(body=b"no gzip at all", headers={"Content-Encoding": "gzip", "Content-Type": "text/event-stream"}),
        error="sent a compressed answer that cannot be read",
        requests=2,
    ),
    "arguments-of-many-values": Habit(
        calls([call(0, "a", "weather", json.dumps({"city": [0] * 300_000}))]), got(TOO_MANY), requests=2
    ),
    "json-of-many-values": Habit(
        text(json.dumps({"approved": True, "more": [0] * 300_000})),
        error="it has more than 200,000 values",
        requests=2,
        schema=APPROVAL,
    ),
    # Costs
    "cost-in-usage": Habit(text("dear", cost=0.0015400000000000001), "dear", cost="0.00154"),
    "cost-in-a-header": Habit(Say("dear", headers={"x-litellm-response-cost": "0.25"}), "dear", cost="0.25"),
    "cost-that-is-none": Habit(text("dear", cost=-3), "dear", cost=None),
}
