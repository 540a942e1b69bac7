"""Assembles the streamed chunks of litellm into an answer."""

import json
from collections.abc import Iterator
from typing import Any

from typing_extensions import override

from engine.core.encoding.strict_json import NotStrict, strict_json
from engine.models.bounds import MAX_JSON_CHARACTERS, MAX_JSON_VALUES, excess_of_json
from engine.models.records import Call, Finish, ModelAnswer
from engine.models.thoughts import TaggedText, split_content, split_unopened_thought
from engine.runtimes.values import clean

_FINISHES: dict[str, Finish] = {"length": "length", "content_filter": "refusal"}


class _Text:
    """Joins pieces of a text, which may be split within a surrogate pair; unpaired surrogates are replaced."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._surrogate = ""

    def add(self, part: str) -> str:
        """Add a piece; return the text that is now complete."""
        part = self._surrogate + part
        self._surrogate = part[-1] if "\ud800" <= part[-1:] <= "\udbff" else ""
        complete_text = clean(part[: len(part) - len(self._surrogate)])
        self._parts.append(complete_text)
        return complete_text

    @override
    def __str__(self) -> str:
        return "".join(self._parts) + clean(self._surrogate)

    def __len__(self) -> int:
        return sum(map(len, self._parts))


class _OpenCall:
    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.arguments: list[str] = []

    def is_followed_by(self, id: str, name: str, arguments: str) -> bool:
        """Return whether a part belongs to another call, which some servers send under the same index."""
        if not name or not self.name:
            return False
        if id and self.id and id != self.id:
            return True
        # Some servers repeat id and name with each part, and some send no ids: a new call begins after a whole object.
        if not arguments.lstrip().startswith("{") or not "".join(self.arguments[-1:]).rstrip().endswith("}"):
            return False
        return isinstance(_parse_arguments("".join(self.arguments)), dict)


class Assembly:
    """Assembles an answer from its chunks."""

    def __init__(self) -> None:
        self.model = ""
        self.usage: Any = None
        """Usage as litellm reports it, which is in one of the last chunks."""
        self.finish: str | None = None
        self._text = _Text()
        self._thoughts = _Text()
        self._tagged = TaggedText()
        self._blocks: list[dict[str, Any]] = []
        self._thinking: list[str] = []
        """The text of the last block so far, in pieces."""
        self._calls: list[_OpenCall] = []
        self._calls_by_index: dict[int, _OpenCall] = {}
        """The newest call of each index."""
        self._is_refused = False

    def add_chunk(self, chunk: Any) -> Iterator[tuple[bool, str]]:
        """Add a chunk; yield the new output: whether it is thought, and its text."""
        self.model = chunk.model or self.model
        self.usage = getattr(chunk, "usage", None) or self.usage
        for choice in chunk.choices[:1]:
            self.finish = choice.finish_reason or self.finish
            delta = choice.delta
            yield from self._add_text(True, getattr(delta, "reasoning_content", None))
            for block in getattr(delta, "thinking_blocks", None) or ():
                self._add_block(dict(block))
            refusal = getattr(delta, "refusal", None)
            self._is_refused = self._is_refused or bool(refusal)
            thought, text = split_content(delta.content or refusal)
            yield from self._add_text(True, thought)
            for is_thought, part in self._tagged.feed(text):
                yield from self._add_text(is_thought, part)
            for call in delta.tool_calls or ():
                self._add_call(call)

    def _add_text(self, is_thought: bool, text: object) -> Iterator[tuple[bool, str]]:
        if isinstance(text, str) and text:
            complete_text = (self._thoughts if is_thought else self._text).add(text)
            if complete_text:
                yield is_thought, complete_text

    def _add_block(self, block: dict[str, Any]) -> None:
        """Extend the open block; a signature closes a block, and a redacted block stands alone."""
        last = self._blocks[-1] if self._blocks else None
        text = block.get("thinking") or ""
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

    def _add_call(self, part: Any) -> None:
        index = part.index or 0
        function = part.function
        id = part.id or ""
        name = "" if function is None else function.name or ""
        arguments = "" if function is None else _arguments_text(function.arguments)
        call = self._calls_by_index.get(index)
        if call is None or call.is_followed_by(id, name, arguments):
            call = self._calls_by_index[index] = _OpenCall()
            self._calls.append(call)
        call.id, call.name = id or call.id, call.name or name
        call.arguments.append(arguments)

    @property
    def text(self) -> str:
        """The text so far."""
        return str(self._text)

    @property
    def characters(self) -> int:
        """Characters of text, thoughts and calls so far."""
        calls = sum(len(part) for call in self._calls for part in call.arguments)
        return len(self._text) + len(self._thoughts) + calls

    def answer(self, provider: str) -> ModelAnswer:
        """Return the whole answer; the caller adds its usage."""
        self._join_block()
        for is_thought, part in self._tagged.flush():
            (self._thoughts if is_thought else self._text).add(part)
        thought = str(self._thoughts)
        text = self.text
        if not thought:  # a server that separates thoughts leaves no tags in the text
            thought, text = split_unopened_thought(text)
        calls = tuple(_to_call(call, index) for index, call in enumerate(self._calls))
        finish = _FINISHES.get(self.finish or "", "calls" if calls else "stop" if text.strip() else "empty")
        signed = [
            _clean_block(block) for block in self._blocks if block.get("signature") or block.get("type") != "thinking"
        ]
        thinking: Any = signed or thought or None
        return ModelAnswer(
            text=text,
            calls=calls,
            thinking=thinking,
            finish="refusal" if self._is_refused else finish,
            model=clean(self.model),
            provider=provider,
        )


def _clean_block(block: dict[str, Any]) -> dict[str, Any]:
    return {key: clean(value) if isinstance(value, str) else value for key, value in block.items()}


def _to_call(call: _OpenCall, place: int) -> Call:
    text = clean("".join(call.arguments))
    call_id = clean(call.id) or f"call_{place}"
    name = clean(call.name)
    excess = excess_of_json(text)
    if excess is not None:
        limit = MAX_JSON_CHARACTERS if excess == "characters" else MAX_JSON_VALUES
        return Call(id=call_id, name=name, invalid=f"(more than {limit:,} {excess})")
    arguments = _parse_arguments(text) if text.strip() else {}
    if isinstance(arguments, dict):
        return Call(id=call_id, name=name, arguments=arguments)
    return Call(id=call_id, name=name, invalid=text)


def _parse_arguments(text: str) -> Any:
    """Return the value of a JSON text; None if it is invalid."""
    try:
        return strict_json(text.encode())
    except NotStrict:
        return None


def _arguments_text(arguments: Any) -> str:
    """Return arguments as text: some servers send the object itself."""
    return arguments if isinstance(arguments, str) else "" if arguments is None else json.dumps(arguments)
