"""From whatever a disk may hold after a crash a run comes to the same end, and nothing that it holds is done again."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest

from engine.core.commands import AddSupervisor, SupervisorSpec
from engine.core.encoding.codec import decode_events, encode_state
from engine.core.fold import fold
from engine.core.specs.spec import AgentSpec, Retry
from engine.core.state import State
from engine.platform.clock import VirtualClock
from engine.supervisor.callables import Callables
from store import Record, Row
from store.layout.opening import open_store
from tests.patience import PATIENCE_S
from tests.runtime import crew_for_places as crew
from tests.runtime.engines import Engine, running

pytestmark = pytest.mark.anyio


def member(run: Any, *specialties: str, **fields: Any) -> AgentSpec:
    spec = AgentSpec(name=run.__name__, run=run, specialties=specialties, **fields)
    return Callables().with_references(spec)


CHECK = SupervisorSpec(name="check", members=[member(crew.read), member(crew.sign)])
SURVEY = SupervisorSpec(
    name="survey",
    mode="parallel",
    participants=["scout", "lead"],
    members=[
        member(crew.scout),
        member(crew.lead),
        member(crew.count, "count", max_concurrency=2, on_failure=[Retry(retries=9)]),
        CHECK,
    ],
)
TEAM = SupervisorSpec(name="team", members=[SURVEY, member(crew.write)])


@dataclass
class Told:
    """An undisturbed run, with every state of the disk that it went through."""

    output: Any
    journal: list[Record]
    ends: list[int]
    """Seqs at which a batch ended: what may be the last one after a crash."""


async def undisturbed(path: Path) -> Told:
    ends: list[int] = []
    async with running(path=path, clock=VirtualClock()) as engine:
        append = engine.store.journal.append

        async def noted(first_seq: int, rows: Sequence[Row]) -> None:
            await append(first_seq, rows)
            ends.append(first_seq + len(rows) - 1)

        engine.store.journal.append = noted  # type: ignore[method-assign]  # it appends all the same
        await engine.host.order(AddSupervisor(parent=None, team=TEAM))
        ends.clear()
        output = await engine.ask("go")
        return Told(output, await engine.journal(), ends)


def references(team: SupervisorSpec) -> set[str]:
    found: set[str] = set()
    for one in team.members:
        found |= references(one) if isinstance(one, SupervisorSpec) else {str(one.run)}
    return found


async def held_by_disk(path: Path, records: list[Record]) -> None:
    """Make a database that holds the first records of a journal, as a crash would have left it."""
    rows = [Row(one.at_ms, one.kind, one.body, one.run_id, one.task_id, one.agent_id) for one in records]
    async with open_store(path, durability="normal") as store:
        await store.journal.append(1, rows)


def finished_in(records: list[Record], state: State) -> set[str]:
    """Return what records hold as finished, in the crew's own words."""
    found: set[str] = set()
    for record in records:
        body = json.loads(record.body)
        if record.kind == "step_recorded":
            found.add(f"look {str(body['output'])[-1]}")
        elif record.kind == "attempt_done" and body["agent_id"] is not None:
            name, task = state.agents[body["agent_id"]].name, state.tasks.get(body["task_id"])
            text = f" {task.input}" if task is not None and name in ("count", "read") else ""
            found.add(name + text)
    return found


async def test_from_every_place_that_a_crash_may_leave_a_run_at_it_comes_to_the_same_end(tmp_path: Path) -> None:
    crew.done.clear()
    told = await undisturbed(tmp_path / "whole.db")
    everything = sorted(crew.done)
    left: list[int] = []

    for end in told.ends:
        crew.done.clear()
        records = told.journal[:end]
        path = tmp_path / f"{end}.db"
        await held_by_disk(path, records)
        async with running(path=path, clock=VirtualClock()) as engine:
            before = finished_in(records, folded(records))
            _, output = await engine.ended("r1")
            await assert_state_is_the_journal(engine)

        assert output == told.output, end
        assert before & set(crew.done) == set(), end
        assert len(crew.done) == len(set(crew.done)), end
        assert set(crew.done) <= set(everything), end
        left.append(len(crew.done))

    assert len(told.ends) > 8
    assert len(everything) == len(set(everything))
    assert (left[0], left[-1]) == (len(everything), 0)
    assert sorted(left, reverse=True) == left


def folded(records: list[Record]) -> State:
    state = State()
    fold(state, decode_events([(one.seq, one.kind, one.body) for one in records]))
    return state


async def assert_state_is_the_journal(engine: Engine) -> None:
    with anyio.fail_after(PATIENCE_S):
        journal = await engine.journal()
    assert encode_state(folded(journal)) == encode_state(engine.state)
