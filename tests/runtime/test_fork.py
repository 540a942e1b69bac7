"""A database that goes on from a moment of another: paused, with the same ids, and with a step changed where wanted."""

from pathlib import Path
from typing import Any

import anyio
import pytest

from dashboard.reading.feed import Feed
from engine import AgentSpec, CommandRefusedError, DynamicSupervisor, Escalate, NotInThisVersion, RunFailed
from engine.archive.reading import complete_state
from engine.core.documents.document import text_refs
from engine.core.encoding.codec import encode_state
from engine.core.records.records import copy_with
from engine.core.transfer.exporting import make_document
from engine.platform.clock import VirtualClock
from engine.reading.folding import fold_file, fold_file_at
from engine.reading.texts import resolve_value
from engine.supervisor.offline import FileJournal
from store import NameTaken, Reader, StoreError, verify
from tests.legal import assert_legal
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.anyio
LONG = "a long text " * 50


def scripted(name: str, **rule: Any) -> AgentSpec:
    return AgentSpec(name=name, agent_type="scripted", options={"script": [{"output": f"{name}: {{text}}", **rule}]})


def team(store: Path, **settings: Any) -> DynamicSupervisor:
    steps = [{"name": "read", "output": LONG}, {"name": "count", "output": "12"}]
    told = {"to": "clerk", "text": "{text}"}
    specs = [
        scripted("reader", steps=steps),
        scripted("lead", delegate=told, output="lead: {answer}"),
        scripted("clerk"),
    ]
    return DynamicSupervisor("desk", agent_specs=specs, store=store, **settings)


async def worked(tmp_path: Path) -> tuple[Path, Any]:
    """Return a database in which one run is done, and its output."""
    path = tmp_path / "team.db"
    return path, (await team(path).arun("look")).output


def left(folder: Path) -> list[Path]:
    """Return what stands where a fork was to be made."""
    return list(folder.glob("new.db*"))


async def gone_on(path: Path) -> Any:
    """Let the one open run of a fork go on, and return its output."""
    (run_id,) = fold_file(path).runs
    async with team(path) as twin:
        await twin.resume(run_id)
        return (await twin.wait(run_id)).output


def value_at(path: Path, seq: int | None) -> Any:
    """Return what a database holds, by content, as an archive of it would."""
    state = fold_file(path) if seq is None else fold_file_at(path, seq)
    texts = {(ref.seq, ref.path): resolve_value(ref, FileJournal(path).body) for ref in text_refs(state)}
    found = make_document(state, lambda ref: texts[ref.seq, ref.path])
    # A fork is made now, and paused.
    state = copy_with(state, runs={run.id: copy_with(run, paused=True) for run in state.runs.values()}, at_ms=0)
    return complete_state(state, found)["state"], encode_state(state)


async def test_a_fork_goes_on_from_every_event_to_the_same_end(tmp_path: Path) -> None:
    path, output = await worked(tmp_path)
    with Reader(path) as reader:
        last_seq = reader.last_seq()
    source = team(path)
    for seq in range(1, last_seq + 1):
        made = await source.fork(tmp_path / f"at{seq}.db", seq)
        state = fold_file(made.path)
        assert_legal(state)
        assert made.at_seq >= seq
        assert all(run.paused for run in state.runs.values())
        if made.runs:
            assert await gone_on(made.path) == output


async def test_a_fork_is_the_state_of_its_moment(tmp_path: Path) -> None:
    path, _ = await worked(tmp_path)
    with Reader(path) as reader:
        begun = [one.seq for one in reader.records(0, kinds=("step_recorded",))]
    made = await team(path).fork(tmp_path / "new.db", begun[0])

    assert value_at(path, made.at_seq) == value_at(made.path, None)
    assert verify(made.path).ok


async def test_a_changed_step_is_not_run_again_and_what_came_after_it_is(tmp_path: Path) -> None:
    path, _ = await worked(tmp_path)
    source = team(path)
    (task_id,) = {one.task_id for one in await _steps(path)}
    read, count = await source.steps(task_id)
    made = await source.fork(tmp_path / "new.db", step=(task_id, read.step), output={"pages": LONG})
    await gone_on(made.path)
    steps = await team(made.path).steps(task_id)

    assert made.at_seq == read.seq
    assert [(one.step, one.attempt) for one in steps] == [(count.step, 2)]


