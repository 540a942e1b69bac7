"""The newest events as rows, with routine ones in a row as one line; older ones are added on demand."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import islice

from dashboard.views.drawing.lines import Span
from dashboard.views.drawing.rows import Cell
from dashboard.views.event_log import MAX_MATCHES, DatedLog, Entry, WholeLog, cells_of
from dashboard.views.routine_events import describe_routine, fold_routine, is_routine
from dashboard.views.words.names import Names
from dashboard.views.words.place import parse_seq


class FoldedLog(DatedLog):
    """The newest events, with routine ones in a row as one line; older ones are added on demand."""

    empty = WholeLog.empty

    def __init__(self, names: Names) -> None:
        self._names = names
        self._entries: list[Entry] = []
        self._rows: list[tuple[int, int]] = []
        """The range of entries of each row."""
        self.keys: list[str] = []
        """The seq of the first event of each row."""
        self._opened: set[int] = set()
        """Seqs of routine events that are shown one by one."""

    @property
    def oldest_seq(self) -> int:
        """Seq of the first event that is loaded; 0 if there is none."""
        return self._entries[0].seq if self._entries else 0

    @property
    def folded_count(self) -> int:
        """Number of events that have no line of their own."""
        return len(self._entries) - len(self._rows)

    def grow(self, last_seq: int, recent: Sequence[Entry]) -> None:
        """Add new events.

        Args:
            last_seq: End of the journal at the moment shown.
            recent: Its last events, without gaps.
        """
        newest_seq = self._entries[-1].seq if self._entries else 0
        if newest_seq > last_seq or (recent and newest_seq < recent[0].seq - 1):
            self._entries, newest_seq = [], 0
            self._fold(0)
        if not recent or newest_seq >= last_seq:
            return
        skipped = max(0, newest_seq + 1 - recent[0].seq)
        self._entries += [entry for entry in islice(recent, skipped, None) if entry.seq <= last_seq]
        if len(self._entries) > 2 * MAX_MATCHES:
            del self._entries[:-MAX_MATCHES]
            self._rows = []
        # The last row may go on with the new events.
        self._fold(self._rows[-1][0] if self._rows else 0)

    def add_older(self, entries: list[Entry]) -> None:
        """Add events before those that are loaded."""
        if self._entries and entries and entries[-1].seq == self.oldest_seq - 1:
            self._entries = entries + self._entries
            self._fold(0)

    def toggle(self, key: str | None) -> bool:
        """Show the routine events of a row one by one, or fold those around it; return False if it has none."""
        index = self.index(key)
        if index is None:
            return False
        first, last = self._rows[index]
        if last - first > 1:
            self._opened.update(entry.seq for entry in self._entries[first:last])
        elif self._entries[first].seq in self._opened:
            while first > 0 and is_routine(self._entries[first - 1]):
                first -= 1
            while last < len(self._entries) and is_routine(self._entries[last]):
                last += 1
            self._opened.difference_update(entry.seq for entry in self._entries[first:last])
        else:
            return False
        self._fold(0)
        return True

    def entries_at(self, index: int) -> Sequence[Entry]:
        """Return the events of a row."""
        first, last = self._rows[index]
        return self._entries[first:last]

    def is_folded(self, key: str | None) -> bool:
        """Return whether a row stands for several events."""
        index = self.index(key)
        return index is not None and self._rows[index][1] - self._rows[index][0] > 1

    def _fold(self, start: int) -> None:
        """Make the rows anew from an entry on."""
        entries, opened = self._entries, self._opened
        while self._rows and self._rows[-1][0] >= start:
            self._rows.pop()
            self.keys.pop()
        if not self._rows:
            self.keys = []
        made = [*fold_routine(entries, start, len(entries), lambda at: entries[at].seq in opened)]
        self._rows += made
        self.keys += [str(entries[first].seq) for first, _ in made]
        self.oldest_ms = entries[0].at_ms if entries else None

    def cells(self, index: int) -> Sequence[Cell]:
        first, last = self._rows[index]
        entry = self._entries[first]
        cells = cells_of(entry, self._names, self.now_ms)
        if last - first == 1:
            return cells
        text = describe_routine(self._entries[first:last], self._names)
        return (*cells[:2], Cell(text, "muted", spans=(Span("+ ", "faint"), Span(text, "muted"))), Cell(""))

    def index(self, key: str | None) -> int | None:
        """Return the row of an event, also of one in a folded row."""
        seq = parse_seq(key or "")
        if seq is None or not self._entries or not self.oldest_seq <= seq <= self._entries[-1].seq:
            return None
        return bisect_right(self._rows, seq - self.oldest_seq, key=lambda row: row[0]) - 1
