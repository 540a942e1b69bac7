"""Models: what the provider process costs the engine, and how many pieces a core of it bears."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio

from engine.core.specs.model_spec import ModelSpec
from engine.models.records import Chunk, Message, ModelRequest
from engine.models.service import ModelService
from tests.bench.measure import Series
from tests.bench.report import Row
from tests.model_server import PIECE

STALL_MS = 20.0
CHUNK_US = 20.0
CHUNKS = 4_000
_TICK_S = 0.001


def rows(quick: bool) -> Iterator[Row]:
    """Measure the first request, and streams of many small pieces."""
    chunks, rounds = (CHUNKS // 4, 3) if quick else (CHUNKS, 8)
    with _served() as url:
        stalls, here, there = anyio.run(_measured, url, chunks, rounds)
    yield Row(what="longest stall of the loop as the first request starts the process", took=stalls, budget=STALL_MS)
    yield Row(
        what=f"a streamed piece to its reader, {chunks:,} of them",
        took=here.per(chunks),
        unit="µs",
        budget=CHUNK_US,
        computes=True,
    )
    yield Row(what="streamed pieces a second on a core of litellm", took=there.per(chunks), unit="/s", computes=True)


@contextmanager
def _served() -> Iterator[str]:
    """Serve in a process of its own, so that the server takes nothing from what is measured."""
    root = Path(__file__).resolve().parents[2]
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.model_server", "0"], cwd=root, stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
    finally:
        server.kill()
        server.wait()


async def _trusted(reference: str) -> None:
    """Take the address for one that may be reached."""


async def _sleep(seconds: float) -> None:
    await anyio.sleep(seconds)


async def _measured(url: str, chunks: int, rounds: int) -> tuple[Series, Series, Series]:
    model = ModelSpec(model="openai/tested", base_url=url)
    short = ModelRequest(name="m", model=model, messages=(Message(role="user", text="hi"),))
    long = ModelRequest(name="m", model=model, messages=(Message(role="user", text="a" * PIECE * chunks),))
    stalls, here, there = Series(), Series(), Series()
    for _ in range(rounds):
        async with anyio.create_task_group() as group:
            service = ModelService(group.start_soon, _trusted)
            group.start_soon(_tick, stalls)
            await service.ask(short, _ignore, _sleep)
            await service.close()
            group.cancel_scope.cancel()
    async with anyio.create_task_group() as group:
        service = ModelService(group.start_soon, _trusted)
        await service.ask(long, _ignore, _sleep)
        for _ in range(rounds):
            before_s, wall_s = _child_s(), time.perf_counter()
            with here.timing():
                await service.ask(long, _ignore, _sleep)
            there.add(time.perf_counter() - wall_s, _child_s() - before_s)
        await service.close()
        group.cancel_scope.cancel()
    return stalls, here, there


async def _tick(stalls: Series) -> None:
    """Note the longest that the loop did not come round, once this is cancelled."""
    longest_s, cpu_s = 0.0, 0.0
    try:
        while True:
            began_s, began_cpu_s = time.perf_counter(), time.process_time()
            await anyio.sleep(_TICK_S)
            took_s = time.perf_counter() - began_s - _TICK_S
            if took_s > longest_s:
                longest_s, cpu_s = took_s, time.process_time() - began_cpu_s
    finally:
        stalls.add(longest_s, cpu_s)


def _child_s() -> float:
    """Return the processor time of the provider process, in seconds."""
    me = os.getpid()
    for pid in Path(f"/proc/{me}/task/{me}/children").read_text(encoding="utf-8").split():
        if b"engine.models.child" in Path(f"/proc/{pid}/cmdline").read_bytes():
            fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def _ignore(chunk: Chunk) -> None:
    """Take a piece."""
