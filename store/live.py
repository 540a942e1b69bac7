"""The live file: heartbeat, streamed texts, and the mark (the last acknowledged row of the journal).

Texts are not needed after a crash; the mark lets the next engine detect lost rows. The file has its own thread and
connection with `synchronous=OFF`, so it never slows a commit or the loop.
"""

import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path

from store.layout.connection import Durability, closed_on_error, connect, enable_checkpoints
from store.layout.migrations import LIVE, migrate
from store.leadership.lease import Lease, Watch, monotonic_ms
from store.leadership.process import boot_id

FLUSH_S = 0.1
BEAT_S = 1.0
MAX_PAUSE_S = 1.0

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


def pause_s(write_s: float) -> float:
    """Seconds to wait after a write that took `write_s` seconds.

    With much text it writes less often, so that a tenth of the time goes into writing. A write that took long because
    the machine is busy must not make readers wait ten times as long.
    """
    return min(max(FLUSH_S, 9 * write_s), MAX_PAUSE_S)


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
        self._changed_keys: set[str] = set()
        self._is_cleared = False
        self._pull: Callable[[], dict[str, str]] = dict
        self._stop = threading.Event()
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name="store-live", daemon=True)

    def put(self, key: str, text: str) -> None:
        """Replace the text of `key`; an empty text removes it. Readers see it within 0.1 s; never blocks."""
        with self._guard:
            if text:
                self._texts[key] = text
            else:
                self._texts.pop(key, None)
            self._changed_keys.add(key)
        self._wake.set()

    def follow(self, pull: Callable[[], dict[str, str]]) -> None:
        """Also publish the changed texts that `pull` returns, which is called in the publishing thread after `news`.

        Pulled rather than pushed: texts are assembled only as often as they are written.
        """
        self._pull = pull

    def news(self) -> None:
        """Note that `pull` has something new; never blocks."""
        self._wake.set()

    def acknowledge(self, seq: int) -> None:
        """Note the last acknowledged row; written within 0.1 s, never blocks."""
        self._seq = seq
        self._wake.set()

    def texts(self) -> dict[str, str]:
        """A copy of the present texts that people read, without recent outputs and pulses."""
        self._pull_texts()
        with self._guard:
            return {key: text for key, text in self._texts.items() if not key.startswith(("tape:", "pulse:"))}

    def start(self) -> None:
        """Begin to publish."""
        if self._path is not None:
            self._thread.start()

    def stop(self) -> None:
        """Publish the rest and end the thread; blocks for milliseconds."""
        self._stop.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()
        if self._watch is not None:
            self._watch.close()

    def _run(self) -> None:
        connection: sqlite3.Connection | None = None
        boot, next_beat_s = boot_id(), 0.0
        while True:
            began_s = time.monotonic()
            is_last, is_beat_due = self._stop.is_set(), began_s >= next_beat_s
            self._wake.clear()
            if is_beat_due and self._is_lease_lost():
                if connection is not None:
                    connection.close()  # SQLite does not remove the log of a file that has replaced the opened one
                return
            try:
                connection = connection or self._connect()
                if is_beat_due:
                    next_beat_s = time.monotonic() + BEAT_S
                    lease = self._lease
                    connection.execute(_BEAT, (lease.token, boot, monotonic_ms(), lease.loop_ms, lease.at_ms))
                self._flush(connection)
            except sqlite3.Error:
                # A full disk or a removed file: reconnect at the next round, so that the heartbeat resumes afterwards.
                if connection is not None:
                    connection.close()
                connection = None
            if is_last:
                if connection is not None:
                    connection.close()
                return
            self._stop.wait(pause_s(time.monotonic() - began_s))
            self._wake.wait(max(0.0, next_beat_s - time.monotonic()))

    def _is_lease_lost(self) -> bool:
        """Return whether the lease is lost, after which nothing may be published."""
        at_ms = monotonic_ms()
        loss = None if self._watch is None else self._watch.loss()
        if loss is None:
            self._lease.record_check(at_ms)
        else:
            self._lease.lose(loss)
        return loss is not None

    def _connect(self) -> sqlite3.Connection:
        assert self._path is not None
        with closed_on_error(connect(self._path, mode="rw")) as connection:
            connection.execute("PRAGMA synchronous = OFF")
            enable_checkpoints(connection)
            migrate(connection, LIVE)
            connection.execute("DELETE FROM texts")
            if not self._is_cleared:
                # Whatever the token: if the database is a restored copy, an earlier engine may have had a larger one.
                connection.execute("DELETE FROM heartbeat")
                connection.execute("DELETE FROM mark")
                self._is_cleared = True
            with self._guard:
                self._changed_keys |= self._texts.keys()
        return connection

    def _pull_texts(self) -> None:
        for key, text in self._pull().items():
            self.put(key, text)

    def _flush(self, connection: sqlite3.Connection) -> None:
        seq = self._seq
        self._pull_texts()
        with self._guard:
            changed_keys, self._changed_keys = self._changed_keys, set()
            puts = [(key, self._texts[key]) for key in changed_keys if key in self._texts]
            drops = [(key,) for key in changed_keys if key not in self._texts]
        if not changed_keys and self._marked_seq == seq:
            return
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(_MARK, (self._lease.token, seq, self._durability))
        connection.executemany(_PUT, puts)
        connection.executemany(_DROP, drops)
        connection.execute("COMMIT")
        self._marked_seq = seq
