"""Memory of model agents: tools to store and search insights, and the automatic memory of a `MemoryAgent`."""

import msgspec
from typing_extensions import override

from engine.core.records.records import JsonValue
from engine.models.records import ToolSchema
from engine.runtimes.attempts.work import Work
from engine.runtimes.model.builtin_tools import BuiltinTool, CallRefused, text_in, texts_in
from engine.runtimes.model.tools import Arguments, object_schema

RECALLED_INSIGHTS = 5
"""Number of insights that a search returns."""
KEPT_CHARACTERS = 2_000
"""Characters of a request, and of its answer, that a `MemoryAgent` stores."""


class Remember(BuiltinTool):
    """The tool `remember`: store an insight for later tasks."""

    name = "remember"

    @override
    def schema(self, name: str) -> ToolSchema | None:
        """The tool takes a text, tags and an importance."""
        text: JsonValue = {"type": "string"}
        optional: dict[str, JsonValue] = {
            "tags": {"type": "array", "items": text, "description": "Words that it is found by."},
            "importance": {"type": "number", "minimum": 0, "maximum": 1},
        }
        return ToolSchema(name, "Remember something for later tasks.", object_schema(optional, text=text))

    @override
    async def _result(self, arguments: Arguments, key: str) -> JsonValue:
        """Store an insight; return its id."""
        importance = arguments.get("importance", 0.5)
        if isinstance(importance, bool) or not isinstance(importance, int | float):
            raise CallRefused("importance must be a number from 0 to 1")
        text = text_in(arguments, "text")
        tags = tuple(texts_in(arguments, "tags"))
        return {"remembered": await self._work.memory.remember(text, tags, float(importance))}


class Recall(BuiltinTool):
    """The tool `recall`: search the stored insights."""

    name = "recall"

    @override
    def schema(self, name: str) -> ToolSchema | None:
        """The tool takes the words to search for."""
        query: JsonValue = {"type": "string", "description": "Words to look for."}
        return ToolSchema(name, "Find what you remembered in earlier tasks.", object_schema(query=query))

    @override
    async def _result(self, arguments: Arguments, key: str) -> JsonValue:
        """Return the matching insights, best first."""
        insights: JsonValue = msgspec.to_builtins(
            await self._work.memory.recall(text_in(arguments, "query"), RECALLED_INSIGHTS)
        )
        return insights


async def recall_text(work: Work, request: str) -> str:
    """Return the insights that match a request, as text for a `MemoryAgent`; a recorded step."""
    key = work.attempt.key("recalled", request)
    if work.attempt.is_recorded(key):
        return str(await work.attempt.recorded_output(key))
    insights = await work.memory.recall(request, RECALLED_INSIGHTS)
    text = "\n".join(f"- {insight.text}" for insight in insights)
    await work.attempt.record(work.finished_step("tool", "recall", key, text))
    return text


async def remember_answer(work: Work, request: str, answer: str) -> None:
    """Store a request and its answer as an insight."""
    text = f"Asked: {request[:KEPT_CHARACTERS]}\nAnswered: {answer[:KEPT_CHARACTERS]}"
    await work.memory.remember(text, ("task",), 0.5)
