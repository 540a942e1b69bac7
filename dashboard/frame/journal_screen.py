"""A table of events of a few kinds, the newest first: read in a thread, up to the moment that is shown."""

from typing import ClassVar

from dashboard.frame.table_screen import LONG, TableScreen
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
    MOST: ClassVar[int] = 2_000
    """Newest events that are read."""

    def __init__(self) -> None:
        super().__init__()
        self.entries: list[Entry] = []
        """The newest first."""
        self.looked = False
        """False until they have been read."""
        self._read_seq, self._read_ms = -1, 0
        self._reading = False

    def show(self, view: ViewState) -> None:
        if self.entries and self.entries[0].seq > view.state.seq:  # went back in time: some of it is of later
            self.entries = [one for one in self.entries if one.seq <= view.state.seq]
        self._read(view)
        super().show(view)

    def _read(self, view: ViewState) -> None:
        seq, names = view.state.seq, view.names
        due = view.due(self._read_ms + READ_EVERY_MS)
        if self._reading or seq == self._read_seq or not due:
            return
        # As they are now: while this reads, another moment may be shown that has fewer.
        known = self.entries if seq > self._read_seq >= 0 else []
        newest = known[0].seq if known else 0
        self._reading, self._read_seq, self._read_ms = True, seq, view.wall_ms

        def read(reader: Reader) -> list[Entry]:
            return entries_before(reader, seq + 1, self.MOST, names, after_seq=newest, kinds=self.KINDS)

        def then(found: list[Entry]) -> None:
            self._reading, self.looked = False, True
            self.entries = [*reversed(found), *known][: self.MOST]
            if newest and len(self.entries) >= LONG:  # a long listing is made when it is due
                return
            self._next_ms = 0
            self.look_again()

        self.deck.read(read, then, failed=self._not_read)

    def _not_read(self) -> None:
        """Read again after a while."""
        self._reading, self._read_seq = False, -1

    def facts(self) -> list[Cell]:
        more = "+" if len(self.entries) == self.MOST else ""
        return [*super().facts(), Cell(f"{len(self.entries):,}{more} read", "muted")]
