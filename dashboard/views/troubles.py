"""A short log of engines, failures, warnings and questions, from the journal. Pure."""

from collections.abc import Sequence

from dashboard.views.drawing.lines import fold
from dashboard.views.drawing.rows import Cell
from dashboard.views.event_log import Entry
from dashboard.views.words.amounts import clock
from dashboard.views.words.names import Names
from dashboard.views.words.sentences import SENTENCES, sentence
from engine.core.events import KINDS as ALL
from engine.core.events import EngineStarted, EngineStopped

KINDS = tuple(
    kind
    for kind, event in ALL.items()
    if event in (EngineStarted, EngineStopped) or SENTENCES[event][1] in ("error", "warn", "attention")
)
"""Kinds of events of engines, failures, warnings and questions."""


def troubles(entries: Sequence[Entry], names: Names, *, width: int, height: int) -> list[Cell]:
    """Return a paragraph for each of the newest events of `KINDS` that fit, the newest last.

    Args:
        entries: The newest first.
    """
    cells: list[Cell] = []
    for entry in entries:
        event_sentence, lead = sentence(entry.event, names), f"{clock(entry.at_ms)}  "
        height -= len(fold(event_sentence.text, max(10, width - 2 - len(lead))))
        if height < 0:
            break
        cells.append(Cell(event_sentence.text, event_sentence.tone, lead))
    return cells[::-1]
