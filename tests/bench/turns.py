"""One supervised turn: an agent works a step, delegates, a worker answers, it works another step."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio

from engine.core.specs.spec import AgentSpec
from tests.bench.engines import bare_database, commit_hop, crew, engine_with
from tests.bench.measure import Series, interleaved_async
from tests.bench.report import Row

BUDGET_MS = 0.2
HOPS, ABOVE_MS = 4, 0.5


def rows(quick: bool) -> Iterator[Row]:
    """Measure turns with and without steps of the delegating agent, in memory and on disk."""
    turns = 100 if quick else 600
    for steps in (True, False):
        what = "a turn: step, delegate, worker, step" if steps else "a turn: delegate, worker"
        took, floor = anyio.run(_turns, None, turns, steps)
        yield Row(
            what=f"{what}; in memory",
            took=took,
            floor=floor,
            floor_is="start a task in the loop, wait for its event, twice",
            budget=BUDGET_MS,
        )
        with tempfile.TemporaryDirectory() as folder:
            took, floor = anyio.run(_turns, Path(folder), turns, steps)
        yield Row(
            what=f"{what}; durable",
            took=took,
            floor=floor,
            floor_is="commit one row at synchronous=FULL, one hop through aiosqlite",
            floors=HOPS,
            budget=ABOVE_MS,
        )


async def _model(prompt: Any) -> str:
    return f"answer to {prompt}"


async def worker(text: str) -> str:
    return text


async def _turns(folder: Path | None, turns: int, steps: bool) -> tuple[Series, Series]:
    found: list[tuple[Series, Series]] = []

    async def lead(task: Any, ctx: Any) -> str:
        number = 0

        async def turn() -> None:
            nonlocal number
            number += 1
            if steps:
                await ctx.step("model", _model, number)
            await ctx.delegate("work", f"piece {number}")
            if steps:
                await ctx.step("model", _model, f"{number} again")

        if folder is None:
            found.append(await interleaved_async(turn, bare_turn, turns, warm=20))
        else:
            async with bare_database(folder / "floor.db") as database:
                found.append(await interleaved_async(turn, lambda: commit_hop(database), turns, warm=20))
        return "done"

    path = folder / "team.db" if folder is not None else None
    async with engine_with(path, AgentSpec(name="lead", run=lead), *crew(1, worker)) as engine:
        await engine.ask("go")
    return found[0]


async def bare_turn() -> None:
    """Do what any loop needs to have something done by another task and to hear of it."""
    async with anyio.create_task_group() as group:
        for _ in range(2):
            done = anyio.Event()
            group.start_soon(_said, done)
            await done.wait()


async def _said(done: anyio.Event) -> None:
    done.set()
