"""A run that has ended can be waited for and looked at as long as its journal is there, whatever came after it."""

from pathlib import Path

import anyio.to_thread
import pytest

from engine.core.events import RunSubmitted
from engine.core.records.records import field_names
from engine.core.specs.failure_policies import Retry
from engine.core.specs.limits import Limits
from engine.core.state import MAX_SUMMARIES
from engine.reading.folding import events_of, pages
from quarterdeck import AgentSpec, CommandRefusedError, DynamicSupervisor, UnknownRun
from store import Reader
from tests.runtime.shell import shell_on

pytestmark = pytest.mark.anyio

LONG = "." * 300
"""Longer than what the state holds itself."""


async def answer(text: str) -> str:
    if text == "fail":
        raise ValueError("it could not be done")
    return f"{text} answered{LONG}"


def team_on(path: Path | None, name: str = "team") -> DynamicSupervisor:
    return DynamicSupervisor(
        name, agent_specs=[AgentSpec(name="a", run=answer, max_concurrency=50)], store=path, durability="normal"
    )


async def outcomes(team: DynamicSupervisor, count: int) -> list[str]:
    """Submit many requests, and only then ask for the result of each."""
    ids = [await team.submit(f"request {number}") for number in range(count)]
    return [str(await team.wait(run_id)) for run_id in ids]


@pytest.mark.parametrize("where", ["memory", "file"])
async def test_every_result_is_there_for_who_asks_after_all_have_ended(where: str, tmp_path: Path) -> None:
    team = team_on(tmp_path / "team.db" if where == "file" else None)
    count = MAX_SUMMARIES + 30
    async with team:
        last = await team.submit("the last", after=[await team.submit("the first")])
        found = await outcomes(team, count)
        assert str(await team.wait(last)) == f"the last answered{LONG}"
        first = await team.wait("r2")

    assert found == [f"request {number} answered{LONG}" for number in range(count)]
    assert (first.run_id, first.status, first.tasks, first.seq > 0) == ("r2", "done", 1, True)
    assert (await team.status("r3")).output == f"request 0 answered{LONG}"
    with pytest.raises(UnknownRun, match="no run 'r9999'"):
        await team.wait("r9999")


async def test_another_program_and_the_command_line_find_a_run_that_ended_long_ago(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "team.db"
    async with team_on(path) as team:
        failed = await team.submit("fail")
        await outcomes(team, MAX_SUMMARIES + 1)
        attached = DynamicSupervisor.attach(path)
        with pytest.raises(Exception, match="it could not be done"):
            await attached.wait(failed)
        assert str(await attached.wait("r2")) == f"request 0 answered{LONG}"
        assert (await attached.status("r2")).title == "request 0"
    capsys.readouterr()

    code, tasks, _ = shell_on(path, capsys)("tasks", "--run", "@r2")
    assert (code, "✓ done" in tasks) == (0, True)
    assert shell_on(path, capsys)("wait", "r2") == (
        0,
        f"request 0 answered{LONG}\n",
        "run r2 of team team is done\n",
    )


async def test_a_run_that_was_imported_as_ended_is_found_also_after_many_more(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "team.db"
    before = team_on(None)
    assert str(await before.arun("long ago")) == f"long ago answered{LONG}"
    after = team_on(path)
    await after.deserialize_state(await before.serialize_complete_state())
    run = shell_on(path, capsys)

    assert run("wait", "r1") == (0, f"long ago answered{LONG}\n", "run r1 of team team is done\n")
    async with after:
        await outcomes(after, MAX_SUMMARIES + 1)
        assert str(await after.wait("r1")) == f"long ago answered{LONG}"
        assert str(await DynamicSupervisor.attach(path).wait("r1")) == f"long ago answered{LONG}"
    capsys.readouterr()
    assert run("wait", "r1") == (0, f"long ago answered{LONG}\n", "run r1 of team team is done\n")
    assert run("wait", "r9999")[0] == 2


@pytest.mark.parametrize("form", ["{}", "@{}"])
@pytest.mark.parametrize("through", ["program", "inbox"])
async def test_a_run_may_come_after_one_that_ended_long_ago_as_after_one_of_the_moment(
    through: str, form: str, tmp_path: Path
) -> None:
    path = tmp_path / "team.db"
    async with team_on(path) as team:
        done, failed = await team.submit("the first"), await team.submit("fail")
        await outcomes(team, MAX_SUMMARIES + 1)
        caller = team if through == "program" else DynamicSupervisor.attach(path)

        last = await caller.submit("the last", after=[form.format(done)])

        assert str(await team.wait(last)) == f"the last answered{LONG}"
        with pytest.raises(CommandRefusedError, match=f"{failed} failed, and what waits for it would never begin"):
            await caller.submit("never", after=[form.format(failed)])
        with pytest.raises(CommandRefusedError, match="no open run or task 'r9999'"):
            await caller.submit("never", after=["r9999"])


def submitted_in(path: Path) -> dict[str, dict[str, object]]:
    """Return how each run of a file was submitted, without what makes it one of its own; its deadline from then on."""
    with Reader(path) as reader:
        told = [one for page in pages(reader, 0) for one in events_of(page) if isinstance(one, RunSubmitted)]
    own = ("run_id", "root_id", "at_ms", "warn_ms")
    fields = {
        event.run_id: {name: getattr(event, name) for name in field_names(event) if name not in own} for event in told
    }
    for event in told:
        fields[event.run_id]["deadline_ms"] = None if event.deadline_ms is None else event.deadline_ms - event.at_ms
    return fields


async def test_a_run_that_ended_long_ago_is_retried_with_its_settings_as_one_of_the_moment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "team.db"
    team = DynamicSupervisor(
        "desk", agent_specs=[AgentSpec(name="a", run=answer, max_concurrency=50)], store=path, durability="normal",
        coordination_strategies={"research_tasks": "parallel"},
    )  # fmt: skip
    async with team:
        first = await team.submit(
            f"the first{LONG}", "desk", priority=2, deadline_s=3600, category="research_tasks",
            limits=Limits(tokens=9_000), on_failure=[Retry(1)],
        )  # fmt: skip
        await team.wait(first)
        retried = [await team.retry(first)]
        await outcomes(team, MAX_SUMMARIES + 1)

        retried += [await team.retry(f"@{first}"), await DynamicSupervisor.attach(path).retry(first)]
        code, said, _ = await anyio.to_thread.run_sync(lambda: shell_on(path, capsys)("retry", first))
        for one in retried:
            assert str(await team.wait(str(one.result["run_id"]))) == f"the first{LONG} answered{LONG}"

    assert (code, said.split(",")[0]) == (0, f"✓ submitted {first} again as r{MAX_SUMMARIES + 6}")
    how = submitted_in(path)
    again = [how[str(one.result["run_id"])] for one in retried] + [how[f"r{MAX_SUMMARIES + 6}"]]
    assert again == [how[first]] * 4


async def test_a_run_that_ended_before_it_was_imported_is_retried_by_its_request_in_its_conversation(
    tmp_path: Path,
) -> None:
    before, after = team_on(None), team_on(tmp_path / "team.db")
    await before.arun(f"long ago{LONG}", conversation="letters")
    await after.deserialize_state(await before.serialize_complete_state())
    async with after:
        again = await after.retry("r1")
        run_id = str(again.result["run_id"])
        assert str(await after.wait(run_id)) == f"long ago{LONG} answered{LONG}"
        assert submitted_in(tmp_path / "team.db")[run_id]["conversation"] == "letters"
        with pytest.raises(CommandRefusedError, match="no open run or task 'r9999'"):
            await after.retry("r9999")
