"""A model that leads: one supervised turn, fifty delegations at once, the same read from the journal, and its size."""

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import anyio

from engine.core.commands import Submit
from engine.core.records.records import JsonValue
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import AgentSpec
from engine.host.host import Host
from engine.models.records import Call, Chunk, ModelAnswer, ModelRequest, Sleep
from engine.models.service import ModelService
from engine.runtimes.attempts.work import Work
from engine.runtimes.base import Factory, Runtime
from engine.runtimes.catalogue import built_in
from engine.runtimes.code import Code
from engine.runtimes.model.runtime import model_runtime
from store.layout.opening import open_store
from tests.bench.engines import Engine, bare_database, commit_hop, crew, engine_with
from tests.bench.measure import Series, interleaved_async
from tests.bench.report import Row
from tests.bench.turns import bare_turn, worker

AT_ONCE = 50
LEAD: dict[str, Any] = {"mode": "delegate", "options": SupervisorOptions(lead="lead")}


def rows(quick: bool) -> Iterator[Row]:
    """Measure in memory and on disk."""
    turns = 60 if quick else 400
    yield from _supervised("a supervised turn", 1, turns, in_memory_ms=0.5, hops=4, above_ms=0.8)
    yield from _supervised(f"{AT_ONCE} delegates in one supervised turn", AT_ONCE, turns // 10, 10.0, 0, 18.0)
    with tempfile.TemporaryDirectory() as folder:
        took = anyio.run(_replayed, Path(folder) / "team.db", 5 if quick else 15)
    yield Row(what=f"{AT_ONCE} delegates of a turn, read from the journal", took=took, budget=5.0)
    with tempfile.TemporaryDirectory() as folder:
        written = anyio.run(_written, Path(folder) / "team.db", turns)
    yield Row(what="journal of a supervised turn, besides its texts", took=written, unit="kB", budget=4.0)


def _supervised(what: str, calls: int, turns: int, in_memory_ms: float, hops: int, above_ms: float) -> Iterator[Row]:
    took, floor = anyio.run(_turns, None, turns, calls)
    yield Row(
        what=f"{what}; in memory",
        took=took,
        floor=floor,
        floor_is="start a task in the loop, wait for its event, twice",
        budget=in_memory_ms,
    )
    with tempfile.TemporaryDirectory() as folder:
        took, floor = anyio.run(_turns, Path(folder), turns, calls)
    yield Row(
        what=f"{what}; durable",
        took=took,
        floor=floor,
        floor_is="commit one row at synchronous=FULL, one hop through aiosqlite",
        floors=hops or None,
        budget=above_ms,
    )


async def _unused(*_: object) -> None:
    """Not called: no provider is asked."""


class PacedModel(ModelService):
    """Delegates in each answer, and answers when it is told to.

    Args:
        calls: How many delegations an answer asks for.
        last: The turn that says the end; None is none.
    """

    def __init__(self, calls: int, last: int | None = None) -> None:
        super().__init__(_unused, _unused)
        self._calls = calls
        self._last = last
        self.turns = 0
        self._go, self._asked = anyio.Event(), anyio.Event()

    async def ask(self, request: ModelRequest, on_chunk: Callable[[Chunk], None], sleep: Sleep) -> ModelAnswer:
        """Answer the next turn."""
        self._asked.set()
        await self._go.wait()
        self._go = anyio.Event()
        self.turns += 1
        if self.turns == self._last:
            return ModelAnswer(text="done", model="paced")
        calls = tuple(
            Call(id=f"c{n}", name="delegate", arguments={"worker": f"w{n}", "instructions": f"{self.turns}"})
            for n in range(self._calls)
        )
        return ModelAnswer(calls=calls, finish="calls", model="paced")

    async def turn(self) -> None:
        """Give an answer, and return when the next one is asked for."""
        self._asked = anyio.Event()
        self._go.set()
        await self._asked.wait()

    async def begun(self) -> None:
        """Return when the first answer is asked for."""
        await self._asked.wait()

    def end(self) -> None:
        """Answer without another question."""
        self._last = self.turns + 1
        self._go.set()


def _lead() -> AgentSpec:
    return AgentSpec(name="lead", agent_type="ReactAgent", model="paced", options={"turns": 10_000})


def _engine(path: Path | None, calls: int) -> AbstractAsyncContextManager[Engine]:
    return engine_with(path, _lead(), *crew(calls, worker), **LEAD, max_parallel=100)


async def _turns(folder: Path | None, turns: int, calls: int) -> tuple[Series, Series]:
    async with _engine(None if folder is None else folder / "team.db", calls) as engine:
        model = engine.host.models = PacedModel(calls)
        await engine.host.order(Submit(request="go"))
        await model.begun()
        if folder is None:
            found = await interleaved_async(model.turn, bare_turn, turns, warm=20)
        else:
            async with bare_database(folder / "floor.db") as database:
                found = await interleaved_async(model.turn, lambda: commit_hop(database), turns, warm=20)
        model.end()
    return found


async def _replayed(path: Path, rounds: int) -> Series:
    """Cut the engine off after a turn of fifty delegations, and see how long the next one takes to the turn after."""
    async with _engine(path, AT_ONCE) as engine:
        model = engine.host.models = PacedModel(AT_ONCE)
        await engine.host.order(Submit(request="go"))
        await model.begun()
        await model.turn()
    took = Series()
    for _ in range(rounds):
        async with open_store(path) as store, anyio.create_task_group() as group:
            began: list[tuple[int, int]] = []
            host = Host(store, seed=1, runtimes={**built_in(), "ReactAgent": _timed(began)})
            model = host.models = PacedModel(AT_ONCE)
            await group.start(host.run)
            await model.begun()
            ((wall_ns, cpu_ns),) = began
            took.add((time.perf_counter_ns() - wall_ns) / 1e9, (time.process_time_ns() - cpu_ns) / 1e9)
            await host.stop()
    return took


def _timed(began: list[tuple[int, int]]) -> Factory:
    """Return what makes model agents that note when an attempt begins."""

    def make(spec: AgentSpec, code: Code) -> Runtime:
        runtime = model_runtime(spec, code)
        execute = runtime.execute

        async def timed(work: Work) -> JsonValue:
            began.append((time.perf_counter_ns(), time.process_time_ns()))
            return await execute(work)

        runtime.execute = timed  # type: ignore[method-assign]
        return runtime

    return make


async def _written(path: Path, turns: int) -> Series:
    """Return the kilobytes of a turn in the journal: its texts are a few characters long."""
    async with _engine(path, 1) as engine:
        model = engine.host.models = PacedModel(1)
        await engine.host.order(Submit(request="go"))
        await model.begun()
        await engine.host.wait_until_written()
        before = engine.store.journal.last_seq
        for _ in range(turns):
            await model.turn()
        await engine.host.wait_until_written()
        records = await engine.store.journal.read(before, 1_000_000)
    written = Series()
    written.add(sum(len(record.body) for record in records) / turns / 1000, 0.0)
    return written
