"""What the journal tells of engines and of what went wrong lately, for the room that a short log leaves. Pure."""

from collections.abc import Iterable
from itertools import islice

from dashboard.views.amounts import clock
from dashboard.views.event_log import Entry
from dashboard.views.lines import cut
from dashboard.views.names import Names
from dashboard.views.rows import Cell
from dashboard.views.sentences import SENTENCES, sentence
from engine.core.events import EngineStarted, EngineStopped

SCANNED = 2_000
"""Events that are looked through, the newest first."""


def troubles(newest: Iterable[Entry], names: Names, *, width: int, most: int) -> list[Cell]:
    """Return so many events of engines, failures and warnings, the newest last; `newest` has the newest first."""
    found: list[Cell] = []
    for entry in islice(newest, SCANNED):
        kind = type(entry.event)
        if len(found) >= most:
            break
        if kind in (EngineStarted, EngineStopped) or SENTENCES[kind][1] in ("error", "warn"):
            told, lead = sentence(entry.event, names), f"{clock(entry.at_ms)}  "
            found.append(Cell(cut(told.text, max(8, width - len(lead) - 3)), told.tone, lead))
    return found[::-1]
