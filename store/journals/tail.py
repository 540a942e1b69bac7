"""Follows a journal from another process: polling interval, and detection of lost rows."""

import os
import threading
import time
from collections.abc import Generator
from typing import NamedTuple

from store.errors import ReadRowsLost
from store.journals.reader import Reader
from store.journals.records import Record

BUSY_S = 0.020
IDLE_S = 0.050
_BUSY_PERIOD_S = 1.0


class PollInterval:
    """Polling interval: 20 ms while records keep coming, 50 ms otherwise."""

    def __init__(self) -> None:
        self._busy_until = 0.0

    def note_records(self) -> None:
        """Note that there were new records."""
        self._busy_until = time.monotonic() + _BUSY_PERIOD_S

    @property
    def wait_s(self) -> float:
        """Seconds until the next poll."""
        return BUSY_S if time.monotonic() < self._busy_until else IDLE_S


class HashedRow(NamedTuple):
    """A row with its chained hash, which covers all rows before it."""

    seq: int
    hash: bytes


def mark_at(reader: Reader, seq: int) -> HashedRow | None:
    """Return the mark of a row; None if the journal does not contain it."""
    row_hash = reader.hash_of(seq)
    return None if row_hash is None else HashedRow(seq, row_hash)


class Continuity:
    """Detects lost rows, even if other rows have got their seqs, by the hash of the last row that was read.

    Args:
        reader: Reader of the followed file.
        mark: The last row that was read before, if any.
    """

    def __init__(self, reader: Reader, mark: HashedRow | None = None) -> None:
        self._reader = reader
        self.mark = mark

    def check(self, seq: int) -> None:
        """Check that the last row is still there, and remember the one at `seq` if it is later.

        Raises:
            ReadRowsLost: If either is missing.
        """
        mark = self.mark
        if mark is not None and self._reader.hash_of(mark.seq) != mark.hash:
            raise ReadRowsLost(self._reader.path, mark.seq)
        if seq > (0 if mark is None else mark.seq):
            self.mark = mark_at(self._reader, seq)
            if self.mark is None:
                raise ReadRowsLost(self._reader.path, seq)


class Tail:
    """Records as they appear, from one seq on."""

    def __init__(self, path: str | os.PathLike[str], after_seq: int, *, mark: HashedRow | None = None) -> None:
        """Name the file to follow and the last row that was read; `batches` opens it, in the thread that runs it."""
        self._path = path
        self.mark = mark
        """The last record that was read, with its hash; it must still be in the file."""
        self.after_seq = after_seq
        """Seq of the last record that was yielded."""

    def batches(self, stop: threading.Event, limit: int = 500) -> Generator[list[Record], None, None]:
        """Yield new records, oldest first, in lists of 1 to `limit`; blocks in between until `stop` is set.

        A caller that stops early must close the generator, for example with `contextlib.closing`: Python ignores a
        Ctrl-C during the close of a generator by the garbage collector.

        Raises:
            ReadRowsLost: If the journal no longer contains records that were yielded.
            StoreError: As `Reader`.
        """
        with Reader(self._path) as reader:
            interval, has_news, continuity = PollInterval(), True, Continuity(reader, self.mark)
            while not stop.is_set():
                batch = reader.records(self.after_seq, limit) if has_news else []
                if has_news:
                    continuity.check(batch[-1].seq if batch else self.after_seq)
                    self.mark = continuity.mark
                if batch:
                    interval.note_records()
                    self.after_seq = batch[-1].seq
                    yield batch
                has_news = len(batch) == limit
                if not has_news:
                    stop.wait(interval.wait_s)
                    has_news = reader.has_changed()
