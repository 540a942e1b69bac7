"""From whatever a crash leaves of a conversation it goes on: no answer is asked for twice, no call made twice."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest

from engine import DynamicSupervisor
from engine.core.commands import AddSupervisor, SupervisorSpec
from engine.core.specs.model_spec import ModelSpec
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import AgentSpec
from engine.models.records import Chunk, ModelAnswer, ModelRequest, Sleep
from engine.models.service import ModelService
from engine.platform.clock import VirtualClock
from engine.runtimes.functions.tools import idempotent
from store import Record, Row
from store.layout.opening import open_store
from tests.runtime.engines import running

pytestmark = pytest.mark.anyio

ASKED: list[tuple[str, int]] = []
"""Requests that models got: which model, and how many messages."""
CALLED: list[str] = []


class Counting(ModelService):
    """The real service, which notes what it is asked."""

    async def ask(self, request: ModelRequest, on_chunk: Callable[[Chunk], None], sleep: Sleep) -> ModelAnswer:
        ASKED.append((request.name, len(request.messages)))
        return await super().ask(request, on_chunk, sleep)


@pytest.fixture(autouse=True)
def _counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.host.host.ModelService", Counting)
    ASKED.clear()
    CALLED.clear()


@idempotent
def search(words: str) -> str:
    CALLED.append(words)
    return f"{words}: " + "found " * 40


def call(name: str, /, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def delegate(worker: str, instructions: str) -> dict[str, Any]:
    return call("delegate", worker=worker, instructions=instructions)


def spoken(*replies: Any) -> ModelSpec:
    return ModelSpec(replies=replies)


TOOL = f"{__name__}:search"
LEAD = [
    {"calls": [delegate("scout", "Look at tides"), delegate("nobody", "Rest"), delegate("scout", "Look at tides")]},
    {"calls": [delegate("writer", "Write {text}")]},
    {"text": "Done: {text}"},
]
SCOUT = [{"calls": [call("search", words="one"), call("search", words="two")]}, {"text": "I {text}"}]
TEAM = SupervisorSpec(
    name="team",
    mode="delegate",
    options=SupervisorOptions(
        lead="chief",
        models={
            "lead": spoken(*LEAD),
            "scout": spoken(*SCOUT),
            "writer": spoken({"text": "Written: {text}"}),
        },
    ),
    members=[
        AgentSpec(name="chief", agent_type="ReactAgent", model="lead"),
        AgentSpec(name="scout", agent_type="ReactAgent", model="scout", tools=[TOOL], max_concurrency=2),
        AgentSpec(name="writer", agent_type="SimpleAgent", model="writer"),
    ],
)
TURNS = 3 + 2 * 2 + 1


async def undisturbed(path: Path) -> tuple[Any, list[Record], list[int]]:
    """Return the output of a whole run, its journal, and where its batches ended."""
    ends: list[int] = []
    async with running(path=path, clock=VirtualClock(), host={"batch_ms": float("inf")}) as engine:
        append = engine.store.journal.append

        async def noted(first_seq: int, rows: Sequence[Row]) -> None:
            await append(first_seq, rows)
            ends.append(first_seq + len(rows) - 1)

        engine.store.journal.append = noted  # type: ignore[method-assign]  # it appends all the same
        await engine.host.order(AddSupervisor(parent=None, team=TEAM))
        ends.clear()
        return await engine.ask("go"), await engine.journal(), ends


async def held_by_disk(path: Path, records: list[Record]) -> None:
    rows = [Row(one.at_ms, one.kind, one.body, one.run_id, one.task_id, one.agent_id) for one in records]
    async with open_store(path, durability="normal") as store:
        await store.journal.append(1, rows)


def recorded(records: list[Record], what: str) -> int:
    return sum(json.loads(one.body)["what"] == what for one in records if one.kind == "step_recorded")


async def test_from_every_place_of_a_crash_only_what_is_missing_is_asked_and_called(tmp_path: Path) -> None:
    output, journal, ends = await undisturbed(tmp_path / "whole.db")
    assert len(ASKED) == TURNS == recorded(journal, "model")
    assert len(CALLED) == 4
    tools = recorded(journal, "tool")

    for end in ends:
        ASKED.clear()
        CALLED.clear()
        path = tmp_path / f"{end}.db"
        await held_by_disk(path, journal[:end])
        async with running(path=path, clock=VirtualClock()) as engine:
            summary, again = await engine.ended("r1")

            assert (summary.status, again) == ("done", output), end
            whole = await engine.journal()
        assert len(ASKED) == TURNS - recorded(journal[:end], "model"), end
        assert recorded(whole, "model") == TURNS, end
        assert recorded(whole, "tool") == tools, end
        assert sum(one.kind == "attempt_done" for one in whole) == 4, end

    assert len(ends) > 5


async def test_an_answer_and_what_it_delegates_are_written_in_one_batch(tmp_path: Path) -> None:
    _, journal, ends = await undisturbed(tmp_path / "whole.db")

    first = next(one.seq for one in journal if one.kind == "step_recorded")
    asked = [one.seq for one in journal if one.kind in ("delegated", "call_refused")][:2]
    batch_end = next(end for end in ends if end >= first)

    assert asked[-1] <= batch_end


HANGS: list[anyio.Event] = []


@idempotent
async def first_hang() -> str:
    """Hang while somebody waits for that."""
    if HANGS:
        HANGS[0].set()
        await anyio.sleep_forever()
    return "a tide"


async def test_a_conversation_goes_on_elsewhere_from_an_export_in_the_middle_of_it() -> None:
    tool = f"{__name__}:first_hang"
    chief = AgentSpec(name="chief", agent_type="ReactAgent", model="lead")
    scout = AgentSpec(name="scout", agent_type="ReactAgent", model="scout", tools=[tool])
    models = {
        "lead": spoken({"calls": [delegate("scout", "Look at tides")]}, {"text": "Done: {text}"}),
        "scout": spoken({"calls": [call("first_hang")]}, {"text": "I saw {text}"}),
    }
    team = DynamicSupervisor(name="team", lead=chief, coordination_mode="delegate", agent_specs=[scout], models=models)
    HANGS.append(anyio.Event())
    async with team:
        run = await team.submit("go")
        await HANGS[0].wait()
        state = await team.serialize_complete_state()
    assert [name for name, _ in ASKED] == ["lead", "scout"]

    HANGS.clear()
    ASKED.clear()
    twin = DynamicSupervisor(name="twin")
    await twin.deserialize_state(json.loads(json.dumps(state)), trusted=[tool])
    async with twin:
        result = await twin.wait(run)

    assert str(result) == "Done: I saw a tide"
    assert [name for name, _ in ASKED] == ["scout", "lead"]
