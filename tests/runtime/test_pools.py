"""A pool under a flood: real engines, work that takes time, and a clock that is moved only when time matters."""

from pathlib import Path
from typing import Any

import anyio
import pytest

from engine.core.commands import Move
from engine.core.specs.spec import AgentSpec, Pool
from engine.platform.clock import VirtualClock
from tests.patience import PATIENCE_S
from tests.runtime.engines import Engine, Engines

pytestmark = pytest.mark.anyio


async def lead(task: Any, ctx: Any) -> list[Any]:
    return list(await ctx.map("dig", list(range(int(task.request)))))


async def digger(task: Any, ctx: Any) -> str:
    await ctx.sleep(1)
    return f"hole {task.text}"


def team(**pool: Any) -> tuple[AgentSpec, AgentSpec]:
    return AgentSpec(name="lead", run=lead), AgentSpec(
        name="digger", run=digger, specialties=["dig"], pool=Pool(**pool)
    )


def sizes(running: Engine) -> int:
    """Return how many instances there are."""
    return next(agent.size for agent in running.state.agents.values() if agent.name == "digger")


async def test_a_flood_is_worked_off_by_as_many_as_the_pool_may_be_and_then_they_go(engine: Engines) -> None:
    clock = VirtualClock()
    settings: dict[str, Any] = {"participants": ["lead"], "max_parallel": 50, "clock": clock}
    async with engine(*team(max=10, grow_at=1, idle_s=5), **settings) as running:
        began_ms = clock.now_ms()
        holes = await running.ask("40")
        took_s = (clock.now_ms() - began_ms) / 1000

        assert holes == [f"hole {number}" for number in range(40)]
        assert 4 <= took_s < 5  # forty seconds of digging by ten
        assert sizes(running) > 1
        await running.until(lambda state: not state.timers)
        assert sizes(running) == 1
        changes = [record.kind for record in await running.journal("pool_resized")]
        assert len(changes) == 18
        watched = await running.journal("pool_watched")
        assert len(watched) <= 2 * 9


async def test_nothing_of_a_pool_that_is_at_rest_at_its_fewest_wakes_the_engine(engine: Engines) -> None:
    settings: dict[str, Any] = {"participants": ["lead"], "clock": VirtualClock()}
    async with engine(*team(max=3, idle_s=1), **settings) as running:
        await running.ask("2")

        assert running.state.timers == {}
        assert await running.journal("pool_watched") == []


async def test_a_pool_comes_back_after_a_crash_as_large_as_it_was_and_shrinks(tmp_path: Path, engine: Engines) -> None:
    path, settings = tmp_path / "team.db", {"participants": ["lead"], "max_parallel": 50}
    async with engine(*team(max=4, grow_at=1, idle_s=500), path=path, clock=VirtualClock(), **settings) as running:
        await running.ask("20")
        assert sizes(running) == 4

    async with engine(path=path, clock=VirtualClock()) as again:
        with anyio.fail_after(PATIENCE_S):
            await again.until(lambda state: not state.timers)

        assert sizes(again) == 1


async def test_a_pool_moves_under_another_supervisor_in_the_middle_of_a_flood(engine: Engines) -> None:
    settings: dict[str, Any] = {"participants": ["lead"], "max_parallel": 50, "clock": VirtualClock()}
    async with engine(*team(max=4, grow_at=1), **settings) as running:
        await running.hire(AgentSpec(name="other", run=lead), name="elsewhere")
        run = await running.submit("30", supervisor="team")
        await running.until(lambda state: any(agent.size == 4 for agent in state.agents.values()))
        applied = await running.host.order(Move(target="digger", parent="elsewhere"))
        summary, holes = await running.ended(run)

        assert applied.result["parent_id"] == "s2"
        assert (summary.status, len(holes)) == ("done", 30)  # type: ignore[arg-type]
