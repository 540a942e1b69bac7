"""Converts messages to litellm's form, and assembles its streamed chunks to an answer."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from engine.core.strict_json import NotStrict, strict_json
from engine.models.records import Call, Finish, Message, ModelAnswer, ToolSchema
from engine.runtimes.values import clean

_FINISHES: dict[str, Finish] = {"length": "length", "content_filter": "refusal"}


def sent(messages: Iterable[Message], provider: str, *, with_tools: bool = True) -> list[dict[str, Any]]:
    """Return messages in the form of OpenAI's protocol; thinking is only sent back to the provider that sent it.

    Args:
        with_tools: The request has tools. Without tools some providers refuse the calls of earlier runs, so these are
            sent as text.
    """
    return [_sent(message if with_tools else _in_words(message), provider) for message in messages]


def _in_words(message: Message) -> Message:
    if message.role == "tool":
        return Message(role="user", text=f"[result] {message.text}")
    if not message.calls:
        return message
    called = [f"[calls {call.name} {json.dumps(call.arguments, ensure_ascii=False)}]" for call in message.calls]
    return Message(role="assistant", text="\n".join([message.text, *called]).strip())


def _sent(message: Message, provider: str) -> dict[str, Any]:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.call_id, "content": message.text}
    found: dict[str, Any] = {"role": message.role, "content": message.text}
    if message.calls:
        found["content"] = message.text or None
        found["tool_calls"] = [_call(call) for call in message.calls]
    if message.thinking is not None and message.provider == provider:
        if isinstance(message.thinking, list):
            found["thinking_blocks"] = message.thinking
        elif message.calls:
            # Providers without signed blocks expect the thought back with the tool calls that it led to.
            found["reasoning_content"] = message.thinking
    return found


def _call(call: Call) -> dict[str, Any]:
    # Invalid arguments are not sent back: providers refuse them, and the result of the call describes the fault.
    arguments = json.dumps(call.arguments if isinstance(call.arguments, dict) else {}, ensure_ascii=False)
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def told(tools: Iterable[ToolSchema]) -> list[dict[str, Any]]:
    """Return tools in the form of OpenAI's protocol."""
    return [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)},
        }
        for tool in tools
    ]


class _Text:
    """Joins pieces of a text: a piece may end in half of a character, and what stays half of one is replaced."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._half = ""

    def add(self, part: str) -> str:
        """Add a piece; return what is complete by now."""
        part = self._half + part
        self._half = part[-1] if "\ud800" <= part[-1:] <= "\udbff" else ""
        whole = clean(part[: len(part) - len(self._half)])
        self._parts.append(whole)
        return whole

    def __str__(self) -> str:
        return "".join(self._parts) + clean(self._half)

    def __len__(self) -> int:
        return sum(map(len, self._parts))


class _OpenCall:
    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.arguments: list[str] = []


class Assembly:
    """Assembles an answer from its chunks."""

    def __init__(self) -> None:
        self.model = ""
        self.usage: Any = None
        """Usage as litellm reports it, which is in one of the last chunks."""
        self.finish: str | None = None
        self._text = _Text()
        self._thoughts = _Text()
        self._blocks: list[dict[str, Any]] = []
        self._thinking: list[str] = []
        """The text of the last block so far, in pieces."""
        self._calls: dict[int, _OpenCall] = {}
        self._refused = False

    def take(self, chunk: Any) -> Iterator[tuple[bool, str]]:
        """Add a chunk of litellm's; yield what to show: True for a thought, and the text."""
        self.model = chunk.model or self.model
        self.usage = getattr(chunk, "usage", None) or self.usage
        for choice in chunk.choices[:1]:
            self.finish = choice.finish_reason or self.finish
            delta = choice.delta
            thought = getattr(delta, "reasoning_content", None)
            if thought and (whole := self._thoughts.add(thought)):
                yield True, whole
            for block in getattr(delta, "thinking_blocks", None) or ():
                self._take_block(dict(block))
            refusal = getattr(delta, "refusal", None)
            self._refused = self._refused or bool(refusal)
            text = delta.content or refusal
            if text and (whole := self._text.add(text)):
                yield False, whole
            for part in delta.tool_calls or ():
                self._take_call(part)

    def _take_block(self, block: dict[str, Any]) -> None:
        """Extend the open block; a signature closes a block, and a redacted block stands alone."""
        last, text = self._blocks[-1] if self._blocks else None, block.get("thinking") or ""
        if block.get("type") != "thinking" or last is None or last.get("type") != "thinking" or last.get("signature"):
            self._join_block()
            self._blocks.append(block)
            self._thinking = [text]
            return
        self._thinking.append(text)
        if block.get("signature"):
            last["signature"] = block["signature"]

    def _join_block(self) -> None:
        if self._blocks and self._blocks[-1].get("type") == "thinking":
            self._blocks[-1]["thinking"] = "".join(self._thinking)

    def _take_call(self, part: Any) -> None:
        call = self._calls.setdefault(part.index or 0, _OpenCall())
        call.id = part.id or call.id
        function = part.function
        if function is not None:
            call.name = call.name or function.name or ""
            call.arguments.append(function.arguments or "")

    @property
    def text(self) -> str:
        """The text so far."""
        return str(self._text)

    @property
    def characters(self) -> int:
        """Length so far of the text, the thoughts and the calls."""
        calls = sum(len(part) for call in self._calls.values() for part in call.arguments)
        return len(self._text) + len(self._thoughts) + calls

    def answer(self, provider: str) -> ModelAnswer:
        """Return the whole answer; the caller adds its usage."""
        self._join_block()
        calls = tuple(_whole(call, place) for place, call in sorted(self._calls.items()))
        finish = _FINISHES.get(self.finish or "", "calls" if calls else "stop" if self.text.strip() else "empty")
        signed = [_clean(block) for block in self._blocks if block.get("signature") or block.get("type") != "thinking"]
        thinking: Any = signed or str(self._thoughts) or None
        return ModelAnswer(
            text=self.text,
            calls=calls,
            thinking=thinking,
            finish="refusal" if self._refused else finish,
            model=clean(self.model),
            provider=provider,
        )


def _clean(block: dict[str, Any]) -> dict[str, Any]:
    return {key: clean(value) if isinstance(value, str) else value for key, value in block.items()}


def _whole(call: _OpenCall, place: int) -> Call:
    text = clean("".join(call.arguments))
    call_id, name = clean(call.id) or f"call_{place}", clean(call.name)
    try:
        arguments = strict_json(text.encode()) if text.strip() else {}
    except NotStrict:
        arguments = None
    if isinstance(arguments, dict):
        return Call(id=call_id, name=name, arguments=arguments)
    return Call(id=call_id, name=name, invalid=text)
