"""The newest events of a few kinds for a table: read in a thread, up to the shown moment."""

from collections.abc import Callable, Sequence

from dashboard.deck.live_screen import LiveScreen
from dashboard.reading.feed import entries_before
from dashboard.views.event_log import Entry
from dashboard.views.view_state import ViewState
from store import Reader

READ_EVERY_MS = 500
"""Shortest time between two reads of the journal, in milliseconds."""


class JournalReading:
    """Reads the newest events of some kinds.

    Args:
        limit: How many of the newest events are read.
        ready: Called when events were read, with whether they are the first ones.
    """

    def __init__(self, screen: LiveScreen, kinds: Sequence[str], limit: int, ready: Callable[[bool], None]) -> None:
        self._screen, self._kinds, self._limit, self._ready = screen, kinds, limit, ready
        self.entries: list[Entry] = []
        """Entries, the newest first."""
        self.has_read = False
        """Whether the entries have been read once."""
        self._read_seq, self._read_ms = -1, 0
        self._reading = False

    @property
    def is_full(self) -> bool:
        """Whether there may be more events than are read."""
        return len(self.entries) >= self._limit

    def update(self, view: ViewState) -> None:
        """Drop entries that are later than the shown moment, and read new ones if that is due."""
        if self.entries and self.entries[0].seq > view.state.seq:
            self.entries = [entry for entry in self.entries if entry.seq <= view.state.seq]
        seq, names = view.state.seq, view.names
        due = view.is_due(self._read_ms + READ_EVERY_MS)
        if self._reading or seq == self._read_seq or not due:
            return
        # A copy: an earlier moment with fewer entries may be shown while this reads.
        old_entries = self.entries if seq > self._read_seq >= 0 else []
        newest = old_entries[0].seq if old_entries else 0
        self._reading, self._read_seq, self._read_ms = True, seq, view.wall_ms

        def read(reader: Reader) -> list[Entry]:
            return entries_before(reader, seq + 1, self._limit, names, after_seq=newest, kinds=self._kinds)

        def receive(entries: list[Entry]) -> None:
            self._reading, self.has_read = False, True
            self.entries = [*reversed(entries), *old_entries][: self._limit]
            self._ready(not newest)

        self._screen.deck.background.read(read, receive, on_failure=self._handle_read_failure)

    def _handle_read_failure(self) -> None:
        """Let the next redraw read again."""
        self._reading, self._read_seq = False, -1
