"""The right to write the journal: a lock for life, and a token that is raised at each acquire."""

import sqlite3
import time

from store.process import Process

_RAISE = """
UPDATE lease SET token = token + 1, pid = ?, started = ?, boot_id = ?, host = ?, since_ms = ?, ended_ms = NULL
"""


def raise_token(connection: sqlite3.Connection, holder: Process, at_ms: int) -> int:
    """Make `holder` the only one that may append; whoever held an older token is deposed.

    Args:
        connection: Any connection that may write; used for one transaction.
        holder: Who takes over.
        at_ms: Now, in UTC milliseconds.

    Returns:
        The new token.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
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

    def tick(self) -> None:
        """Say that the loop turned; call it at least each second, it costs nothing."""
        self._loop_ms = monotonic_ms()

    @property
    def loop_ms(self) -> int | None:
        """When the loop last turned, on the machine's monotonic clock; None before it did."""
        return self._loop_ms


def monotonic_ms() -> int:
    """The machine's monotonic clock in milliseconds; the same for every process of one boot."""
    return time.monotonic_ns() // 1_000_000
