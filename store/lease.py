"""The right to write the journal: a lock for life, and a token that is raised at each acquire.

Whether it was lost is asked once a second beside the loop, so that an engine with nothing to write, or one that wakes
from a standstill, learns by itself of a newer token in its file, or of another file at its path.
See docs/semantics/leadership.md.
"""

import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path

from store.connection import connect, is_busy
from store.errors import Deposed, FileLost, StoreError
from store.lock import identity
from store.process import Process

_RAISE = """
UPDATE lease SET token = token + 1, pid = ?, started = ?, boot_id = ?, host = ?, since_ms = ?, ended_ms = NULL
"""


def raise_token(
    connection: sqlite3.Connection, holder: Process, at_ms: int, *, rightful: Callable[[int], None] = lambda token: None
) -> int:
    """Make `holder` the only process that may append; the holder of an older token is deposed.

    Args:
        connection: Any connection that may write; used for one transaction.
        holder: Who takes over.
        at_ms: Now, in UTC milliseconds.
        rightful: Called with the token so far, inside the transaction, so that of several one after the other is
            asked; what it raises leaves everything as it was.

    Returns:
        The new token.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        (before,) = connection.execute("SELECT token FROM lease").fetchone()
        rightful(int(before))
        connection.execute(_RAISE, (holder.pid, holder.started, holder.boot_id, holder.host, at_ms))
        (token,) = connection.execute("SELECT token FROM lease").fetchone()
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return int(token)


LET_GO = "UPDATE lease SET ended_ms = ? WHERE token = ?"
"""Notes that an engine ended in order."""


def monotonic_ms() -> int:
    """The machine's monotonic clock in milliseconds; the same for every process of one boot."""
    return time.monotonic_ns() // 1_000_000


SURE_MS = 1_500
"""How long it counts that the store was found to be held: who takes over waits for 3 s without a heartbeat."""


class Lease:
    """What an engine holds while its store is open.

    Args:
        token: What it writes with.
        ask: Looks whether the store is another's by now; for the thread that calls `held`.
        clock_ms: The machine's monotonic clock, in milliseconds.
    """

    def __init__(
        self,
        token: int,
        ask: Callable[[], StoreError | None] = lambda: None,
        clock_ms: Callable[[], int] = monotonic_ms,
    ) -> None:
        self.token = token
        self._ask = ask
        self._clock_ms = clock_ms
        self._found_ms = self._clock_ms()
        self._stood_still_ms = self._found_ms - 1
        self._loop_ms: int | None = None
        self._now_ms = 0
        self._loss: StoreError | None = None
        self._lost = threading.Event()

    def tick(self, now_ms: int) -> None:
        """Say that the loop turned; call it at least each second, it costs nothing.

        Args:
            now_ms: The engine's time, in UTC milliseconds: what it writes is stamped with that.
        """
        before_ms, self._loop_ms, self._now_ms = self._loop_ms, self._clock_ms(), now_ms
        if before_ms is not None and self._loop_ms - before_ms > SURE_MS:
            # Its heart may have beaten on beside a loop that hung, so what was found since does not count.
            self._stood_still_ms = self._loop_ms

    def found(self, at_ms: int) -> None:
        """Note that the store was still held at a moment of the machine's monotonic clock, before the look at it."""
        self._found_ms = at_ms

    def held(self) -> bool:
        """Tell whether this engine may act; the file is asked only after a standstill, else it costs nothing."""
        if self._loss is not None:
            return False
        now_ms, loop_ms = self._clock_ms(), self._loop_ms
        seen_ms = self._found_ms if loop_ms is None else min(self._found_ms, loop_ms)
        if now_ms - seen_ms <= SURE_MS and self._found_ms > self._stood_still_ms:
            return True
        loss = self._ask()
        if loss is None:
            self._found_ms = now_ms
            return True
        self.lose(loss)
        return False

    @property
    def loop_ms(self) -> int | None:
        """When the loop last turned, on the machine's monotonic clock; None before it did."""
        return self._loop_ms

    @property
    def at_ms(self) -> int | None:
        """The engine's time of this moment, in UTC milliseconds; None before the loop turned."""
        return None if self._loop_ms is None else self._now_ms + self._clock_ms() - self._loop_ms

    @property
    def loss(self) -> StoreError | None:
        """Why this engine is none any more: `Deposed` or `FileLost`. Looked for once a second beside the loop."""
        return self._loss

    def lose(self, why: StoreError) -> None:
        """Note that the store is another's; the first reason stays."""
        self._loss = self._loss or why
        self._lost.set()

    def wait_until_lost(self, timeout_s: float | None = None) -> bool:
        """Block until the store is lost; False when it is still held after `timeout_s`."""
        return self._lost.wait(timeout_s)


class Watch:
    """What an engine compares its file with; for one thread."""

    def __init__(self, path: Path, token: int) -> None:
        """Remember the file at `path` as it is now, held with `token`."""
        self._path = path
        self._token = token
        self._identity = identity(path)
        self._connection: sqlite3.Connection | None = None

    @property
    def file_is_lost(self) -> bool:
        """True when another file, or none, stands at the path."""
        return identity(self._path) != self._identity

    def loss(self) -> StoreError | None:
        """Why the store is another's by now; None while it is held."""
        now = identity(self._path)
        if now != self._identity:
            return FileLost(self._path, "was deleted or moved away" if now is None else "was replaced by another file")
        found = self._found_token()
        return Deposed(self._token, found) if found is not None and found > self._token else None

    def close(self) -> None:
        """Let go of the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _found_token(self) -> int | None:
        """The token in the file; None when it cannot be read just now: then the next append says what is wrong."""
        try:
            if self._connection is None:
                self._connection = connect(self._path, mode="ro", busy_s=0)
            (token,) = self._connection.execute("SELECT token FROM lease").fetchone()
        except sqlite3.Error as error:
            if not is_busy(error):
                self.close()
            return None
        return int(token)
