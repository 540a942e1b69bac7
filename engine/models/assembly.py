"""Messages as litellm takes them, and the pieces that it streams put together to an answer."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from engine.core.strict_json import NotStrict, strict_json
from engine.models.records import Call, Finish, Message, ModelAnswer, ToolSchema

_FINISHES: dict[str, Finish] = {"length": "length", "content_filter": "refusal"}


def sent(messages: Iterable[Message], provider: str, *, with_tools: bool = True) -> list[dict[str, Any]]:
    """Return messages in the form of OpenAI's protocol, with thinking where this very provider thought it.

    Args:
        messages: What is said.
        provider: Who is asked.
        with_tools: The request names tools. Without any, some providers refuse calls of earlier runs, and are told
            these in words.
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
            # Providers without signed blocks want a thought back while the tools that it called for are at work.
            found["reasoning_content"] = message.thinking
    return found


def _call(call: Call) -> dict[str, Any]:
    # What is no JSON object is not sent back: providers refuse it, and the result of the call says what was wrong.
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


class _OpenCall:
    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.arguments: list[str] = []


class Assembly:
    """An answer as it comes."""

    def __init__(self) -> None:
        self.model = ""
        self.usage: Any = None
        """As litellm counts it, once it has come."""
        self.finish: str | None = None
        self._text: list[str] = []
        self._thoughts: list[str] = []
        self._blocks: list[dict[str, Any]] = []
        self._calls: dict[int, _OpenCall] = {}
        self._refused = False

    def take(self, chunk: Any) -> Iterator[tuple[bool, str]]:
        """Take a piece of litellm's; yield what is to be shown of it: whether it is thought, and the text."""
        self.model = chunk.model or self.model
        self.usage = getattr(chunk, "usage", None) or self.usage
        for choice in chunk.choices[:1]:
            self.finish = choice.finish_reason or self.finish
            delta = choice.delta
            thought = getattr(delta, "reasoning_content", None)
            if thought:
                self._thoughts.append(thought)
                yield True, thought
            for block in getattr(delta, "thinking_blocks", None) or ():
                self._take_block(dict(block))
            refusal = getattr(delta, "refusal", None)
            self._refused = self._refused or bool(refusal)
            text = delta.content or refusal
            if text:
                self._text.append(text)
                yield False, text
            for part in delta.tool_calls or ():
                self._take_call(part)

    def _take_block(self, block: dict[str, Any]) -> None:
        """Add to the block that is open; a signature closes it, and one that is hidden stands alone."""
        last = self._blocks[-1] if self._blocks else None
        if block.get("type") != "thinking" or last is None or last.get("type") != "thinking" or last.get("signature"):
            self._blocks.append(block)
            return
        last["thinking"] = (last.get("thinking") or "") + (block.get("thinking") or "")
        if block.get("signature"):
            last["signature"] = block["signature"]

    def _take_call(self, part: Any) -> None:
        call = self._calls.setdefault(part.index or 0, _OpenCall())
        call.id = part.id or call.id
        function = part.function
        if function is not None:
            call.name = call.name or function.name or ""
            call.arguments.append(function.arguments or "")

    @property
    def text(self) -> str:
        """What was said so far."""
        return "".join(self._text)

    @property
    def characters(self) -> int:
        """How much has come, of thoughts and calls too."""
        parts = [*self._text, *self._thoughts]
        return sum(map(len, parts)) + sum(len(part) for call in self._calls.values() for part in call.arguments)

    def answer(self, provider: str) -> ModelAnswer:
        """Return all of it; what it cost is for the caller to add."""
        calls = tuple(_whole(call, place) for place, call in sorted(self._calls.items()))
        finish = _FINISHES.get(self.finish or "", "calls" if calls else "stop" if self.text.strip() else "empty")
        signed = [block for block in self._blocks if block.get("signature") or block.get("type") != "thinking"]
        thinking: Any = signed or "".join(self._thoughts) or None
        return ModelAnswer(
            text=self.text,
            calls=calls,
            thinking=thinking,
            finish="refusal" if self._refused else finish,
            model=self.model,
            provider=provider,
        )


def _whole(call: _OpenCall, place: int) -> Call:
    text = "".join(call.arguments)
    call_id = call.id or f"call_{place}"
    try:
        arguments = strict_json(text.encode()) if text.strip() else {}
    except (NotStrict, UnicodeEncodeError):
        arguments = None
    if isinstance(arguments, dict):
        return Call(id=call_id, name=call.name, arguments=arguments)
    return Call(id=call_id, name=call.name, invalid=text)
