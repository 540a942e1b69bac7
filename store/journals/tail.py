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


class Cursor:
    """A position in a journal; detects lost rows, even if others have got their seqs, by the hash of the last one read.

    Args:
        after_seq: Seq of the last record that was read.
        mark: That record with its hash, if it is known.
    """

    def __init__(self, after_seq: int, mark: HashedRow | None = None) -> None:
        self.after_seq = after_seq
        """Seq of the last record that was read."""
        self.mark = mark
        """That record with its hash; it must still be in the file."""

    def read(self, reader: Reader, limit: int) -> list[Record]:
        """Return the next records, oldest first, at most `limit`.

        Raises:
            ReadRowsLost: If the journal no longer contains records that were read.
        """
        records, mark = reader.records(self.after_seq, limit), self.mark
        seq = records[-1].seq if records else self.after_seq
        if mark is not None and reader.hash_of(mark.seq) != mark.hash:
            raise ReadRowsLost(reader.path, mark.seq)
        if seq > (0 if mark is None else mark.seq):
            self.mark = mark_at(reader, seq)
            if self.mark is None:
                raise ReadRowsLost(reader.path, seq)
        self.after_seq = seq
        return records


class Tail(Cursor):
    """Records as they appear; `batches` opens the file, in the thread that runs it."""

    def __init__(self, path: str | os.PathLike[str], after_seq: int, *, mark: HashedRow | None = None) -> None:
        super().__init__(after_seq, mark)
        self._path = path

    def batches(
        self, stop: threading.Event, limit: int = 500, *, idle: bool = False
    ) -> Generator[list[Record], None, None]:
        """Yield new records, oldest first, in lists of 1 to `limit`; blocks in between until `stop` is set.

        A caller that stops early must close the generator, for example with `contextlib.closing`: Python ignores a
        Ctrl-C during the close of a generator by the garbage collector.

        Args:
            stop: Ends the generator.
            limit: Records of a list.
            idle: Also yield an empty list after each poll without new records, so that the caller can keep time.

        Raises:
            ReadRowsLost: If the journal no longer contains records that were yielded.
            StoreError: As `Reader`.
        """
        with Reader(self._path) as reader:
            interval = PollInterval()
            has_news = True
            while not stop.is_set():
                batch = self.read(reader, limit) if has_news else []
                if batch:
                    interval.note_records()
                if batch or idle:
                    yield batch
                has_news = len(batch) == limit
                if not has_news:
                    stop.wait(interval.wait_s)
                    has_news = reader.has_changed()
