"""The tool by which a model asks a person."""

from typing_extensions import override

from engine.core.records.records import JsonValue
from engine.models.records import ToolSchema
from engine.runtimes.attempts.questions import checked_question
from engine.runtimes.model.builtin_tools import BuiltinTool, CallRefused, CallResult, text_in, texts_in
from engine.runtimes.model.tools import Arguments, object_schema


class AskHuman(BuiltinTool):
    """Ask a person and wait for the answer."""

    name = "ask_human"

    @override
    def schema(self, name: str) -> ToolSchema | None:
        """The tool takes a question, and optionally the possible answers, and a default with the time for it."""
        text: JsonValue = {"type": "string"}
        optional: dict[str, JsonValue] = {
            "options": {"type": "array", "items": text},
            "default": {"type": "string", "description": "The answer if nobody gives one within due_s seconds."},
            "due_s": {"type": "number"},
        }
        about = "Ask a person, and wait for the answer. Ask only what you cannot find out or decide yourself."
        return ToolSchema(name, about, object_schema(optional, question=text))

    @override
    async def _result(self, arguments: Arguments, key: str) -> CallResult:
        """Return the answer, which is recorded under the key of the call."""
        question = text_in(arguments, "question")
        options = texts_in(arguments, "options")
        default, due_s = arguments.get("default"), arguments.get("due_s")
        if not isinstance(default, str | None) or isinstance(due_s, bool) or not isinstance(due_s, int | float | None):
            raise CallRefused("default must be a text, and due_s a number of seconds")
        try:
            question_fields = checked_question(question, options, default, due_s)
        except ValueError as wrong:
            raise CallRefused(str(wrong).removeprefix("ctx.ask: ")) from wrong
        # A model reads any text: a person may write one instead of the options that it has thought of.
        return CallResult(await self._work.questions.ask(key, **question_fields, detail={"free_text": True}))
