"""A request of 1,000 tasks over 50 workers in plain calls, beside `ctx.map` of the same over the same workers."""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from anyio.from_thread import start_blocking_portal

from engine.core.specs.spec import AgentSpec
from engine.supervisor.dynamic import DynamicSupervisor
from engine.workflow.agents import SupervisorAgent, WorkerAgent
from engine.workflow.pool import SharedMemoryPool
from tests.bench.engines import crew
from tests.bench.measure import Series, interleaved
from tests.bench.report import Row

TASKS = 1_000
WORKERS = 50


def rows(quick: bool) -> Iterator[Row]:
    """Measure a whole request, in memory and on a file."""
    rounds = 7 if quick else 25
    took, floor = _requests(None, rounds)
    what, floor_is = f"a request of {TASKS:,} tasks over {WORKERS} workers", "ctx.map of the same"
    yield Row(what=f"{what}; in memory", took=took, floor=floor, floor_is=floor_is, floors=1.3)
    with tempfile.TemporaryDirectory() as folder:
        took, floor = _requests(Path(folder), rounds)
    yield Row(what=f"{what}; durable", took=took, floor=floor, floor_is=floor_is, floors=2.0)


async def _instant(text: str) -> str:
    return text


async def _lead(task: Any, ctx: Any) -> list[str]:
    outputs: list[str] = await ctx.map("work", [f"part {part} of {TASKS}" for part in range(TASKS)])
    return outputs


def _requests(folder: Path | None, rounds: int) -> tuple[Series, Series]:
    """Return what a request and `ctx.map` take, each on an engine of its own that runs already."""
    team = DynamicSupervisor(
        "team", agent_specs=[AgentSpec(name="lead", run=_lead), *crew(WORKERS, _instant)], lead="lead",
        coordination_mode="delegate", max_agents=WORKERS + 1, max_parallel=WORKERS + 1,
        store=None if folder is None else folder / "team.db",
    )  # fmt: skip
    with ExitStack() as stack:
        portal = stack.enter_context(start_blocking_portal())
        stack.enter_context(portal.wrap_async_context_manager(team))
        pool = stack.enter_context(SharedMemoryPool(None if folder is None else folder / "pool.db"))
        for number in range(WORKERS):
            WorkerAgent(pool, f"w{number}", run=_instant)
        supervisor = SupervisorAgent(pool, planner=lambda request, count: [f"part {part}" for part in range(count)])

        def request() -> None:
            tasks = supervisor.delegate("go", num_tasks=TASKS)
            whole = supervisor.aggregate_results(tasks[0]["request_id"])
            assert len(whole["results"]) == TASKS

        return interleaved(request, partial(portal.call, team.arun, "go", None), rounds)
