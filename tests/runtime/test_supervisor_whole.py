"""A whole team as one value of JSON, and what goes on from it."""

import gc
import json
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from engine import AgentSpec, CommandRefusedError, Context, DynamicSupervisor, NotEmpty, RunFailed, Task, Unusable
from engine.archive import ImportRefused
from engine.archive.manifest import VERSION
from engine.supervisor.offline import state_ready
from tests.runtime.engines import running

pytestmark = pytest.mark.anyio


async def shout(text: str) -> str:
    return text.upper()


async def named(text: str) -> str:
    return f"named {text}"


def team_of(*functions: Any, **settings: Any) -> DynamicSupervisor:
    return DynamicSupervisor(
        "team", agent_specs=[AgentSpec(name=one.__name__, run=one) for one in functions], **settings
    )


async def carried(team: DynamicSupervisor) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(json.dumps(await team.serialize_complete_state()))
    return value


async def carried_at_work(work: Any, begun: anyio.Event, go_on: anyio.Event) -> tuple[str, dict[str, Any]]:
    """Return a run, and the state while its only attempt was at work; the run is done where it began."""
    async with team_of(work) as team:
        run_id = await team.submit("x")
        await begun.wait()
        value = await carried(team)
        go_on.set()
        await team.wait(run_id)
    return run_id, value


async def test_a_team_goes_on_from_its_state_under_another_name() -> None:
    team = team_of(shout)
    await team.arun("x" * 500)
    twin = DynamicSupervisor("twin")
    await twin.deserialize_state(await carried(team))

    assert (twin.name, twin.list_active_agents()) == ("twin", ["shout"])
    assert (await twin.status("r1")).output == "X" * 500
    assert str(await twin.arun("y")) == "Y"
    assert twin.active_agents["shout"].tasks == 2


async def test_a_state_is_the_same_after_a_round_trip() -> None:
    team = team_of(shout)
    await team.arun("x" * 500)
    value = await carried(team)
    again = DynamicSupervisor("team")
    await again.deserialize_state(value)

    there = await carried(again)
    for one in (value, there):
        one["state"].pop("at_ms")
    assert there == value


async def test_work_that_is_open_goes_on_elsewhere_with_the_steps_that_are_done() -> None:
    counted: list[str] = []
    begun, go_on = anyio.Event(), anyio.Event()

    def count(name: str) -> str:
        counted.append(name)
        return name

    async def work(task: Task, ctx: Context) -> str:
        found = await ctx.step("count", count, task.text)
        begun.set()
        await go_on.wait()
        return f"{found} done"

    run_id, value = await carried_at_work(work, begun, go_on)

    twin = DynamicSupervisor("twin")
    await twin.deserialize_state(value)
    async with twin:
        assert str(await twin.wait(run_id)) == "x done"
    assert counted == ["x"]


@pytest.mark.parametrize("name", ["team.db", None])
async def test_taking_in_open_work_begins_none_of_it(tmp_path: Path, name: str | None) -> None:
    begun: list[str] = []
    came, go_on = anyio.Event(), anyio.Event()

    async def work(text: str) -> str:
        begun.append(text)
        came.set()
        await go_on.wait()
        return "done"

    run_id, value = await carried_at_work(work, came, go_on)

    twin = team_of(work, store=name and tmp_path / name)
    await twin.deserialize_state(value)
    assert begun == ["x"]
    async with twin:
        assert str(await twin.wait(run_id)) == "done"
    assert begun == ["x", "x"]


async def test_open_work_waits_where_the_state_was_taken_in_paused() -> None:
    begun, go_on = anyio.Event(), anyio.Event()

    async def work(text: str) -> str:
        begun.set()
        await go_on.wait()
        return "done"

    run_id, value = await carried_at_work(work, begun, go_on)

    twin = DynamicSupervisor("twin")
    await twin.deserialize_state(value, paused=True)
    async with twin:
        assert (await twin.status(run_id)).status == "paused"
        await twin.resume(run_id)
        assert str(await twin.wait(run_id)) == "done"


async def test_what_a_program_declares_is_said_on_top_of_a_state() -> None:
    async def whisper(text: str) -> str:
        return text.lower()

    value = await carried(team_of(shout, coordination_mode="parallel"))
    twin = DynamicSupervisor("twin", agent_specs=[AgentSpec(name="shout", run=whisper), AgentSpec(name="b", run=shout)])
    await twin.deserialize_state(value)

    assert (twin.list_active_agents(), twin.coordination_mode) == (["shout", "b"], "parallel")
    assert twin.active_agents["shout"].generation == 2
    assert str(await twin.arun("Xy")) == "## shout\n\nxy\n\n## b\n\nXY"


async def test_a_state_is_taken_in_before_its_supervisor_runs() -> None:
    async with DynamicSupervisor("twin") as twin:
        with pytest.raises(NotEmpty, match="before 'async with'"):
            await twin.deserialize_state(await carried(team_of(shout)))


