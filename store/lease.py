"""The right to write the journal: a lock for life, and a token that is raised at each acquire."""

import sqlite3
import threading
import time
from collections.abc import Callable

from store.errors import StoreError
from store.process import Process

_RAISE = """
UPDATE lease SET token = token + 1, pid = ?, started = ?, boot_id = ?, host = ?, since_ms = ?, ended_ms = NULL
"""


def raise_token(
    connection: sqlite3.Connection, holder: Process, at_ms: int, *, rightful: Callable[[int], None] = lambda token: None
) -> int:
    """Make `holder` the only one that may append; whoever held an older token is deposed.

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


class Lease:
    """What an engine holds while its store is open."""

    def __init__(self, token: int) -> None:
        self.token = token
        self._loop_ms: int | None = None
        self._now_ms = 0
        self._loss: StoreError | None = None
        self._lost = threading.Event()

    def tick(self, now_ms: int) -> None:
        """Say that the loop turned; call it at least each second, it costs nothing.

        Args:
            now_ms: The engine's time, in UTC milliseconds: what it writes is stamped with that.
        """
        self._loop_ms, self._now_ms = monotonic_ms(), now_ms

    @property
    def loop_ms(self) -> int | None:
        """When the loop last turned, on the machine's monotonic clock; None before it did."""
        return self._loop_ms

    @property
    def at_ms(self) -> int | None:
        """The engine's time of this moment, in UTC milliseconds; None before the loop turned."""
        return None if self._loop_ms is None else self._now_ms + monotonic_ms() - self._loop_ms

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


def monotonic_ms() -> int:
    """The machine's monotonic clock in milliseconds; the same for every process of one boot."""
    return time.monotonic_ns() // 1_000_000
