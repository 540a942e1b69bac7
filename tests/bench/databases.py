"""Databases to measure on."""

from collections.abc import Sequence
from pathlib import Path

import anyio

from engine.core.events import Event
from store import open_store
from tests.bench.histories import rows_of

_PAGE = 2_000


def written(path: Path, journal: Sequence[Event]) -> Path:
    """Write a journal into a new database."""

    async def write() -> None:
        async with open_store(path, durability="normal") as store:
            rows = rows_of(journal)
            for first in range(0, len(rows), _PAGE):
                await store.journal.append(first + 1, rows[first : first + _PAGE])

    anyio.run(write)
    return path
