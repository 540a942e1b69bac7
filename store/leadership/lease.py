"""The lease on a store: a lock held for life, and a fencing token that is raised at each acquisition.

The lease is checked once a second beside the loop, so that an idle or suspended engine detects lost leadership and a
replaced file without writing. See docs/semantics/leadership.md.
"""

import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path

from store.errors import Deposed, StoreError
from store.layout.connection import connect, is_busy
from store.leadership.lock import find_file_loss, identity
from store.leadership.process import Process

_RAISE_TOKEN = """
UPDATE lease SET token = token + 1, pid = ?, started = ?, boot_id = ?, host = ?, since_ms = ?, ended_ms = NULL
"""


def raise_token(
    connection: sqlite3.Connection,
    holder: Process,
    at_ms: int,
    *,
    check_candidate: Callable[[int], None] = lambda token: None,
) -> int:
    """Raise the fencing token for `holder`; holders of older tokens can no longer append.

    Args:
        connection: A writable connection; used for one transaction.
        holder: The process that takes over.
        at_ms: Present time, in UTC milliseconds.
        check_candidate: Called with the present token inside the transaction, so that concurrent candidates are
            checked one after the other; an exception leaves everything unchanged.

    Returns:
        The new token.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        (previous_token,) = connection.execute("SELECT token FROM lease").fetchone()
        check_candidate(int(previous_token))
        connection.execute(_RAISE_TOKEN, (holder.pid, holder.started, holder.boot_id, holder.host, at_ms))
        (token,) = connection.execute("SELECT token FROM lease").fetchone()
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return int(token)


RELEASE_LEASE = "UPDATE lease SET ended_ms = ? WHERE token = ?"
"""Records the orderly end of an engine."""


def monotonic_ms() -> int:
    """The machine's monotonic clock in milliseconds, the same for all processes of one boot."""
    return time.monotonic_ns() // 1_000_000


CHECK_VALID_MS = 1_500
"""How long a successful check of the lease is trusted. Safe because a standby waits for 3 s without a heartbeat."""


class Lease:
    """The lease of an engine on its open store.

    Args:
        find_loss: Checks in the file whether the lease is lost; called in the thread that calls `is_held`.
        clock_ms: The machine's monotonic clock, in milliseconds.
    """

    def __init__(
        self,
        token: int,
        find_loss: Callable[[], StoreError | None] = lambda: None,
        clock_ms: Callable[[], int] = monotonic_ms,
    ) -> None:
        self.token = token
        self._find_loss = find_loss
        self._clock_ms = clock_ms
        self._checked_ms = self._clock_ms()
        self._standstill_ms = self._checked_ms - 1
        self._loop_ms: int | None = None
        self._now_ms = 0
        self._loss: StoreError | None = None
        self._loss_event = threading.Event()

    def tick(self, now_ms: int) -> None:
        """Record that the loop is alive at `now_ms` UTC; cheap, to be called at least once a second."""
        previous_ms, self._loop_ms, self._now_ms = self._loop_ms, self._clock_ms(), now_ms
        if previous_ms is not None and self._loop_ms - previous_ms > CHECK_VALID_MS:
            # The loop hung while the heartbeat thread went on: checks from that time must not be trusted.
            self._standstill_ms = self._loop_ms

    def record_check(self, at_ms: int) -> None:
        """Record that the lease was held at a time on the monotonic clock, taken before the check."""
        self._checked_ms = at_ms

    def is_held(self) -> bool:
        """Return whether this engine may act; the file is read only after a standstill."""
        if self._loss is not None:
            return False
        now_ms, loop_ms = self._clock_ms(), self._loop_ms
        valid_since_ms = self._checked_ms if loop_ms is None else min(self._checked_ms, loop_ms)
        if now_ms - valid_since_ms <= CHECK_VALID_MS and self._checked_ms > self._standstill_ms:
            return True
        loss = self._find_loss()
        if loss is None:
            self._checked_ms = now_ms
            return True
        self.lose(loss)
        return False

    @property
    def loop_ms(self) -> int | None:
        """Time of the last tick on the monotonic clock; None before the first."""
        return self._loop_ms

    @property
    def at_ms(self) -> int | None:
        """The engine's present time, in UTC milliseconds; None before the first tick."""
        return None if self._loop_ms is None else self._now_ms + self._clock_ms() - self._loop_ms

    @property
    def loss(self) -> StoreError | None:
        """Why the lease is lost: `Deposed` or `FileLost`; None while it is held. Checked once a second."""
        return self._loss

    def explain(self, error: BaseException) -> BaseException:
        """Return the loss of the lease that caused `error`, if it is lost by now; otherwise `error`.

        Any file of a deleted database may be the first whose access fails.
        """
        return (self._loss or self._find_loss() or error) if isinstance(error, StoreError) else error

    def lose(self, reason: StoreError) -> None:
        """Record that the lease is lost; the first reason stays."""
        self._loss = self._loss or reason
        self._loss_event.set()

    def wait_until_lost(self, timeout_s: float | None = None) -> bool:
        """Block until the lease is lost; return False if it is still held after `timeout_s`."""
        return self._loss_event.wait(timeout_s)


class Watch:
    """Detects lost leadership or a moved file; for one thread."""

    def __init__(self, path: Path, token: int) -> None:
        """Remember the identity of the file at `path`, held with `token`."""
        self._path = path
        self._token = token
        self._identity = identity(path)
        self._connection: sqlite3.Connection | None = None

    @property
    def file_was_replaced(self) -> bool:
        """True if the path has another file, or none."""
        return identity(self._path) != self._identity

    def loss(self) -> StoreError | None:
        """Why the lease is lost; None while it is held."""
        if (file_loss := find_file_loss(self._path, self._identity)) is not None:
            return file_loss
        token = self._read_token()
        return Deposed(self._token, token) if token is not None and token > self._token else None

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _read_token(self) -> int | None:
        """The token in the file; None if it cannot be read now, in which case the next append reports the fault."""
        try:
            if self._connection is None:
                self._connection = connect(self._path, mode="ro", busy_s=0)
            (token,) = self._connection.execute("SELECT token FROM lease").fetchone()
        except sqlite3.Error as error:
            if not is_busy(error):
                self.close()
            return None
        return int(token)
