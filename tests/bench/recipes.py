"""Agents made by agents: the first call of one in a new engine, and what its rights cost an attempt."""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio

from engine import AgentSpec, DynamicSupervisor
from engine.core.queries.team.made import working_spec
from tests.bench.measure import Series, interleaved
from tests.bench.report import Row

MADE = 100
"""Agents that ten requests make before the measured one."""
_TIMES: dict[str, Series] = {"kept": Series(), "named": Series()}


async def answer(text: str) -> str:
    """Return at once."""
    return text


async def maker(task: Any, ctx: Any) -> str:
    """Make agents, or call one: by its recipe or by its name."""
    if task.text.startswith("make"):
        for number in range(10):
            name = f"made-{task.text.split()[1]}-{number}"
            ctx.state["agent"] = await ctx.create_agent(name, "You answer.", run="answer")
        return name
    began_s, cpu_s = time.perf_counter(), time.process_time()
    if task.text == "kept":
        await ctx.state["agent"]("now")
    else:
        await ctx.delegate("plain", "now")
    _TIMES[task.text].add(time.perf_counter() - began_s, time.process_time() - cpu_s)
    return "done"


def _team(path: Path) -> DynamicSupervisor:
    specs = [AgentSpec(name="maker", run=maker, tools=[answer]), AgentSpec(name="plain", run=answer)]
    return DynamicSupervisor("lab", agent_specs=specs, participants=["maker"], max_agents=200, store=path)


def rows(quick: bool) -> Iterator[Row]:
    """Measure the first call of a made agent in each of some engines, and the look-up of its rights."""
    yield from anyio.run(_measure, 10 if quick else 40)


async def _measure(rounds: int) -> list[Row]:
    for series in _TIMES.values():
        series.wall_s.clear()
        series.cpu_s.clear()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "team.db"
        async with _team(path) as team:
            for number in range(MADE // 10):
                await team.arun(f"make {number}")
            state = team._state
            made = next(agent for agent in reversed(state.agents.values()) if agent.recipe_id is not None)
            plain = next(agent for agent in state.agents.values() if agent.name == "plain")
            rights, floor = interleaved(lambda: working_spec(state, made), lambda: working_spec(state, plain), 200)
        for _ in range(rounds):
            for way in _TIMES:
                async with _team(path) as team:
                    await team.arun(way)
    return [
        Row(
            what=f"the first call of one of {MADE} made agents after a start, by its recipe",
            took=_TIMES["kept"],
            floor=_TIMES["named"],
            floor_is="the first call of a plain agent by its name",
            budget=50.0,
        ),
        Row(
            what="look up the rights of a made agent for an attempt",
            took=rights,
            floor=floor,
            floor_is="those of a plain agent",
            unit="µs",
            budget=1_000.0,
            computes=True,
        ),
    ]