async def test_a_state_goes_into_an_empty_supervisor_alone() -> None:
    value = await carried(team_of(shout))
    used = team_of(shout)
    await used.arun("x")

    with pytest.raises(NotEmpty):
        await used.deserialize_state(value)


async def test_a_state_goes_into_a_new_file_and_not_into_one_that_holds_a_team(tmp_path: Any) -> None:
    team = team_of(shout)
    await team.arun("x")
    value = await carried(team)
    filed = DynamicSupervisor("filed", store=tmp_path / "team.db")
    await filed.deserialize_state(value)
    assert str(await filed.arun("y")) == "Y"
    assert filed.active_agents["shout"].tasks == 2

    with pytest.raises(NotEmpty):
        await DynamicSupervisor("other", store=tmp_path / "team.db").deserialize_state(value)


async def test_a_program_that_ended_before_its_agents_were_said_on_top_says_them_when_it_runs_again(
    tmp_path: Path,
) -> None:
    file = tmp_path / "team.db"
    program = partial(team_of, shout, named, store=file)
    value = await carried(team_of(shout))
    signal = state_ready(value, "team", program()._engine.callables, paused=False, trusted=())
    async with running(path=file) as engine:
        engine.host.signal(signal)
        await engine.until(lambda state: bool(state.agents))
        await engine.host.wait_until_written()

    for _ in range(2):
        team = program()
        assert str(await team.arun("x")) == "named X"
        assert team.list_active_agents() == ["shout", "named"]


async def test_code_that_a_state_names_is_not_imported_unless_it_is_trusted() -> None:
    value = await carried(DynamicSupervisor("team", agent_specs=[AgentSpec(name="a", run="textwrap:shorten")]))

    with pytest.raises(CommandRefusedError, match=r"not trusted: textwrap:shorten; .* trusted=\["):
        await DynamicSupervisor("twin").deserialize_state(value)
    await DynamicSupervisor("twin").deserialize_state(value, trusted=["textwrap:shorten"])


async def test_an_agent_whose_code_ended_with_its_process_says_so_and_may_be_said_again() -> None:
    async def local() -> dict[str, Any]:
        async def gone(text: str) -> str:
            return text

        return await carried(team_of(gone))

    value = await local()
    gc.collect()
    twin = DynamicSupervisor("twin")
    await twin.deserialize_state(value)
    with pytest.raises(Unusable, match="'gone' cannot work"):
        await twin.arun("x")

    await twin.add_agent(AgentSpec(name="gone", run=shout))
    assert str(await twin.arun("x")) == "X"
    assert twin.list_active_agents() == ["gone"]


@pytest.mark.parametrize("value", [{}, {"format": "quarterdeck-archive", "version": VERSION, "state": {}, "texts": 1}])
async def test_a_value_that_is_no_state_is_refused(value: dict[str, Any]) -> None:
    with pytest.raises(ImportRefused):
        await DynamicSupervisor("twin").deserialize_state(value)


async def told(task: Task, ctx: Context) -> str:
    return " | ".join(f"{message.role}: {message.text}" for message in task.conversation)


async def test_a_restored_supervisor_knows_what_was_said_before() -> None:
    team = team_of(told)
    await team.arun("one")
    await team.arun("aside", conversation=None)
    twin = DynamicSupervisor("twin")
    await twin.deserialize_state(await carried(team))

    assert str(await twin.arun("Continue", conversation="other")) == ""
    assert str(await twin.arun("Continue")) == "user: one | assistant: "
    assert str(await twin.arun("Continue")).endswith("user: Continue | assistant: user: one | assistant: ")


async def clerk(task: Task, ctx: Context) -> Any:
    if task.text.startswith("recall"):
        return [one.text for one in await ctx.recall(task.text.removeprefix("recall "))]
    return await ctx.remember(task.text, tags=["harbour"])


async def test_what_an_agent_remembers_is_found_again_after_an_export_and_import() -> None:
    team = team_of(clerk)
    texts = [f"ship {number} lies at pier {number}" + " and waits" * number * 10 for number in range(4)]
    for text in texts:
        await team.arun(text)
    twin = DynamicSupervisor("twin")
    await twin.deserialize_state(await carried(team))

    for question in ("recall ship 2", "recall harbour pier 3", "recall whale"):
        assert (await twin.arun(question)).output == (await team.arun(question)).output
    found: Any = (await twin.arun("recall ship 2")).output
    assert found[0] == texts[2]


async def forgetful(task: Task, ctx: Context) -> Any:
    return await ctx.remember("")


async def test_what_cannot_be_remembered_fails_the_attempt_in_one_line() -> None:
    with pytest.raises(RunFailed, match="an insight: text must be"):
        await team_of(forgetful).arun("x")
