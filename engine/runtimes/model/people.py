"""The tool by which a model asks a person."""

from engine.core.records import JsonValue
from engine.models.records import ToolSchema
from engine.runtimes.model.builtin_tools import CallResult, OwnTool, Refused, keep, text_in, texts_in
from engine.runtimes.model.tools import Arguments, object_schema
from engine.runtimes.people import checked_question


class AskHuman(OwnTool):
    """Ask a person and wait for the answer."""

    name = "ask_human"

    def schema(self, name: str) -> ToolSchema | None:
        """It takes a question, and the answers to choose from where there are any."""
        text: JsonValue = {"type": "string"}
        needed = object_schema(question=text)
        properties: dict[str, JsonValue] = {"question": text, "options": {"type": "array", "items": text}}
        about = "Ask a person, and wait for the answer. Ask only what you cannot find out or decide yourself."
        return ToolSchema(name, about, {**needed, "properties": properties})

    async def answer(self, name: str, arguments: Arguments, key: str) -> CallResult:
        """Ask; the answer is recorded under the key of the call."""
        work = self._work
        try:
            question, options = text_in(arguments, "question"), texts_in(arguments, "options")
            asked = checked_question(question, options, None, None)
        except (Refused, ValueError) as wrong:
            result = Refused(str(wrong).removeprefix("ctx.ask: ")).result
            return await keep(work, name, key, arguments=arguments, result=result, began_ms=work.now_ms())
        return CallResult(await work.ask_person(key, **asked))
