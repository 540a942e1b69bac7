"""Streamed text: what a chunk costs up to the root's reader, one at a time and of a thousand agents at once."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import anyio
from anyio.lowlevel import checkpoint

from engine import AgentSpec, DynamicSupervisor
from tests.bench.measure import Series, interleaved_async
from tests.bench.report import Row

PIECE = "twenty characters ok"
CHUNKS = 20_000
STREAMS, EACH, EVERY_S = 1_000, 40, 0.05


def rows(quick: bool) -> Iterator[Row]:
    """Measure a chunk that is read before the next one comes, and many streams at once."""
    took, floor = anyio.run(_chunks, 3 if quick else 9)
    yield Row(
        what="a streamed chunk to the root's reader",
        took=took.per(CHUNKS),
        floor=floor.per(CHUNKS),
        floor_is="the same agent, and nobody listens",
        unit="µs",
        budget=20.0,
        computes=True,
    )
    took, floor = anyio.run(_at_once, 1 if quick else 3)
    yield Row(
        what=f"{STREAMS:,} scripted streams at once, {1 / EVERY_S:.0f} chunks a second each; a chunk",
        took=took.per(STREAMS * EACH),
        floor=floor.per(STREAMS * EACH),
        floor_is="the same, and nobody listens",
        unit="µs",
        budget=1e6 * EVERY_S / STREAMS,
        computes=True,
    )


async def _talk(task: Any, ctx: Any) -> str:
    for _ in range(CHUNKS):
        ctx.emit(PIECE)
        await checkpoint()
    return "said"


async def _read(team: DynamicSupervisor) -> None:
    async for _ in team.stream("go"):
        pass


async def _chunks(rounds: int) -> tuple[Series, Series]:
    async with DynamicSupervisor("talk", agent_specs=[AgentSpec(name="talker", run=_talk)]) as team:
        return await interleaved_async(partial(_read, team), partial(team.arun, "go"), rounds)


async def _at_once(rounds: int) -> tuple[Series, Series]:
    talk: dict[str, Any] = {"script": [{"emit": [PIECE] * EACH, "emit_every_s": EVERY_S}]}
    lead: dict[str, Any] = {"script": [{"map": {"to": "talker", "items": list(range(STREAMS))}}]}
    specs = [
        AgentSpec(name="lead", agent_type="scripted", options=lead),
        AgentSpec(name="talker", agent_type="scripted", options=talk, max_concurrency=STREAMS),
    ]
    team = DynamicSupervisor(
        "talk", agent_specs=specs, coordination_mode="delegate", lead="lead", max_parallel=STREAMS + 1
    )
    async with team:
        return await interleaved_async(partial(_read, team), partial(team.arun, "go"), rounds)
