"""The places where a program of this folder is played: what a promise says of agents holds in each of them.

`alone` is the team as it is written. In `teams` each worker stands in a team of its own. In `twins` another team with
the same names and specialties stands beside it, and in `above` over it, which must get nothing. In `paused` a worker
with every specialty stands among the others and is paused, and must get nothing either; in `broken` one that is in
error, and in `spent` one whose budget is spent. In `lame` and `dry` each worker stands in a team of its own, beside
a team whose only agent is in error, or which has spent its budget. In `attached` the program gives its requests by way
of the file of a team whose engine is elsewhere.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from inspect import Signature
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio

from engine import AgentSpec, DynamicSupervisor, Limits
from engine.core.signals import AgentUnusable
from tests.meaning.diary import Diary

STAGES = ("alone", "teams", "twins", "above", "paused", "broken", "spent", "lame", "dry", "attached")
IN_TEAMS = ("teams", "lame", "dry")
OTHER = "other"
"""The team of those in the diary who must get nothing."""


@asynccontextmanager
async def staged(
    stage: str, diary: Diary, *workers: AgentSpec, lead: AgentSpec | None = None, **options: Any
) -> AsyncIterator[DynamicSupervisor]:
    """Run a team on a stage, and see at its end that nobody worked who must not.

    Args:
        stage: One of `STAGES`.
        diary: Where the workers write down what they do.
        workers: The members that the program is about.
        lead: A member that is an agent on each stage: it delegates.
        options: Of the supervisor `chief`.

    Yields:
        The supervisor `chief`.
    """
    if stage == "attached":
        with TemporaryDirectory() as folder:
            options["store"] = Path(folder) / "team.db"
            async with staged("alone", diary, *workers, lead=lead, **options):
                yield DynamicSupervisor.attach(options["store"])  # type: ignore[misc] # it has the same calls
        return
    own = [lead] if lead is not None else []
    chief = DynamicSupervisor(
        "chief", agent_specs=[*own, *([] if stage in IN_TEAMS else workers)], clock=diary.clock, **options
    )
    top = chief
    for worker in workers if stage in IN_TEAMS else ():
        await chief.add_sub_supervisor(worker.name, DynamicSupervisor(worker.name, agent_specs=[worker]))
    idler = _idler(diary, workers, limits=Limits(attempts=1) if stage == "spent" else None)
    if stage in ("lame", "dry"):
        limits = Limits(attempts=1) if stage == "dry" else None
        beside = DynamicSupervisor("beside", agent_specs=[idler], limits=limits)
        top = DynamicSupervisor("top", clock=diary.clock) if stage == "dry" else chief
        await top.add_sub_supervisor("beside", beside)
        if stage == "dry":
            await top.add_sub_supervisor("chief", chief)
    elif stage in ("paused", "broken"):
        await chief.add_agent(idler)
    elif stage == "spent":
        top, bench = DynamicSupervisor("top", clock=diary.clock), DynamicSupervisor("bench")
        await bench.add_agent(idler)
        await top.add_sub_supervisor("bench", bench)
        await top.add_sub_supervisor("chief", chief)
    elif stage == "twins":
        top = DynamicSupervisor("top", clock=diary.clock)
        await top.add_sub_supervisor("twin", DynamicSupervisor("twin", agent_specs=_others(diary, workers)))
        await top.add_sub_supervisor("chief", chief)
    elif stage == "above":
        top = DynamicSupervisor("top", agent_specs=_others(diary, workers), clock=diary.clock)
        await top.add_sub_supervisor("chief", chief)
    async with top:
        if stage == "paused":
            await chief.pause("idler")
        elif stage in ("broken", "lame"):
            await _break(chief, idler)
        elif stage == "dry":
            await beside.arun("spend it")
            await beside.move("beside", "chief")
            diary.entries.clear()
        elif stage == "spent":
            await bench.arun("spend it")
            await bench.move("idler", "chief")
            diary.entries.clear()
        yield chief
    assert [one for one in diary.entries if one.team == OTHER] == []


async def _break(chief: DynamicSupervisor, spec: AgentSpec) -> None:
    """Put an agent in error: its function takes no task any more, and whoever looks at it again finds the same."""
    host = chief._engine._host
    assert host is not None
    (agent,) = (one for one in host.state.agents.values() if one.name == spec.name)
    spec.run.__signature__ = Signature()  # type: ignore[union-attr]
    host._runtimes.forget([agent.spec])
    decided = anyio.Event()
    unusable = AgentUnusable(agent_id=agent.id, generation=agent.generation, error="its function takes no task")
    host.signal(unusable, lambda _: decided.set())
    await decided.wait()


def _idler(diary: Diary, workers: tuple[AgentSpec, ...], **spec: Any) -> AgentSpec:
    every = sorted({one for worker in workers for one in worker.specialties})
    return diary.agent("idler", *every, team=OTHER, **spec)


def _others(diary: Diary, workers: tuple[AgentSpec, ...]) -> list[AgentSpec]:
    return [diary.agent(worker.name, *worker.specialties, team=OTHER) for worker in workers]
