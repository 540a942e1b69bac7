"""The newest events that meet a condition, for a page that is redrawn while they arrive."""

from typing import Unpack

from dashboard.reading.feed import entries_before
from dashboard.views.event_log import Entry
from dashboard.views.words.names import Names
from store import Reader
from store.journals.statements import Conditions

HISTORY = 100
"""Number of events of an object that are shown."""


class Newest:
    """Reads incrementally: most conditions have no index, so that rare events need a scan of the journal."""

    def __init__(self, max_entries: int) -> None:
        """Keep at most `max_entries` events."""
        self._max_entries = max_entries
        self._conditions = Conditions()
        self._seq = 0
        """Seq up to which the journal was read."""
        self._entries: list[Entry] = []

    def up_to(self, seq: int, reader: Reader, names: Names, **conditions: Unpack[Conditions]) -> list[Entry]:
        """Return the newest events up to `seq`, oldest first; other conditions or an earlier `seq` start a new scan."""
        is_continued = conditions == self._conditions and seq >= self._seq
        after_seq, before = (self._seq, self._entries) if is_continued else (0, [])
        entries = entries_before(reader, seq + 1, self._max_entries, names, after_seq=after_seq, **conditions)
        self._conditions, self._seq, self._entries = conditions, seq, [*before, *entries][-self._max_entries :]
        return self._entries
