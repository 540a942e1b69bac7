"""The last words of an agent about a task: what it said before it asked or failed, and what it did before. Pure."""

from collections.abc import Mapping, Sequence

from dashboard.views.drawing.rows import Cell, labelled_cell
from dashboard.views.words.names import JournalTexts
from engine.core.records.values import as_text
from engine.core.state import Task

_TURN = "turn:"
_MAX_TURNS = 3
"""Turns of a model that are looked through: some only call tools."""
_MAX_CHARACTERS = 4_000
_MAX_STEPS = 20


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


def earlier_lines(task: Task | None, texts: JournalTexts, max_lines: int) -> Sequence[Cell]:
    """Return what an agent said and did on a task, the newest first, one line each."""
    keys = [] if task is None or max_lines < 1 else [*task.steps][-min(max_lines, _MAX_STEPS) :]
    cells = []
    if keys and keys[-1].startswith(_TURN):
        keys.pop()  # the last words, which are shown whole
    for key in reversed(keys):
        kind, name = f"{key}::".split(":")[:2]
        value = texts.json(task.steps[key]) if task is not None else None
        if kind == "turn":
            text = str(value.get("text") or value.get("thinking") or "") if isinstance(value, dict) else ""
            label = "said"
        else:
            text, label = as_text(value) if value is not None else "done", name if kind == "call" else kind
        if text := " ".join(text.split()):
            cells.append(labelled_cell(label, text, "muted"))
    return cells
