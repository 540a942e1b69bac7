"""The newest records that meet a condition, for a page that asks again and again while they come."""

from typing import Unpack

from store import Reader, Record
from store.statements import Conditions


class Newest:
    """Reads on from where it stopped: most conditions have no index, and walk all of the journal for what is rare."""

    def __init__(self, most: int) -> None:
        """Keep so many records at most."""
        self._most = most
        self._conditions = Conditions()
        self._seq = 0
        """Records up to this one were read."""
        self._records: list[Record] = []

    def up_to(self, seq: int, reader: Reader, **conditions: Unpack[Conditions]) -> list[Record]:
        """Return those up to `seq`, the newest last; other conditions, or an earlier moment, are read from anew."""
        known = conditions == self._conditions and seq >= self._seq
        after_seq, before = (self._seq, self._records) if known else (0, [])
        found = reader.records_before(seq + 1, self._most, after_seq=after_seq, **conditions)
        self._conditions, self._seq, self._records = conditions, seq, [*before, *found][-self._most :]
        return self._records
