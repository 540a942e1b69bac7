"""`team.memory`: a program reads and writes the insights of its team, in its own process and in another."""

from pathlib import Path

import anyio
import pytest

from engine import (
    AgentSpec,
    CommandRefusedError,
    Context,
    DynamicSupervisor,
    InsightConflict,
    InsightTimeout,
    Task,
)
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.anyio


async def scout(task: Task, ctx: Context) -> str:
    await ctx.remember("the key is under the mat")
    insight = await ctx.memory.write("the tide is high at six", segment="facts", tags=["sea"])
    return insight.id


def team(path: Path | None = None) -> DynamicSupervisor:
    return DynamicSupervisor("team", agent_specs=[AgentSpec(name="scout", run=scout)], store=path)


@pytest.mark.parametrize("durable", [False, True])
async def test_a_program_finds_replaces_and_forgets_what_agents_wrote(tmp_path: Path, durable: bool) -> None:
    supervisor = team(tmp_path / "team.db" if durable else None)
    await supervisor.arun("go")
    memory = supervisor.memory

    assert [each.text for each in (await memory.query("tides", all_of=["sea"])).items] == ["the tide is high at six"]
    assert (await memory.query(segment="private")).total == 1
    newer = await memory.supersede("m2", "the tide is high at seven", expect=1)
    assert (newer.version, newer.tags, newer.segment, newer.author != "scout") == (2, ("sea",), "facts", True)
    with pytest.raises(InsightConflict) as conflict:
        await memory.write("no", segment="facts", supersedes="m2", expect=1)
    assert conflict.value.current is not None
    assert conflict.value.current.text == "the tide is high at seven"
    await memory.forget("m1", "m3")
    assert (await memory.query()).total == 0
    assert [each.id for each in (await memory.query(superseded=True)).items] == ["m2"]


async def test_invalid_values_are_refused_in_one_line() -> None:
    memory = team().memory
    for call, reason in (
        (memory.write("x", segment="private"), "private insights are those of an agent"),
        (memory.write("x" * 10_000_000), "remember: text must be a text of 1 to 10,000 characters"),
        (memory.write(None), "remember: text must be a text"),  # type: ignore[arg-type]
        (memory.write("x", tags="sea"), "remember: tags must"),
        (memory.supersede(None, "x", expect=1), "there is no insight 'None' to supersede"),  # type: ignore[arg-type]
        (memory.write("x", segment="A B"), "remember: segment must be a lowercase ASCII letter"),
        (memory.supersede("m9", "x", expect=1), "there is no insight 'm9' to supersede"),
        (memory.forget("m9"), "there is no insight 'm9'"),
        (memory.forget(), "name an insight, such as m3"),
        (memory.query(limit=0), "search of insights: limit must"),
        (memory.query(any_of="sea"), "search of insights: any_of must"),
        (memory.wait(due_s=0), "wait: due_s must"),
    ):
        with pytest.raises(CommandRefusedError) as refused:
            await call
        assert str(refused.value).startswith(reason), str(refused.value)
        assert len(str(refused.value)) < 250


async def test_a_program_waits_for_what_an_agent_writes() -> None:
    async with team() as supervisor, anyio.create_task_group() as group:
        group.start_soon(supervisor.arun, "go")
        with anyio.fail_after(PATIENCE_S):
            page = await supervisor.memory.wait("tide", segment="facts", due_s=PATIENCE_S)

        assert [each.author for each in page.items] == ["scout"]
        with pytest.raises(InsightTimeout):
            await supervisor.memory.wait(segment="nowhere", due_s=0.01)


async def test_another_process_has_the_same_memory_by_the_file(tmp_path: Path) -> None:
    async with team(tmp_path / "team.db") as supervisor:
        attached = DynamicSupervisor.attach(tmp_path / "team.db")
        written = await attached.memory.write("bring oars", tags=["boat"])
        await supervisor.arun("go")

        assert [each.id for each in (await supervisor.memory.query("oar")).items] == [written.id]
        assert (await attached.memory.query("tide")).total == 1
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: supervisor.memory.write("now", segment="calls"))
            with anyio.fail_after(PATIENCE_S):
                assert (await attached.memory.wait(segment="calls", due_s=PATIENCE_S)).items[0].text == "now"


async def test_insights_are_part_of_a_saved_state_with_new_ids() -> None:
    supervisor = team()
    await supervisor.memory.write("x" * 500, segment="facts", expires_s=3600)
    await supervisor.arun("go")
    await supervisor.memory.supersede("m1", "y", expect=1)
    twin = DynamicSupervisor("twin")
    await twin.deserialize_state(await supervisor.serialize_complete_state())

    page = await twin.memory.query(segment="facts", superseded=True)
    assert {each.text for each in page.items} == {"x" * 500, "the tide is high at six", "y"}
    (newest,) = (each for each in page.items if each.text == "y")
    assert newest.version == 2
    assert any(each.expires_ms is not None for each in page.items)
