"""A table of events of a few kinds, the newest first: read in a thread, up to the shown moment."""

from typing import ClassVar

from dashboard.frame.table_screen import LONG_LISTING_ROWS, TableScreen
from dashboard.reading.feed import entries_before
from dashboard.views.drawing.rows import Cell
from dashboard.views.event_log import Entry
from dashboard.views.view_state import ViewState
from store import Reader

READ_EVERY_MS = 500


class JournalScreen(TableScreen):
    """Shows the newest events of some kinds."""

    SORTED = False
    OPENS = "event"
    KINDS: ClassVar[tuple[str, ...]] = ()
    MAX_ENTRIES: ClassVar[int] = 2_000
    """How many of the newest events are read."""

    def __init__(self) -> None:
        super().__init__()
        self.entries: list[Entry] = []
        """Entries, the newest first."""
        self.has_read = False
        """Whether the entries have been read once."""
        self._read_seq, self._read_ms = -1, 0
        self._reading = False

    def show(self, view: ViewState) -> None:
        if self.entries and self.entries[0].seq > view.state.seq:  # went back in time: drop later entries
            self.entries = [entry for entry in self.entries if entry.seq <= view.state.seq]
        self._read(view)
        super().show(view)

    def _read(self, view: ViewState) -> None:
        seq, names = view.state.seq, view.names
        due = view.is_due(self._read_ms + READ_EVERY_MS)
        if self._reading or seq == self._read_seq or not due:
            return
        # A copy: an earlier moment with fewer entries may be shown while this reads.
        old_entries = self.entries if seq > self._read_seq >= 0 else []
        newest = old_entries[0].seq if old_entries else 0
        self._reading, self._read_seq, self._read_ms = True, seq, view.wall_ms

        def read(reader: Reader) -> list[Entry]:
            return entries_before(reader, seq + 1, self.MAX_ENTRIES, names, after_seq=newest, kinds=self.KINDS)

        def receive(entries: list[Entry]) -> None:
            self._reading, self.has_read = False, True
            self.entries = [*reversed(entries), *old_entries][: self.MAX_ENTRIES]
            if newest and len(self.entries) >= LONG_LISTING_ROWS:  # a long listing waits until it is due
                return
            self.due_ms = 0
            self.update_now()

        self.deck.background.read(read, receive, failed=self._not_read)

    def _not_read(self) -> None:
        """Let the next redraw read again."""
        self._reading, self._read_seq = False, -1

    def facts(self) -> list[Cell]:
        more = "+" if len(self.entries) == self.MAX_ENTRIES else ""
        return [*super().facts(), Cell(f"{len(self.entries):,}{more} read", "muted")]
