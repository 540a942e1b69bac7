"""Databases to measure on, also long ones that are quick to make."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path

import anyio

from engine.core.encoding.codec import decode_state, encode_state
from engine.core.events import Event
from store import open_store
from tests.bench.histories import folded, rows_of

_PAGE = 2_000


def written(path: Path, journal: Sequence[Event], *, snapshot: bytes | None = None) -> Path:
    """Write a journal into a new database, with a snapshot at its end if there is one."""

    async def write() -> None:
        async with open_store(path, durability="normal") as store:
            rows = rows_of(journal)
            for first in range(0, len(rows), _PAGE):
                await store.journal.append(first + 1, rows[first : first + _PAGE])
            if snapshot is not None:
                await store.snapshots.save(len(rows), snapshot)

    anyio.run(write)
    return path


def long(path: Path, journal: Sequence[Event], events: int) -> Path:
    """Write a database of `events` events whose newest snapshot says that they came to what `journal` comes to.

    What follows the journal repeats it: enough for whoever starts at the snapshot and pages through the rest. Its
    hashes are not right.
    """
    written(path, journal)
    database = sqlite3.connect(path, isolation_level=None)
    try:
        database.execute("PRAGMA synchronous = OFF")
        (count,) = database.execute("SELECT max(seq) FROM journal").fetchone()
        while count < events:
            database.execute(
                "INSERT INTO journal SELECT seq + :count, at_ms, kind, run_id, task_id, agent_id, body, hash "
                "FROM journal WHERE seq <= :events - :count",
                {"count": count, "events": events},
            )
            count = min(2 * count, events)
    finally:
        database.close()
    state = folded(journal)
    state.seq = events  # type: ignore[misc]  # the state of no journal: that is the point

    async def save() -> None:
        async with open_store(path) as store:
            await store.snapshots.save(events, encode_state(state))

    anyio.run(save)
    assert decode_state(encode_state(state)).seq == events
    return path
