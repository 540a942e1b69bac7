"""The output of a run or a task as markdown; while it is open, a draft of the output so far.

An output that is not text is shown as an outline, in which large values are replaced by their sizes.
"""

import json
from collections.abc import Mapping
from typing import Any

from dashboard.views.words.amounts import pluralize
from dashboard.views.words.glyphs import TASK
from dashboard.views.words.names import JournalTexts
from engine.core.state import Run, State, Task

MAX_ITEMS = 12
"""Fields of an object, or items of a list, that an outline names."""
MAX_NESTED_FIELDS = 6
"""Fields of an object inside an item that are listed below it."""
MAX_CHARACTERS = 160
"""Characters of a value in an outline."""
MAX_LIVE_CHARACTERS = 20_000
"""Characters of live text, counted from its end."""


def as_markdown(text: str) -> str:
    """Return an output as markdown: a text as it is, JSON as an outline."""
    values = values_in(text)
    return text if values is None else "\n\n".join(map(outline_value, values))


def values_in(text: str) -> list[Any] | None:
    """Parse one JSON value, or several in sequence, as a join writes them; None for any other text."""
    if text[:1] not in ("{", "["):
        return None
    decoder, at, values = json.JSONDecoder(), 0, []
    while at < len(text):
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return None
        values.append(value)
        at += len(text[at:]) - len(text[at:].lstrip())
    return values


def outline_value(value: Any) -> str:
    """Return a JSON value as a list of its fields."""
    if isinstance(value, str):
        return as_markdown(value)
    if isinstance(value, Mapping):
        rows = [f"- **{_escape(name)}** {_summarize(field)}" for name, field in list(value.items())[:MAX_ITEMS]]
    elif isinstance(value, list):
        rows = [row for item in value[:MAX_ITEMS] for row in _item(item)]
    else:
        return _escape(json.dumps(value, ensure_ascii=False))
    more = len(value) - MAX_ITEMS
    return "\n".join([*rows, *([f"- *and {more:,} more*"] if more > 0 else [])]) or "*nothing*"


def _item(value: Any) -> list[str]:
    """Return an item of a list, and below it the fields of objects in it, such as the outputs that a join lists."""
    rows = [f"- {_summarize(value)}"]
    if isinstance(value, Mapping):
        objects = [field for field in value.values() if isinstance(field, Mapping) and field]
        rows += [
            f"    - **{_escape(name)}** {_summarize(field)}"
            for each in objects
            for name, field in [*each.items()][:MAX_NESTED_FIELDS]
        ]
    return rows


def _summarize(value: Any) -> str:
    while isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, Mapping):
        fields = [
            f"{_escape(name)} {_summarize(field)}"
            for name, field in value.items()
            if not isinstance(field, Mapping | list)
        ]
        return ", ".join(fields[:4]) or f"*{pluralize(len(value), 'field')}*"
    if isinstance(value, list):
        return f"*{pluralize(len(value), 'item')}*"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    line = " ".join(text[: MAX_CHARACTERS * 2].split())
    return _escape(line if len(line) <= MAX_CHARACTERS else line[:MAX_CHARACTERS] + "…")


def _escape(text: object) -> str:
    return "".join(
        f"\\{character}" if character in "\\`*_{}[]<>#|~" else character for character in " ".join(str(text).split())
    )


def draft(state: State, run: Run, live: Mapping[str, str], texts: JournalTexts) -> str:
    """Return the draft of an open run: the outputs of its stages, and the live text."""
    nodes = [state.tasks[child_id] for child_id in state.tasks[run.root_id].children if child_id in state.tasks]
    return "\n\n".join(part for node in nodes if (part := _section(state, node, live, texts)))


def _section(state: State, node: Task, live: Mapping[str, str], texts: JournalTexts) -> str:
    if node.ended:
        text = as_markdown(texts.of(node.output)) if node.output is not None else ""
    else:
        text = "\n\n".join(_live_texts(state, node, live))
    return f"## {TASK[node.status].glyph} {_escape(node.title)}\n\n{text}" if text.strip() else ""


def _live_texts(state: State, node: Task, live: Mapping[str, str]) -> list[str]:
    """Return the live text of a node and of its children."""
    below = [node, *(state.tasks[child_id] for child_id in node.children if child_id in state.tasks)]
    texts = [live.get(f"output:{task.id}", "") for task in below[: MAX_ITEMS + 1] if not task.ended]
    return [text[-MAX_LIVE_CHARACTERS:] for text in texts if text]
