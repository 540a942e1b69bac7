"""Many at once: 50 pieces of work in one turn, and as many tasks a second as 50 instant agents do."""

import tempfile
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import anyio

from engine.core.specs.spec import AgentSpec
from store import open_store
from tests.bench.engines import Appender, crew, engine_with
from tests.bench.measure import Series, interleaved_async
from tests.bench.report import Row

Worker: TypeAlias = Callable[[str], Coroutine[Any, Any, str]]

AT_ONCE = 50
WORK_S = 0.05
EVENTS_A_TASK = 2


def rows(quick: bool) -> Iterator[Row]:
    """Measure one turn with 50 delegates, then throughput."""
    rounds = 10 if quick else 60
    yield from _fifty(rounds)
    tasks = 1_000 if quick else 5_000
    yield from _throughput(tasks, 3 if quick else 7)


def _fifty(rounds: int) -> Iterator[Row]:
    bare = "50 tasks started in the loop"
    took, floor = anyio.run(_map_rounds, None, rounds, _instant)
    yield Row(what="50 delegates in one turn; in memory", took=took, floor=floor, floor_is=bare, budget=10.0)
    with tempfile.TemporaryDirectory() as folder:
        took, floor = anyio.run(_map_rounds, Path(folder), rounds, _instant)
    yield Row(
        what="50 delegates in one turn; durable",
        took=took,
        floor=floor,
        floor_is="append 51, 100 and 51 rows",
        budget=18.0,
    )
    took, slept = anyio.run(_map_rounds, None, rounds // 2, _slow)
    yield Row(
        what="50 delegates of 50 ms each; in memory",
        took=took,
        floor=slept,
        floor_is=f"{bare}, each of 50 ms",
        budget=60.0,
    )
    with tempfile.TemporaryDirectory() as folder:
        took, _ = anyio.run(_map_rounds, Path(folder), rounds // 2, _slow)
    yield Row(
        what="50 delegates of 50 ms each; durable",
        took=took,
        floor=slept,
        floor_is=f"{bare}, each of 50 ms",
        budget=60.0,
    )


async def _instant(text: str) -> str:
    return text


async def _slow(text: str) -> str:
    await anyio.sleep(WORK_S)
    return text


async def _map_rounds(folder: Path | None, rounds: int, worker: Worker) -> tuple[Series, Series]:
    found: list[tuple[Series, Series]] = []

    async def lead(task: Any, ctx: Any) -> str:
        number = 0

        async def turn() -> None:
            nonlocal number
            number += 1
            await ctx.map("work", [f"piece {number}.{place}" for place in range(AT_ONCE)])

        async def bare() -> None:
            async with anyio.create_task_group() as group:
                for place in range(AT_ONCE):
                    group.start_soon(worker, str(place))

        if folder is None:
            found.append(await interleaved_async(turn, bare, rounds, warm=3))
            return "done"
        async with open_store(folder / "floor.db") as store:
            appender = Appender(store)

            async def appends() -> None:
                for count in (1 + AT_ONCE, 2 * AT_ONCE, 1 + AT_ONCE):
                    await appender.append(count)

            found.append(await interleaved_async(turn, appends, rounds, warm=3))
        return "done"

    path = folder / "team.db" if folder is not None else None
    specs = [AgentSpec(name="lead", run=lead), *crew(AT_ONCE, worker)]
    async with engine_with(path, *specs, max_parallel=AT_ONCE + 1, max_agents=AT_ONCE + 1) as engine:
        await engine.ask("go")
    return found[0]


def _throughput(tasks: int, rounds: int) -> Iterator[Row]:
    took, floor = anyio.run(_drain, None, tasks, rounds)
    yield Row(
        what=f"tasks a second, {AT_ONCE} agents; in memory",
        took=took.per(tasks),
        floor=floor.per(tasks),
        floor_is="tasks started in the loop, 50 at a time",
        unit="/s",
        budget=10_000,
    )
    yield Row(
        what="one task of those; processor time",
        took=took.per(tasks),
        floor=floor.per(tasks),
        floor_is="start a task in the loop",
        unit="µs",
        budget=45.0,
        computes=True,
    )
    with tempfile.TemporaryDirectory() as folder:
        took, floor = anyio.run(_drain, Path(folder), tasks, rounds)
    yield Row(
        what=f"rows a second, {AT_ONCE} agents; durable",
        took=took.per(tasks * EVENTS_A_TASK),
        floor=floor.per(tasks * EVENTS_A_TASK),
        floor_is=f"rows a second appended, {AT_ONCE * EVENTS_A_TASK} at a time",
        unit="/s",
        floors=0.4,
    )


async def _drain(folder: Path | None, tasks: int, rounds: int) -> tuple[Series, Series]:
    """Let 50 agents work through a long list; the floor has the same batches."""
    found: list[tuple[Series, Series]] = []

    async def lead(task: Any, ctx: Any) -> str:
        number = 0

        async def work() -> None:
            nonlocal number
            number += 1
            await ctx.map("work", [f"{number}.{place}" for place in range(tasks)])

        async def bare() -> None:
            for _ in range(tasks // AT_ONCE):
                async with anyio.create_task_group() as group:
                    for place in range(AT_ONCE):
                        group.start_soon(_instant, str(place))

        if folder is None:
            found.append(await interleaved_async(work, bare, rounds))
            return "done"
        async with open_store(folder / "floor.db") as store:
            appender = Appender(store)

            async def appends() -> None:
                for _ in range(tasks // AT_ONCE):
                    await appender.append(AT_ONCE * EVENTS_A_TASK)

            found.append(await interleaved_async(work, appends, rounds))
        return "done"

    path = folder / "team.db" if folder is not None else None
    specs = [AgentSpec(name="lead", run=lead), *crew(AT_ONCE, _instant)]
    async with engine_with(path, *specs, max_parallel=AT_ONCE + 1, max_agents=AT_ONCE + 1) as engine:
        await engine.ask("go")
    return found[0]
