"""What a run or a task came to as markdown: the output where it is there, else a draft of what is there so far.

Outputs that are not text are told as an outline, the large ones among them by their sizes.
"""

import json
from collections.abc import Mapping
from typing import Any

from dashboard.views.words.amounts import pluralize
from dashboard.views.words.glyphs import of_task
from dashboard.views.words.names import Texts
from engine.core.state import Run, State, Task

MOST_ITEMS = 12
"""Fields of an object, or items of a list, that an outline names."""
MOST_HELD = 6
"""Fields of an object in an item that stand below it."""
LONGEST = 160
"""Characters of a value in an outline."""
LIVE = 20_000
"""Characters of what is being written, from its end."""


def as_markdown(text: str) -> str:
    """Return an output as markdown: a text as it is, JSON as an outline."""
    values = values_in(text)
    return text if values is None else "\n\n".join(map(outlined, values))


def values_in(text: str) -> list[Any] | None:
    """Return the values of a text that is JSON, or several one after the other, as a join makes them; else None."""
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


def outlined(value: Any) -> str:
    """Return a JSON value as a list of its fields."""
    if isinstance(value, str):
        return as_markdown(value)
    if isinstance(value, Mapping):
        rows = [f"- **{_plain(name)}** {_short(one)}" for name, one in list(value.items())[:MOST_ITEMS]]
    elif isinstance(value, list):
        rows = [row for one in value[:MOST_ITEMS] for row in _item(one)]
    else:
        return _plain(json.dumps(value, ensure_ascii=False))
    more = len(value) - MOST_ITEMS
    return "\n".join([*rows, *([f"- *and {more:,} more*"] if more > 0 else [])]) or "*nothing*"


def _item(value: Any) -> list[str]:
    """Return an item of a list, and below it what its own line leaves out: the outputs of agents that a join lists."""
    rows = [f"- {_short(value)}"]
    if isinstance(value, Mapping):
        held = [one for one in value.values() if isinstance(one, Mapping) and one]
        rows += [
            f"    - **{_plain(name)}** {_short(one)}" for each in held for name, one in [*each.items()][:MOST_HELD]
        ]
    return rows


def _short(value: Any) -> str:
    while isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, Mapping):
        told = [f"{_plain(name)} {_short(one)}" for name, one in value.items() if not isinstance(one, Mapping | list)]
        return ", ".join(told[:4]) or f"*{pluralize(len(value), 'field')}*"
    if isinstance(value, list):
        return f"*{pluralize(len(value), 'item')}*"
    said = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    line = " ".join(said[: LONGEST * 2].split())
    return _plain(line if len(line) <= LONGEST else line[:LONGEST] + "…")


def _plain(text: object) -> str:
    """Return a text in which nothing is markup."""
    return "".join(f"\\{one}" if one in "\\`*_{}[]<>#|~" else one for one in " ".join(str(text).split()))


def draft(state: State, run: Run, live: Mapping[str, str], texts: Texts) -> str:
    """Return what an open run has come to so far: what its stages put out, and what is being written now."""
    nodes = [state.tasks[one] for one in state.tasks[run.root_id].children if one in state.tasks]
    return "\n\n".join(part for node in nodes if (part := _part(state, node, live, texts)))


def _part(state: State, node: Task, live: Mapping[str, str], texts: Texts) -> str:
    if node.ended:
        said = as_markdown(texts.of(node.output)) if node.output is not None else ""
    else:
        said = "\n\n".join(_written(state, node, live))
    return f"## {of_task(node).glyph} {_plain(node.title)}\n\n{said}" if said.strip() else ""


def _written(state: State, node: Task, live: Mapping[str, str]) -> list[str]:
    """Return what is being written below a node; what is written elsewhere has its own place."""
    below = [node, *(state.tasks[one] for one in node.children if one in state.tasks)]
    texts = [live.get(f"output:{task.id}", "") for task in below[: MOST_ITEMS + 1] if not task.ended]
    return [text[-LIVE:] for text in texts if text]
