"""The last words of an agent about a task: what it said before it asked or failed. Pure."""

from collections.abc import Mapping

from dashboard.views.words.names import JournalTexts
from engine.core.state import Task

_TURN = "turn:"
_MAX_TURNS = 3
"""Turns of a model that are looked through: some only call tools."""
_MAX_CHARACTERS = 4_000


def last_words(task: Task | None, live: Mapping[str, str], texts: JournalTexts) -> str:
    """Return what the agent of a task said last; empty if it said nothing, or while the journal is read.

    Args:
        texts: Texts of the journal; what is missing there has to be read next.
    """
    if task is None:
        return ""
    if text := live.get(f"output:{task.id}", "").strip():
        return text[-_MAX_CHARACTERS:]
    turns = [key for key in task.steps if key.startswith(_TURN)]
    for key in reversed(turns[-_MAX_TURNS:]):
        output = texts.json(task.steps[key])
        text = str(output.get("text") or output.get("thinking") or "").strip() if isinstance(output, dict) else ""
        if text or output == "…":
            return text[-_MAX_CHARACTERS:]
    return ""
