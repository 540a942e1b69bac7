"""Results as shown to a model: large ones are truncated, with a tool to read on.

Rule: the journal has the whole result; the excerpt for the model depends only on it and the options.
"""

from engine.core.records.records import JsonValue
from engine.core.records.values import as_text
from engine.models.records import ToolSchema
from engine.runtimes.model.options import ModelOptions
from engine.runtimes.model.tools import Arguments, error_result, object_schema


class Results:
    """The results of one conversation.

    Args:
        options: Set the size of an excerpt, and the name of the tool that reads on.
    """

    def __init__(self, options: ModelOptions) -> None:
        self._max_characters = options.result_chars
        self.tool = options.name_of("read_result")
        """Name of the tool that reads on."""
        self._full_texts: dict[str, str] = {}
        """Truncated texts, by the names under which the model can read on."""

    def schemas(self) -> list[ToolSchema]:
        """Return the tool that reads on, once a text was truncated."""
        if not self._full_texts:
            return []
        about = "Read on in a result that was too long to be shown whole."
        result: JsonValue = {"type": "string", "enum": [*self._full_texts]}
        start: JsonValue = {"type": "integer", "minimum": 0, "description": "The character to begin at."}
        return [ToolSchema(self.tool, about, object_schema(result=result, start=start))]

    def excerpt_of(self, value: JsonValue, name: str) -> str:
        """Return a result as text for the model; if it is truncated, the model can read on under `name`."""
        text = as_text(value)
        if len(text) <= self._max_characters:
            return text
        self._full_texts[name] = text
        return self._excerpt_from(name, 0)

    def read(self, arguments: Arguments) -> JsonValue:
        """Return the requested part of a truncated result."""
        name, start = arguments.get("result"), arguments.get("start", 0)
        if not isinstance(name, str) or name not in self._full_texts:
            return error_result(f"there is no result {name!r} to read on in", results=[*self._full_texts])
        if not isinstance(start, int) or isinstance(start, bool) or not 0 <= start < len(self._full_texts[name]):
            return error_result(f"start must be from 0 to {len(self._full_texts[name]) - 1:,}")
        return self._excerpt_from(name, start)

    def _excerpt_from(self, name: str, start: int) -> str:
        text = self._full_texts[name]
        end = min(start + self._max_characters, len(text))
        if end == len(text):
            return text[start:]
        note = f"[characters {start:,} to {end:,} of {len(text):,}; read on with {self.tool}"
        return f'{text[start:end]}\n{note}(result="{name}", start={end})]'
