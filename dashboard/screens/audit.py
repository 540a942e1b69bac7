"""The Audit screen: every command as a command line."""

from pathlib import Path

from textual.binding import Binding

from dashboard.frame.table_screen import BELOW, TableScreen
from dashboard.reading.feed import entries_of
from dashboard.views.audit import KINDS, RelatedEvents, audit, describe_change, line_of
from dashboard.views.drawing.row_pane import RowDetails
from dashboard.views.drawing.rows import Listing
from dashboard.views.event_log import Entry
from dashboard.views.view_state import ViewState
from dashboard.views.words.names import Names
from engine.core.errors import CoreError
from engine.core.events import CommandApplied
from store import Reader, StoreError

MAX_RELATED = 100
"""Events of a command that are read, and events after it."""


class AuditScreen(TableScreen):
    """Every command with its sender and its outcome, the newest first."""

    PLACE = "audit"
    SORTED, OPENS, KINDS = False, "event", KINDS
    GRIPS = (BELOW,)
    BELOW_MIN_HEIGHT = 34
    KEYS = (
        ("enter", "open"),
        ("Y", "copy the line", "copy the command line that does the same"),
        "undo",
        ("/", "filter"),
    )
    BINDINGS = [Binding("Y", "copy_line", "copy the line", show=False)]

    def listing(self, view: ViewState) -> Listing:
        return audit(
            self.reading.entries, now_ms=view.now_ms, needle=self.finding.needle, is_loaded=self.reading.has_read
        )

    def describe_row(self, view: ViewState, key: str, width: int, height: int) -> RowDetails | None:
        entry = next((entry for entry in self.reading.entries if str(entry.seq) == key), None)
        if entry is None:
            return None
        names, path = view.names, self.deck.path
        beside = self.details.look_up(key, lambda: _read_related(path, entry, names))
        if beside is not None and len(beside.later) < MAX_RELATED:  # events since the read
            read_seq = max(entry.seq for entry in (entry, *beside.caused, *beside.later))
            beside = beside._replace(later=[*beside.later, *(entry for entry in view.recent if entry.seq > read_seq)])
        return describe_change(
            entry, self.reading.entries, beside, view.state, names, width=width, height=height, now_ms=view.now_ms
        )

    def action_copy_line(self) -> None:
        """Copy the command line of the row under the cursor."""
        key = self.table.selected
        none = "", "choose a command that was applied"
        line, lacks = next((line_of(entry) for entry in self.reading.entries if str(entry.seq) == key), none)
        if line:
            self.app.copy_to_clipboard(line)
            self.deck.messages.say(f"copied: {line}", "muted")
        else:
            self.deck.messages.say(f"there is no command line to copy: {lacks}", "warn")


def _read_related(path: Path, entry: Entry, names: Names) -> RelatedEvents:
    """Runs in a thread: return the first events of a command, and those after it."""
    event = entry.event
    before, after = (event.before, event.after) if isinstance(event, CommandApplied) else (0, 0)
    try:
        with Reader(path) as reader:
            caused = reader.records(entry.seq - before - 1, min(before + 1 + after, MAX_RELATED))
            caused = [record for record in caused if record.seq != entry.seq]
            later = reader.records(entry.seq + after, MAX_RELATED)
            earlier = reader.records_before(entry.seq - before, MAX_RELATED)
            return RelatedEvents(*(entries_of(reader, records, names) for records in (caused, later, earlier)))
    except (StoreError, CoreError):
        return RelatedEvents()


SCREEN = AuditScreen
