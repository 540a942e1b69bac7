"""The newest events that meet a condition, for a page that asks again and again while they come."""

from typing import Unpack

from dashboard.reading.feed import entries_before
from dashboard.views.event_log import Entry
from dashboard.views.words.names import Names
from store import Reader
from store.journals.statements import Conditions


class Newest:
    """Reads on from where it stopped: most conditions have no index, and walk all of the journal for what is rare."""

    def __init__(self, max_entries: int) -> None:
        """Keep so many events at most."""
        self._max_entries = max_entries
        self._conditions = Conditions()
        self._seq = 0
        """Events up to this one were read."""
        self._entries: list[Entry] = []

    def up_to(self, seq: int, reader: Reader, names: Names, **conditions: Unpack[Conditions]) -> list[Entry]:
        """Return those up to `seq`, the newest last; other conditions, or an earlier moment, are read from anew."""
        is_continued = conditions == self._conditions and seq >= self._seq
        after_seq, before = (self._seq, self._entries) if is_continued else (0, [])
        entries = entries_before(reader, seq + 1, self._max_entries, names, after_seq=after_seq, **conditions)
        self._conditions, self._seq, self._entries = conditions, seq, [*before, *entries][-self._max_entries :]
        return self._entries
