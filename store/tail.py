"""Follows a journal from another process: how often it polls, and whether the journal still holds what was read."""

import os
import threading
import time
from collections.abc import Iterator
from typing import NamedTuple

from store.errors import ReadRowsLost
from store.reader import Reader
from store.records import Record

BUSY_S = 0.020
IDLE_S = 0.050
_STAYS_BUSY_S = 1.0


class PollInterval:
    """20 ms between questions while news keeps coming, 50 ms otherwise."""

    def __init__(self) -> None:
        self._busy_until = 0.0

    def news(self) -> None:
        """Say that there was some."""
        self._busy_until = time.monotonic() + _STAYS_BUSY_S

    @property
    def wait_s(self) -> float:
        """Seconds until the next question."""
        return BUSY_S if time.monotonic() < self._busy_until else IDLE_S


class Mark(NamedTuple):
    """A row that was read, by its hash, which stands for all rows before it."""

    seq: int
    hash: bytes


def mark_at(reader: Reader, seq: int) -> Mark | None:
    """Return the mark of a row; None where the journal does not have it, or nothing was read."""
    found = reader.hash_of(seq)
    return None if found is None else Mark(seq, found)


class Continuity:
    """Notices lost rows, under whose seqs others may come: it remembers the last row that was read.

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


class Tail:
    """Records as they appear, from one seq on."""

    def __init__(self, path: str | os.PathLike[str], after_seq: int, *, mark: Mark | None = None) -> None:
        """Name the file to follow and the last row that was read; `batches` opens it, in the thread that runs it."""
        self._path = path
        self.mark = mark
        """What has to stand in the file: the last record that was read, by its hash."""
        self.after_seq = after_seq
        """Seq of the last record that was handed out."""

    def batches(self, stop: threading.Event, limit: int = 500) -> Iterator[list[Record]]:
        """Yield what is new, oldest first, in lists of 1 to `limit`; blocks in between until `stop` is set.

        It asks each 20 ms while records keep coming and each 50 ms otherwise.

        Raises:
            ReadRowsLost: If the journal does not hold any more what was handed out.
            StoreError: As `Reader`.
        """
        with Reader(self._path) as reader:
            pace, news, continuity = PollInterval(), True, Continuity(reader, self.mark)
            while not stop.is_set():
                batch = reader.records(self.after_seq, limit) if news else []
                if news:
                    continuity.check(batch[-1].seq if batch else self.after_seq)
                    self.mark = continuity.mark
                if batch:
                    pace.news()
                    self.after_seq = batch[-1].seq
                    yield batch
                news = len(batch) == limit
                if not news:
                    stop.wait(pace.wait_s)
                    news = reader.changed()
