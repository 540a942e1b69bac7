"""Follow a journal from another process."""

import os
import threading
from collections.abc import Iterator

from store.continuity import Continuity, Mark
from store.pace import Pace
from store.reader import Reader
from store.records import Record


class Tail:
    """Records as they appear, from one seq on."""

    def __init__(self, path: str | os.PathLike[str], after_seq: int, *, mark: Mark | None = None) -> None:
        """Name what to follow, and what was read of it; it is opened by `batches`, in the thread that runs it."""
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
            pace, news, continuity = Pace(), True, Continuity(reader, self.mark)
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
