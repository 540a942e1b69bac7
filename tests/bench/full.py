"""A full house answers as an empty one: a ping while ten times the capacity waits."""

import tempfile
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import anyio

from engine.core.commands import Ping, Submit
from engine.core.specs.spec import AgentSpec
from tests.bench.engines import Engine, engine_with
from tests.bench.measure import Series, interleaved_async
from tests.bench.report import Row

CAPACITY = 50
"""Attempts that the team runs at once."""
TIMES = 10
"""How many times as many wait."""


def rows(quick: bool) -> Iterator[Row]:
    """Measure pings to a full engine and to an idle one, in memory and on disk."""
    pings = 100 if quick else 1_000
    for where in ("in memory", "durable"):
        with tempfile.TemporaryDirectory() as folder:
            took, floor = anyio.run(_pings, Path(folder) if where == "durable" else None, pings)
        yield Row(
            what=f"a ping while {CAPACITY} work and {CAPACITY * TIMES} wait; {where}",
            took=took,
            floor=floor,
            floor_is="a ping to an idle engine",
            floors=2.0,
            budget=0.0,
        )


async def _pings(folder: Path | None, pings: int) -> tuple[Series, Series]:
    done = anyio.Event()

    async def work(text: str) -> str:
        await done.wait()
        return text

    worker = AgentSpec(name="worker", run=work, max_concurrency=CAPACITY)
    async with _engine(folder, "idle", worker) as idle, _engine(folder, "full", worker) as full:
        try:
            for _ in range(CAPACITY * (TIMES + 1)):
                await full.host.order(Submit(request="go"))
            return await interleaved_async(
                lambda: full.host.order(Ping()), lambda: idle.host.order(Ping()), pings, warm=20
            )
        finally:
            done.set()


def _engine(folder: Path | None, name: str, worker: AgentSpec) -> AbstractAsyncContextManager[Engine]:
    path = folder / f"{name}.db" if folder is not None else None
    return engine_with(path, worker, max_parallel=CAPACITY)
