"""Whether a journal still holds what was read of it: it may have lost rows, and others come under the same seqs."""

from store.errors import ReadRowsLost
from store.reader import Reader


class Continuity:
    """Remembers the last row that was read, by its hash, which stands for all rows before it.

    Args:
        reader: Of the file that is followed.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._seq = 0
        self._hash: bytes | None = None

    def check(self, seq: int) -> None:
        """Look whether the last row that was read is still there, and remember the one at `seq` if it is later.

        Raises:
            ReadRowsLost: If either is not there.
        """
        if self._seq and self._reader.hash_of(self._seq) != self._hash:
            raise ReadRowsLost(self._reader.path, self._seq)
        if seq > self._seq:
            found = self._reader.hash_of(seq)
            if found is None:
                raise ReadRowsLost(self._reader.path, seq)
            self._seq, self._hash = seq, found
