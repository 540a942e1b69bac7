"""The engine's part in `screen`: agents of a full house end their attempts at a given rate, until it is terminated."""

import sys
import time
from pathlib import Path

import anyio

from engine.reading.folding import fold_file
from store import open_store
from tests.bench.busy import EVENTS_AN_END, Crew

_EACH_S = 0.02
_BEHIND_S = 1.0
"""What it is late by more than that is not made up for."""


async def main(path: Path, rate: int) -> None:
    """Append, one run after the other."""
    crew = Crew(fold_file(path))
    async with open_store(path, durability="normal") as store:
        print("on", flush=True)
        due_s = time.monotonic()
        while True:
            now_ms = time.time_ns() // 1_000_000
            rows = crew.end(round(rate * _EACH_S / EVENTS_AN_END), now_ms)
            await store.journal.append(store.journal.last_seq + 1, rows)
            store.lease.tick(now_ms)
            due_s = max(due_s + _EACH_S, time.monotonic() - _BEHIND_S)
            await anyio.sleep(max(0.0, due_s - time.monotonic()))


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]), int(sys.argv[2]))
