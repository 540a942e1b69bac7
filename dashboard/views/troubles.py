"""What the journal tells of engines and of what went wrong, for the room that a short log leaves. Pure."""

from collections.abc import Iterable

from dashboard.views.amounts import clock
from dashboard.views.event_log import Entry
from dashboard.views.lines import cut
from dashboard.views.names import Names
from dashboard.views.rows import Cell
from dashboard.views.sentences import SENTENCES, sentence
from engine.core.events import KINDS as ALL
from engine.core.events import EngineStarted, EngineStopped

KINDS = tuple(
    kind
    for kind, event in ALL.items()
    if event in (EngineStarted, EngineStopped) or SENTENCES[event][1] in ("error", "warn")
)
"""Kinds of events of engines, failures and warnings."""


def troubles(entries: Iterable[Entry], names: Names, *, width: int) -> list[Cell]:
    """Return a line for each event of `KINDS`, in their order."""
    found: list[Cell] = []
    for entry in entries:
        told, lead = sentence(entry.event, names), f"{clock(entry.at_ms)}  "
        found.append(Cell(cut(told.text, max(8, width - len(lead) - 3)), told.tone, lead))
    return found
