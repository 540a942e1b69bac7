"""Later runs of a conversation are told the messages of those before them: requests, calls, results and answers."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from engine import AgentSpec, DynamicSupervisor
from engine.core.commands import AddSupervisor, Submit, SupervisorSpec
from engine.core.specs.model_spec import ModelSpec
from engine.core.specs.options import SupervisorOptions
from engine.models.records import Message
from engine.platform.clock import VirtualClock
from engine.runtimes.functions.tools import idempotent
from store import Record, Row
from tests.runtime.engines import Engine, Engines, running
from tests.runtime.noting import REQUESTS
from tests.runtime.test_model_recovery import held_by_disk

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("noted_requests")]
LONG = "a long line\n" * 500


def delegate(worker: str) -> dict[str, Any]:
    return {"name": "delegate", "arguments": {"worker": worker, "instructions": "Go"}}


MODELS = {
    "lead": ModelSpec(
        replies=(
            {"match": "first", "calls": [delegate("scout")]},
            {"match": "pier", "text": "All is calm."},
            {"match": "second", "calls": [delegate("scout"), delegate("nobody")]},
            {"match": "nobody", "text": "There is nobody."},
        )
    ),
    "scout": ModelSpec(replies=({"text": "The pier is calm."},)),
}
CHIEF = AgentSpec(name="chief", agent_type="ReactAgent", model="lead")
SCOUT = AgentSpec(name="scout", agent_type="SimpleAgent", model="scout")
TEAM = SupervisorSpec(
    name="team",
    mode="delegate",
    options=SupervisorOptions(lead="chief", models=MODELS),
    members=[CHIEF, SCOUT],
)


@idempotent
def read_book() -> str:
    """Read a book."""
    return LONG


async def asked(engine: Engine, request: str, conversation: str | None = "main") -> Any:
    """Return the output of a run of a conversation."""
    applied = await engine.host.order(Submit(request=request, conversation=conversation))
    summary, output = await engine.ended(str(applied.result["run_id"]))
    assert summary.status == "done", summary.error
    return output


def told(messages: Sequence[Message]) -> list[tuple[str, str]]:
    """Return what a model was told, each message as its role and text, calls by their names."""
    said = [(one.role, one.text or ", ".join(call.name for call in one.calls)) for one in messages]
    return [one for one in said if one[0] != "system"]


FIRST = [("user", "first"), ("assistant", "delegate"), ("tool", "The pier is calm."), ("assistant", "All is calm.")]


async def test_a_later_run_is_told_the_calls_of_those_before_it_and_what_came_of_them() -> None:
    async with running() as engine:
        await engine.host.order(AddSupervisor(parent=None, team=TEAM))
        await asked(engine, "first")
        assert await asked(engine, "second") == "There is nobody."
        await asked(engine, "third")
        last = REQUESTS[-1].messages
        await asked(engine, "aside", conversation=None)

    assert told(last)[:4] == FIRST
    assert [role for role, _ in told(last)[4:]] == ["user", "assistant", "tool", "tool", "assistant", "user"]
    assert told(last)[6] == FIRST[2]
    assert "nobody" in told(last)[7][1]
    calls = [call.id for one in last for call in one.calls]
    assert calls == [one.call_id for one in last if one.role == "tool"]
    assert told(REQUESTS[-1].messages) == [("user", "aside")]


async def test_what_was_delegated_is_told_nothing_of_it() -> None:
    async with running() as engine:
        await engine.host.order(AddSupervisor(parent=None, team=TEAM))
        await asked(engine, "first")
        await asked(engine, "first")

    assert all(told(one.messages) == [("user", "Go")] for one in REQUESTS if one.name == "scout")


async def test_from_every_place_of_a_crash_a_later_run_goes_on_with_the_same_messages(tmp_path: Path) -> None:
    ends: list[int] = []
    async with running(path=tmp_path / "whole.db", clock=VirtualClock(), host={"batch_ms": float("inf")}) as engine:
        append = engine.store.journal.append

        async def noted(first_seq: int, rows: Sequence[Row]) -> None:
            await append(first_seq, rows)
            ends.append(first_seq + len(rows) - 1)

        engine.store.journal.append = noted  # type: ignore[method-assign]  # it appends all the same
        await engine.host.order(AddSupervisor(parent=None, team=TEAM))
        await asked(engine, "first")
        ends.clear()
        await asked(engine, "second")
        journal = await engine.journal()
    turns = [one.seq for one in journal if one.kind == "step_recorded" and one.run_id == "r2" and is_model(one)]

    for end in ends[:-1]:
        REQUESTS.clear()
        path = tmp_path / f"{end}.db"
        await held_by_disk(path, journal[:end])
        async with running(path=path, clock=VirtualClock()) as engine:
            _, output = await engine.ended("r2")

        assert output == "There is nobody.", end
        assert len(REQUESTS) == sum(seq > end for seq in turns), end
    assert len(ends) > 3


def is_model(record: Record) -> bool:
    return bool(json.loads(record.body)["what"] == "model")


async def test_a_large_result_of_an_earlier_run_is_cut_and_can_be_read_on_in(engine: Engines) -> None:
    replies: tuple[Any, ...] = (
        {"match": "go", "calls": [{"name": "read_book"}]},
        {"text": "Read."},
        {"text": "{text}"},
    )
    spec = AgentSpec(
        name="ada", agent_type="ReactAgent", model="fake", tools=[read_book], options={"result_chars": 1_000}
    )
    options = SupervisorOptions(models={"fake": ModelSpec(replies=replies)})

    async with engine(spec, options=options) as running:
        await asked(running, "go")
        await asked(running, "more")

    result = next(one.text for one in REQUESTS[-1].messages if one.role == "tool")
    assert result.startswith("a long line")
    assert len(result) < 1_200
    assert 'read_result(result="e2", start=1000)' in result
    assert "read_result" in [one.name for one in REQUESTS[-1].tools]


async def test_what_a_run_has_put_in_short_stands_for_all_before_it(engine: Engines) -> None:
    replies: tuple[Any, ...] = (
        {"match": "Write down what this conversation", "text": "SHORT"},
        {"match": "one", "text": "To one."},
        {"match": "two", "calls": [{"name": "read_book"}]},
        {"match": "a long line", "text": "To two."},
        {"match": "three", "text": "To three."},
    )
    model = ModelSpec(replies=replies, context_tokens=1_500)
    spec = AgentSpec(name="ada", agent_type="ReactAgent", model="fake", tools=[read_book])

    async with engine(spec, options=SupervisorOptions(models={"fake": model})) as running:
        for request in ("one", "two", "three"):
            await asked(running, request)
        compacted = [one for one in await running.journal("step_recorded") if json.loads(one.body)["what"] == "compact"]

    texts = told(REQUESTS[-1].messages)
    assert len(compacted) == 1
    assert texts[0] == ("user", "two")
    assert texts[1] == ("user", "What was said so far, in short:\n\nSHORT")
    assert texts[-1] == ("user", "three")
    assert ("user", "one") not in texts


async def test_a_conversation_is_known_elsewhere_after_an_export_between_its_runs(tmp_path: Path) -> None:
    team = DynamicSupervisor(
        name="team", lead=CHIEF, coordination_mode="delegate", agent_specs=[SCOUT], models=MODELS
    )  # fmt: skip
    async with team:
        await team.arun("first")
        state = await team.serialize_complete_state()
    REQUESTS.clear()

    twin = DynamicSupervisor(name="twin")
    await twin.deserialize_state(json.loads(json.dumps(state)))
    async with twin:
        await twin.arun("Continue")

    assert told(REQUESTS[0].messages) == [*FIRST, ("user", "Continue")]


async def test_a_request_that_suits_nobody_goes_on_elsewhere_with_who_worked_before() -> None:
    scout = AgentSpec(name="scout", agent_type="SimpleAgent", model="scout", specialties=["harbours"])
    other = AgentSpec(name="other", agent_type="SimpleAgent", model="lead", specialties=["mountains"])
    team = DynamicSupervisor(name="team", auto_discover=True, agent_specs=[other, scout], models=MODELS)
    await team.arun("Look at the harbours")
    state = await team.serialize_complete_state()

    twin = DynamicSupervisor(name="twin")
    await twin.deserialize_state(json.loads(json.dumps(state)))

    await twin.arun("Go on with the previous piece")

    assert (REQUESTS[-1].name, told(REQUESTS[-1].messages)[0]) == ("scout", ("user", "Look at the harbours"))
