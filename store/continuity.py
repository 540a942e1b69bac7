"""Whether a journal still holds what was read of it: it may have lost rows, and others come under the same seqs."""

from typing import NamedTuple

from store.errors import ReadRowsLost
from store.reader import Reader


class Mark(NamedTuple):
    """A row that was read, by its hash, which stands for all rows before it."""

    seq: int
    hash: bytes


def mark_at(reader: Reader, seq: int) -> Mark | None:
    """Return the mark of a row; None where the journal does not have it, or nothing was read."""
    found = reader.hash_of(seq)
    return None if found is None else Mark(seq, found)


class Continuity:
    """Remembers the last row that was read.

    Args:
        reader: Of the file that is followed.
        mark: What was read before, if anything.
    """

    def __init__(self, reader: Reader, mark: Mark | None = None) -> None:
        self._reader = reader
        self.mark = mark

    def check(self, seq: int) -> None:
        """Look whether the last row that was read is still there, and remember the one at `seq` if it is later.

        Raises:
            ReadRowsLost: If either is not there.
        """
        known = self.mark
        if known is not None and self._reader.hash_of(known.seq) != known.hash:
            raise ReadRowsLost(self._reader.path, known.seq)
        if seq > (0 if known is None else known.seq):
            self.mark = mark_at(self._reader, seq)
            if self.mark is None:
                raise ReadRowsLost(self._reader.path, seq)
