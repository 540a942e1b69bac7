"""Heartbeat, streamed text, and the mark: the last row of the journal that was acknowledged.

Readers want to see text at once, and nobody needs it after a crash; the mark tells the next engine of lost rows.

Own file, own thread, own connection, `synchronous=OFF`: it never slows a commit, nor the loop.
"""

import sqlite3
import threading
import time
from pathlib import Path

from store.connection import Durability, checkpoint_here, connect
from store.lease import Lease, Watch, monotonic_ms
from store.migrations import LIVE, migrate
from store.process import boot_id

FLUSH_S = 0.1
BEAT_S = 1.0

_BEAT = """
INSERT INTO heartbeat (one, token, boot_id, beat_ms, loop_ms, at_ms) VALUES (1, ?, ?, ?, ?, ?)
ON CONFLICT (one) DO UPDATE
   SET token = excluded.token, boot_id = excluded.boot_id, beat_ms = excluded.beat_ms, loop_ms = excluded.loop_ms,
       at_ms = excluded.at_ms
 WHERE excluded.token >= heartbeat.token
"""
_MARK = """
INSERT INTO mark (one, token, seq, durability) VALUES (1, ?, ?, ?)
ON CONFLICT (one) DO UPDATE SET token = excluded.token, seq = excluded.seq, durability = excluded.durability
 WHERE excluded.token >= mark.token
"""
_PUT = "INSERT OR REPLACE INTO texts (key, text) VALUES (?, ?)"
_DROP = "DELETE FROM texts WHERE key = ?"


class LiveOutput:
    """Publish the latest text of each key; in memory only until `start`."""

    def __init__(
        self,
        lease: Lease,
        path: Path | None,
        watch: Watch | None = None,
        *,
        seq: int = 0,
        durability: Durability = "full",
    ) -> None:
        self._lease = lease
        self._path = path
        self._watch = watch
        self._seq = seq
        self._marked_seq: int | None = None
        self._durability = durability
        self._guard = threading.Lock()
        self._texts: dict[str, str] = {}
        self._changed: set[str] = set()
        self._has_begun = False
        self._left_open: sqlite3.Connection | None = None
        self._stop = threading.Event()
        self._news = threading.Event()
        self._thread = threading.Thread(target=self._run, name="store-live", daemon=True)

    def put(self, key: str, text: str) -> None:
        """Replace the text of `key`; an empty one removes it. Readers see it within 0.1 s; never blocks."""
        with self._guard:
            if text:
                self._texts[key] = text
            else:
                self._texts.pop(key, None)
            self._changed.add(key)
        self._news.set()

    def acknowledge(self, seq: int) -> None:
        """Note that the journal is acknowledged up to `seq`; in the file within 0.1 s, never blocks."""
        self._seq = seq
        self._news.set()

    def texts(self) -> dict[str, str]:
        """A copy of what was put and not removed."""
        with self._guard:
            return dict(self._texts)

    def start(self) -> None:
        """Begin to publish."""
        if self._path is not None:
            self._thread.start()

    def stop(self) -> None:
        """Publish what is left and end the thread; blocks for milliseconds."""
        self._stop.set()
        self._news.set()
        if self._thread.is_alive():
            self._thread.join()
        if self._watch is not None:
            self._watch.close()

    def _run(self) -> None:
        connection: sqlite3.Connection | None = None
        boot, due = boot_id(), 0.0
        while True:
            last, beats = self._stop.is_set(), time.monotonic() >= due
            self._news.clear()
            if beats and self._has_lost():
                # Closed, it might take the log of the file away that stands there now.
                self._left_open = connection
                return
            try:
                connection = connection or self._connected()
                if beats:
                    due = time.monotonic() + BEAT_S
                    lease = self._lease
                    connection.execute(_BEAT, (lease.token, boot, monotonic_ms(), lease.loop_ms, lease.at_ms))
                self._flush(connection)
            except sqlite3.Error:
                # A full disk, or the file was taken away: the heart must beat again once that is over.
                if connection is not None:
                    connection.close()
                connection = None
            if last:
                if connection is not None:
                    connection.close()
                return
            self._stop.wait(FLUSH_S)
            self._news.wait(max(0.0, due - time.monotonic()))

    def _has_lost(self) -> bool:
        """Whether the store is another's: then nothing is published any more."""
        at_ms = monotonic_ms()
        loss = None if self._watch is None else self._watch.loss()
        if loss is None:
            self._lease.found(at_ms)
        else:
            self._lease.lose(loss)
        return loss is not None

    def _connected(self) -> sqlite3.Connection:
        assert self._path is not None
        connection = connect(self._path, mode="rw")
        try:
            connection.execute("PRAGMA synchronous = OFF")
            checkpoint_here(connection)
            migrate(connection, LIVE)
            connection.execute("DELETE FROM texts")
            if not self._has_begun:
                # Of an engine before this one, whatever its token: the database may be an older copy.
                connection.execute("DELETE FROM heartbeat")
                connection.execute("DELETE FROM mark")
                self._has_begun = True
            with self._guard:
                self._changed |= self._texts.keys()
        except BaseException:
            connection.close()
            raise
        return connection

    def _flush(self, connection: sqlite3.Connection) -> None:
        if self._marked_seq != (seq := self._seq):
            connection.execute(_MARK, (self._lease.token, seq, self._durability))
            self._marked_seq = seq
        with self._guard:
            changed, self._changed = self._changed, set()
            puts = [(key, self._texts[key]) for key in changed if key in self._texts]
            drops = [(key,) for key in changed if key not in self._texts]
        if not changed:
            return
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(_PUT, puts)
        connection.executemany(_DROP, drops)
        connection.execute("COMMIT")
