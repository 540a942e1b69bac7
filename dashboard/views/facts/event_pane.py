"""The event under the cursor of the Events screen: its whole sentence, and what it holds. Pure."""

from collections.abc import Sequence

import msgspec

from dashboard.views.drawing.lines import Line, hairline, indent
from dashboard.views.drawing.prose import paragraph
from dashboard.views.drawing.values import value_lines
from dashboard.views.event_log import Entry, tone_of
from dashboard.views.facts.step_table import is_step, whole_step
from dashboard.views.words.names import Names
from dashboard.views.words.sentences import sentence

_MAX_WIDTH = 120
"""Maximum width of prose: longer lines are hard to read."""
_FRAME_FIELDS = frozenset({"at_ms", "type", "command_id", "key"})
"""Fields that the row has, or that are for the engine alone."""


def event_pane(entries: Sequence[Entry], names: Names, width: int, height: int) -> list[Line]:
    """Return an event with its fields, or the sentences of several that are folded to one row."""
    if not entries:
        return []
    lines = [hairline("EVENT" if len(entries) == 1 else "EVENTS", width, right="enter opens it")]
    text_width = min(_MAX_WIDTH, width - 2)
    for entry in entries[: max(0, height - 1)]:
        said = sentence(entry.event, names)
        lines += map(indent, paragraph(said.text, text_width, tone=tone_of(entry, said), max_lines=height))
    if len(entries) == 1 and (left := height - len(lines)) > 0:
        inner = whole_step(entries[0], text_width) if is_step(entries[0]) else _fields(entries[0], text_width, left)
        lines += map(indent, inner)
    return lines[:height]


def _fields(entry: Entry, width: int, max_lines: int) -> list[Line]:
    fields = msgspec.to_builtins(entry.event, enc_hook=str)
    shown = {
        name: value for name, value in fields.items() if value not in (None, [], {}, "") and name not in _FRAME_FIELDS
    }
    return value_lines(shown, width, max_lines=max_lines)
