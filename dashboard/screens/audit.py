"""Who changed what, as command lines."""

from pathlib import Path

from textual.binding import Binding

from dashboard.frame.journal_screen import JournalScreen
from dashboard.frame.table_screen import BELOW
from dashboard.reading.feed import entries_of
from dashboard.views.audit import KINDS, Beside, audit, line_of, of_change
from dashboard.views.drawing.row_pane import More
from dashboard.views.drawing.rows import Listing
from dashboard.views.event_log import Entry
from dashboard.views.view_state import ViewState
from dashboard.views.words.names import Names
from engine.core.errors import CoreError
from engine.core.events import CommandApplied
from store import Reader, StoreError

BESIDE = 100
"""Events of a command that are read, and events after it."""


class AuditScreen(JournalScreen):
    """Every command with its sender and its outcome, the newest first."""

    PLACE = "audit"
    KINDS = KINDS
    GRIPS = (BELOW,)
    BELOW_FROM, FILLS = 34, True
    KEYS = (
        ("enter", "open"),
        ("Y", "copy the line", "copy the command line that does the same"),
        "undo",
        ("/", "filter"),
    )
    BINDINGS = [Binding("Y", "copy_line", "copy the line", show=False)]

    def listing(self, view: ViewState) -> Listing:
        return audit(self.entries, now_ms=view.now_ms, needle=self.needle, looked=self.looked)

    def more(self, view: ViewState, key: str, width: int, height: int) -> More | None:
        entry = next((one for one in self.entries if str(one.seq) == key), None)
        if entry is None:
            return None
        names, path = view.names, self.deck.path
        beside = self.looked_up(key, lambda: _beside(path, entry, names))
        if beside is not None and len(beside.later) < BESIDE:  # what has come since it was read
            read_seq = max(one.seq for one in (entry, *beside.caused, *beside.later))
            beside = beside._replace(later=[*beside.later, *(one for one in view.recent if one.seq > read_seq)])
        return of_change(entry, self.entries, beside, view.state, names, width=width, height=height, now_ms=view.now_ms)

    def action_copy_line(self) -> None:
        """Copy the command line that does the same as the row under the cursor."""
        key = self.table.selected
        none = "", "choose a command that was applied"
        line, lacks = next((line_of(one) for one in self.entries if str(one.seq) == key), none)
        if line:
            self.app.copy_to_clipboard(line)
            self.deck.say(f"copied: {line}", "muted")
        else:
            self.deck.say(f"there is no command line to copy: {lacks}", "warn")


def _beside(path: Path, entry: Entry, names: Names) -> Beside:
    """Runs in a thread: return the first events of a command, and those after it."""
    event = entry.event
    before, after = (event.before, event.after) if isinstance(event, CommandApplied) else (0, 0)
    try:
        with Reader(path) as reader:
            caused = reader.records(entry.seq - before - 1, min(before + 1 + after, BESIDE))
            caused = [one for one in caused if one.seq != entry.seq]
            later = reader.records(entry.seq + after, BESIDE)
            return Beside(entries_of(reader, caused, names), entries_of(reader, later, names))
    except (StoreError, CoreError):
        return Beside()


SCREEN = AuditScreen
