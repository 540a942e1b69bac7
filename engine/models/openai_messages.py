"""Converts messages and tools to the form of OpenAI's protocol, which litellm translates for each provider.

Rule: the conversation is made valid for strict providers, whatever its models have written.
"""

import json
import re
from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any, NamedTuple

from msgspec.structs import replace

from engine.models.records import Call, Message, ToolSchema

_NO_NAME_CHARACTER = re.compile(r"[^A-Za-z0-9_-]")
MAX_NAME_CHARACTERS = 64


def to_openai_messages(messages: Iterable[Message], provider: str, *, with_tools: bool = True) -> list[dict[str, Any]]:
    """Return messages in OpenAI's form; thinking is only sent back to the provider that sent it.

    Args:
        with_tools: Whether the request has tools. If not, calls of earlier runs are sent as text, because some
            providers refuse them.
    """
    return [
        _to_openai_message(message, provider)
        for message in (_valid_messages(messages) if with_tools else map(_calls_as_text, messages))
    ]


class _SentCall(NamedTuple):
    """A call without a result yet."""

    id: str
    """The id that the model gave."""
    sent_id: str
    """The id that the provider gets; empty for a call without a name, which is sent as text."""


def _valid_messages(messages: Iterable[Message]) -> Iterator[Message]:
    """Yield messages in which each call has a name and a unique id; calls without a name become text."""
    ids: set[str] = set()
    sent_calls: list[_SentCall] = []
    results: list[Message] = []
    """Results of nameless calls, as text; they come last, because the others must directly follow their calls."""
    for message in messages:
        if message.role == "tool":
            sent_call = next((call for call in sent_calls if call.id == message.call_id), None)
            call_id = message.call_id
            if sent_call is not None:
                sent_calls.remove(sent_call)
                call_id = sent_call.sent_id
            if call_id:
                yield replace(message, call_id=call_id)
            else:
                results.append(_calls_as_text(message))
            continue
        yield from results
        results = []
        sent_calls = [_SentCall(call.id, _unique_id(call.id, ids) if call.name else "") for call in message.calls]
        yield _with_call_ids(message, [call.sent_id for call in sent_calls])
    yield from results


def _unique_id(id: str, ids: set[str]) -> str:
    """Return the id, with a number if it is in `ids` already, and add it to `ids`."""
    stem = id or "call"
    candidates = (stem if number == 1 else f"{stem}_{number}" for number in count(1))
    unique = next(candidate for candidate in candidates if candidate not in ids)
    ids.add(unique)
    return unique


def _with_call_ids(message: Message, ids: list[str]) -> Message:
    """Return a message with `ids` as the ids of its calls; calls with an empty id become text."""
    calls = tuple(replace(call, id=id) for call, id in zip(message.calls, ids, strict=True) if id)
    nameless = tuple(call for call, id in zip(message.calls, ids, strict=True) if not id)
    text = _calls_as_text(replace(message, calls=nameless)).text if nameless else message.text
    return replace(message, text=text, calls=calls)


def _calls_as_text(message: Message) -> Message:
    if message.role == "tool":
        return Message(role="user", text=f"[result] {message.text}")
    if not message.calls:
        return message
    call_lines = [f"[calls {call.name} {json.dumps(call.arguments, ensure_ascii=False)}]" for call in message.calls]
    return Message(role="assistant", text="\n".join([message.text, *call_lines]).strip())


def _to_openai_message(message: Message, provider: str) -> dict[str, Any]:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.call_id, "content": message.text}
    converted: dict[str, Any] = {"role": message.role, "content": message.text}
    if message.calls:
        converted["content"] = message.text or None
        converted["tool_calls"] = [_to_openai_call(call) for call in message.calls]
    if message.thinking is not None and message.provider == provider:
        if isinstance(message.thinking, list):
            converted["thinking_blocks"] = message.thinking
        elif message.calls:
            # Providers without signed blocks expect the thought back with the tool calls that it led to.
            converted["reasoning_content"] = message.thinking
    return converted


def _to_openai_call(call: Call) -> dict[str, Any]:
    # Invalid arguments are not sent back: providers refuse them, and the result of the call describes the fault.
    arguments = json.dumps(call.arguments if isinstance(call.arguments, dict) else {}, ensure_ascii=False)
    name = _NO_NAME_CHARACTER.sub("_", call.name)[:MAX_NAME_CHARACTERS]
    return {"id": call.id, "type": "function", "function": {"name": name, "arguments": arguments}}


def to_openai_tools(tools: Iterable[ToolSchema]) -> list[dict[str, Any]]:
    """Return tools in OpenAI's form."""
    return [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)},
        }
        for tool in tools
    ]
