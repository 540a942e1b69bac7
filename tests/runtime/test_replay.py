"""A run is walked through again without a call; one that is cut off anywhere makes no finished call again."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from engine import AgentSpec, DynamicSupervisor, NotInThisVersion, UnknownRun, tool
from engine.core.scheduler import Schedule
from engine.core.specs.model_spec import ModelSpec
from engine.core.strategies.parallel import Parallel
from engine.core.strategies.sequential import Sequential
from engine.history.replaying import PLAN, replay
from engine.reading.folding import fold_file
from engine.runtimes.model.conversation import Conversation
from store import Reader, Record

pytestmark = pytest.mark.anyio
CALLED: Counter[str] = Counter()


@tool(idempotent=True)
async def look(place: str) -> str:
    """Look at a place.

    Args:
        place: Where.
    """
    CALLED[place] += 1
    return f"{place} is calm"


def models(workers: int) -> dict[str, ModelSpec]:
    asked = [
        {"name": "delegate", "arguments": {"worker": "scout", "instructions": f"look at pier {number}"}}
        for number in range(workers)
    ]
    chief: Any = ({"match": "harbour", "calls": asked}, {"text": "All is calm."})
    scout: Any = ({"match": "pier", "calls": [{"name": "look", "arguments": {"place": "{text}"}}]}, {"text": "Calm."})
    return {"chief": ModelSpec(replies=chief), "scout": ModelSpec(replies=scout)}


def team(store: Path | None, workers: int = 2) -> DynamicSupervisor:
    scout = AgentSpec(name="scout", agent_type="ReactAgent", model="scout", tools=[look], max_concurrency=60)
    return DynamicSupervisor(
        "chief", model="chief", models=models(workers), agent_specs=[scout], store=store, max_parallel=60
    )


async def worked(tmp_path: Path, workers: int = 2) -> Path:
    path = tmp_path / "team.db"
    CALLED.clear()
    await team(path, workers).arun("How is the harbour?")
    return path


def records_in(path: Path, kind: str) -> list[Record]:
    """Return the events of a kind in a journal."""
    with Reader(path) as reader:
        return reader.records(0, 10_000, kinds=(kind,))


def steps_in(path: Path) -> list[tuple[str, str]]:
    """Return task and key of every step that a journal records."""
    return [(str(one.task_id), json.loads(one.body)["key"]) for one in records_in(path, "step_recorded")]


def kept_in(path: Path) -> Counter[tuple[str, str]]:
    """Return task and key of every step that a fork goes on from."""
    return Counter((task.id, key) for task in fold_file(path).tasks.values() for key in task.steps)


async def gone_on(path: Path, workers: int) -> Any:
    """Let the one open run of a fork go on, and return its output."""
    (run_id,) = fold_file(path).runs
    async with team(path, workers) as twin:
        await twin.resume(run_id)
        return (await twin.wait(run_id)).output


async def test_a_run_of_models_is_walked_through_without_a_call(tmp_path: Path) -> None:
    path = await worked(tmp_path, 3)
    called = CALLED.copy()
    found = await team(path, 3).replay("r1")

    assert (found.differs, found.steps) == (None, 2 + 3 * 3)
    assert called == CALLED
    assert len(steps_in(path)) == found.steps


async def test_a_run_that_remembers_others_is_walked_through_too(tmp_path: Path) -> None:
    path = await worked(tmp_path)
    await team(path).arun("And the harbour now?")

    assert (await replay(path, "r2")).differs is None


async def test_the_first_step_that_would_differ_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = await worked(tmp_path)
    lead, turn = steps_in(path)[0]
    begin = Conversation.begin

    def begins_otherwise(self: Conversation, text: str) -> None:
        begin(self, f"Please: {text}" if "harbour" in text else text)

    monkeypatch.setattr(Conversation, "begin", begins_otherwise)
    differs = (await replay(path, "r1")).differs

    assert differs is not None
    assert (differs.task_id, differs.step, differs.was) == (lead, turn, turn)
    assert str(differs.now).startswith("turn:1:")
    assert differs.now != turn


async def test_a_strategy_that_would_plan_otherwise_now_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "team.db"
    agents = [AgentSpec(name=name, agent_type="scripted", options={"script": [{"output": name}]}) for name in "ab"]
    await DynamicSupervisor("desk", agent_specs=agents, store=path, coordination_mode="parallel").arun("Look")
    assert (await replay(path, "r1")).differs is None

    monkeypatch.setattr(Parallel, "wire", lambda _, nodes: Sequential().wire(nodes))
    differs = (await replay(path, "r1")).differs

    assert differs is not None
    assert (differs.task_id, differs.step) == ("t1", PLAN)
    assert isinstance(differs.was, dict)
    assert isinstance(differs.now, dict)
    assert differs.was.keys() == differs.now.keys() >= {"nodes"}


async def test_a_delegation_that_would_reach_somebody_else_now_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = await worked(tmp_path)
    monkeypatch.setattr("engine.core.decide.work.attempts.preview", lambda item: f"Please {item}")

    differs = (await replay(path, "r1")).differs

    assert differs is not None
    assert differs.step.startswith("call:delegate:")
    assert isinstance(differs.now, dict)
    assert list(differs.now) == ["children"]


async def test_a_task_that_another_agent_would_get_now_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "team.db"

    async def looks(task: Any, ctx: Any) -> str:
        return "calm"

    async def leads(task: Any, ctx: Any) -> str:
        return str(await ctx.delegate("survey", task.text))

    scouts = [AgentSpec(name=name, run=looks, specialties=["survey"]) for name in ("ada", "bob")]
    lead = AgentSpec(name="chief", run=leads)
    team = DynamicSupervisor(
        "desk", lead="chief", coordination_mode="delegate", agent_specs=[lead, *scouts], store=path
    )
    await team.arun("Look at the pier")
    assert (await replay(path, "r1")).differs is None

    monkeypatch.setattr(Schedule, "next_agent", lambda _, state, line, task_id: state.agents[max(line.free)])
    differs = (await replay(path, "r1")).differs

    assert differs is not None
    assert (differs.step, differs.was, differs.now) == (PLAN, {"agent_id": "a2"}, {"agent_id": "a3"})


async def test_a_run_that_is_not_there_cannot_be_walked_through(tmp_path: Path) -> None:
    path = await worked(tmp_path)
    with pytest.raises(UnknownRun):
        await replay(path, "r9")
    with pytest.raises(NotInThisVersion, match="in memory"):
        await team(None).replay("r1")


async def test_a_run_that_is_open_is_said_to_be_open(tmp_path: Path) -> None:
    async def waits(task: Any, ctx: Any) -> None:
        await ctx.sleep(600)

    agents = [AgentSpec(name="ada", run=waits)]
    async with DynamicSupervisor("desk", agent_specs=agents, store=tmp_path / "t.db") as desk:
        run_id = await desk.submit("Wait")
        with pytest.raises(UnknownRun, match=f"run '{run_id}' is still open"):
            await desk.replay(run_id)
        await desk.abort(run_id)


async def test_a_run_that_is_cut_off_at_any_event_makes_no_finished_call_again(tmp_path: Path) -> None:
    path = await worked(tmp_path)
    whole = Counter(steps_in(path))
    source = team(path)
    for seq in range(records_in(path, "run_submitted")[0].seq, fold_file(path).seq):
        made = await source.fork(tmp_path / f"cut{seq}.db", seq)
        if made.runs:
            kept = kept_in(made.path)
            assert await gone_on(made.path, 2) == "All is calm."
            assert kept + Counter(steps_in(made.path)) == whole


async def test_a_run_that_is_cut_off_inside_worker_27_of_50_makes_no_finished_call_again(tmp_path: Path) -> None:
    path = await worked(tmp_path, 50)
    whole = Counter(steps_in(path))
    source, steps = team(path, 50), records_in(path, "step_recorded")
    workers = list(dict.fromkeys(one.task_id for one in steps if one.task_id != steps[0].task_id))
    inside = [one.seq for one in steps if one.task_id == workers[26]]
    for seq in inside[:2]:
        made = await source.fork(tmp_path / f"cut{seq}.db", seq)
        kept = kept_in(made.path)
        looked = sum(key.startswith("call:look") for _, key in kept)
        CALLED.clear()

        assert await gone_on(made.path, 50) == "All is calm."
        assert kept + Counter(steps_in(made.path)) == whole
        assert sum(CALLED.values()) == 50 - looked