async def test_the_steps_of_a_task_that_does_not_exist_are_refused_with_and_without_an_engine(tmp_path: Path) -> None:
    path, _ = await worked(tmp_path)
    source = team(path)
    with pytest.raises(CommandRefusedError, match="no task 't99'; list them"):
        await source.steps("t99")
    with pytest.raises(CommandRefusedError, match="no task 't99'; list them"):
        await DynamicSupervisor.attach(path).steps("t99")
    async with source:
        with pytest.raises(CommandRefusedError, match="no task 't99'; list them"):
            await source.steps("t99")


async def test_a_task_that_waits_has_no_steps_yet() -> None:
    async with DynamicSupervisor("desk", agent_specs=[scripted("clerk")]) as desk:
        await desk.pause("clerk")
        await desk.submit("hello")

        assert await desk.steps("t2") == []


async def test_what_a_changed_step_came_to_is_what_the_task_goes_on_with(tmp_path: Path) -> None:
    path, _ = await worked(tmp_path)
    source = team(path)
    (task_id,) = {one.task_id for one in await _steps(path)}
    read, _ = await source.steps(task_id)
    made = await source.fork(tmp_path / "new.db", step=(task_id, read.step), output=LONG + "!")
    state = fold_file(made.path)

    assert {
        key: resolve_value(value, FileJournal(made.path).body) for key, value in state.tasks[task_id].steps.items()
    } == {read.step: LONG + "!"}


async def test_in_a_fork_neither_a_default_nor_a_deadline_has_passed_by(tmp_path: Path) -> None:
    path, long_ago = tmp_path / "team.db", VirtualClock()
    clerk, desk_asks = scripted("clerk", fail="broken"), [Escalate(30, "reject")]
    desk = DynamicSupervisor(
        "desk", agent_specs=[clerk], store=path, on_failure=[Escalate(30, "reject")], clock=long_ago
    )
    async with desk:
        run_id = await desk.submit("look", deadline_s=60)
        with pytest.raises(RunFailed):
            await desk.wait(run_id)
    with Reader(path) as reader:
        (asked,) = [one.seq for one in reader.records(0, kinds=("escalated",))]
    made = await desk.fork(tmp_path / "new.db", asked)

    async with DynamicSupervisor("desk", agent_specs=[clerk], store=made.path, on_failure=desk_asks) as twin:
        (question,) = twin.questions
        assert (question.default, question.due_ms, question.left_ms) == ("reject", None, 30_000)
        await twin.answer(question.id, "use", "fine")
        assert (await twin.wait(run_id)).status == "done"


async def test_a_fork_is_refused_where_it_cannot_be(tmp_path: Path) -> None:
    path, _ = await worked(tmp_path)
    source, new = team(path), tmp_path / "new.db"
    (task_id,) = {one.task_id for one in await _steps(path)}
    read, _ = await source.steps(task_id)
    with pytest.raises(NameTaken, match=r"team\.db already exists"):
        await source.fork(path)
    with pytest.raises(StoreError, match="does not exist"):
        await source.fork(tmp_path / "missing" / "new.db")
    with pytest.raises(CommandRefusedError, match="no event 9,999"):
        await source.fork(new, 9999)
    with pytest.raises(CommandRefusedError, match="has no step 'x'"):
        await source.fork(new, step=(task_id, "x"), output=1)
    with pytest.raises(CommandRefusedError, match="fork at the step itself"):
        await source.fork(new, fold_file(path).seq, step=(task_id, read.step), output=1)
    with pytest.raises(CommandRefusedError, match="name it with step"):
        await source.fork(new, output=1)
    with pytest.raises(NotInThisVersion, match="in memory"):
        await DynamicSupervisor("memory").fork(new)

    assert not left(tmp_path)


async def test_a_fork_that_is_cut_off_leaves_nothing_that_looks_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, _ = await worked(tmp_path)

    def cut_off(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("store.layout.sidecar_files.put_in_place", cut_off)
    with pytest.raises(KeyboardInterrupt):
        await team(path).fork(tmp_path / "new.db")

    assert not left(tmp_path)


async def _steps(path: Path) -> list[Any]:
    with Reader(path) as reader:
        return list(reader.records(0, kinds=("step_recorded",)))


async def test_a_dashboard_names_who_came_with_an_import(tmp_path: Path) -> None:
    path, _ = await worked(tmp_path)
    made = await team(path).fork(tmp_path / "new.db")
    feed, want = Feed(made.path), fold_file(made.path)
    feed.start()
    try:
        with anyio.fail_after(PATIENCE_S):
            while feed.state.seq < want.seq:
                feed.advance()
                await anyio.lowlevel.checkpoint()
    finally:
        feed.stop()

    assert {feed.names.of(one) for one in want.agents} == {"reader", "lead", "clerk"}
    assert [feed.names.of(one) for one in want.supervisors] == ["desk"]
