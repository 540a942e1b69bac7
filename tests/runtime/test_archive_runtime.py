"""A team is carried to another machine in the middle of its work: nothing is done twice, the answer is the same."""

from functools import partial
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest

from engine.archive import export_archive, plan_import, read_archive
from engine.core.commands import ImportState, Resume, RetryWork
from engine.core.specs.spec import AgentSpec
from engine.core.state import MAX_SUMMARIES, State, TaskStatus
from engine.errors import CommandRefusedError
from engine.trusted_code.trust import TrustList, grant
from store import Reader
from tests.databases import write_database
from tests.runtime import crew_for_archives as crew
from tests.runtime.engines import Engine, running
from tests.world import agent, team_world

pytestmark = pytest.mark.anyio

CREW = (
    AgentSpec(name="surveyor", run=crew.surveyor),
    AgentSpec(name="counter", run=crew.counter, specialties=["counting"], max_concurrency=2),
    AgentSpec(name="writer", run=crew.writer),
)
HOST: dict[str, Any] = {}


@pytest.fixture(autouse=True)
def _fresh_crew(tmp_path: Path) -> None:
    crew.done.clear()
    crew.hook.clear()
    HOST.update(allowed=TrustList(tmp_path / "trust.json"), folder=tmp_path)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """An archive of a team of one."""
    database = write_database(tmp_path / "small.db", team_world(agent("ada")).journal)
    return export_archive(database, tmp_path / "small.zip").path


async def taken_in(engine: Engine, archive: Path, *, paused: bool = True, trust: bool = True) -> Any:
    """Import an archive as the command line does."""
    plan = await anyio.to_thread.run_sync(plan_import, archive, None)
    if trust:
        assert engine.store.path is not None
        grant(HOST["allowed"], plan.references, State(), db=engine.store.path, path=archive, sha256=plan.sha256)
    command = ImportState(path=str(archive), sha256=plan.sha256, paused=paused)
    return await engine.host.order(command)


async def worked_through(folder: Path) -> tuple[list[Path], Any]:
    """Let a team answer, with an export at every place; return the archives and the answer."""
    database, archives = folder / "team.db", list[Path]()

    async def export(name: str) -> None:
        target = folder / f"{len(archives)} {name}.zip"
        archives.append(target)
        await anyio.to_thread.run_sync(partial(export_archive, database, target))

    crew.hook.append(export)
    async with running(*CREW, path=database, participants=["surveyor", "writer"]) as engine:
        run_id = await engine.submit(f"survey the house {crew.LONG}")
        _, output = await engine.ended(run_id)
    crew.hook.clear()
    return archives, output


async def test_from_every_place_of_a_run_the_work_goes_on_elsewhere_to_the_same_answer(tmp_path: Path) -> None:
    archives, answer = await worked_through(tmp_path)
    all_of_it = sorted(crew.done)
    left: list[int] = []

    for archive in archives:
        crew.done.clear()
        before = read_archive(archive).state
        counted = [task for task in before.tasks.values() if task.queue and task.queue.startswith("able:")]
        async with running(path=archive.with_suffix(".db"), host=HOST) as engine:
            await taken_in(engine, archive)
            assert crew.done == []
            await engine.host.order(Resume(target="r1"))
            _, output = await engine.ended("r1")

        assert output == answer, archive.name
        ended = [task.title[:6] for task in counted if task.status is TaskStatus.DONE]
        assert not {f"count {title}" for title in ended} & set(crew.done), archive.name
        assert sorted(crew.done) == sorted({*crew.done}), archive.name
        assert set(crew.done) <= set(all_of_it)
        left.append(len(crew.done))

    assert len(archives) == 8
    assert (left[0], left[-1]) == (len(all_of_it), 1)


async def test_the_hash_of_a_state_is_the_same_after_export_import_export(tmp_path: Path) -> None:
    archives, _ = await worked_through(tmp_path)

    for archive in archives:
        path = archive.with_suffix(".db")
        async with running(path=path, host=HOST) as engine:
            await taken_in(engine, archive)
            await engine.host.wait_until_written()
            again = await anyio.to_thread.run_sync(export_archive, path, archive.with_suffix(".again.zip"))

        assert again.state_sha256 == read_archive(archive).manifest.state_sha256, archive.name


async def test_a_finished_run_comes_along_in_one_line_with_its_output(tmp_path: Path) -> None:
    async with running(CREW[2], path=tmp_path / "team.db") as engine:
        answer = await engine.ask(f"write {crew.LONG}")
    archive = export_archive(tmp_path / "team.db", tmp_path / "team.zip").path

    async with running(path=tmp_path / "there.db", host=HOST) as there:
        await taken_in(there, archive)
        (summary,) = there.state.finished
        assert await there.host.text(summary.output) == answer
        assert await there.host.text(summary.request) == f"write {crew.LONG}"
        assert summary.seq == 0


async def test_into_a_team_that_works_it_comes_under_another_name_and_both_go_on(tmp_path: Path) -> None:
    archives, answer = await worked_through(tmp_path)

    async with running(*CREW, path=tmp_path / "there.db", host=HOST, participants=["surveyor", "writer"]) as there:
        own_answer = await there.ask("another house")
        await taken_in(there, archives[4], paused=False)
        (imported,) = list(there.state.runs)
        _, output = await there.ended(imported)
        assert output == answer
        assert await there.ask("another house", supervisor="team") == own_answer
        assert [root.name for root in there.state.roots] == ["team", "team-2"]


async def test_what_an_agent_has_made_it_calls_also_where_that_has_another_id(tmp_path: Path) -> None:
    spec = AgentSpec(name="boss", run=crew.boss, tools=[crew.counter])
    archives: list[Path] = []

    async def export(place: str) -> None:
        if place == "boss has made it":
            archives.append(tmp_path / f"{len(archives)}.zip")
            await anyio.to_thread.run_sync(partial(export_archive, tmp_path / "team.db", archives[-1]))

    crew.hook.append(export)
    async with running(spec, path=tmp_path / "team.db") as engine:
        assert await engine.ask("a house") == 7
    crew.hook.clear()

    async with running(spec, path=tmp_path / "there.db", host=HOST) as there:
        await there.ask("four")
        await taken_in(there, archives[0], paused=False)
        assert (await there.ended(next(iter(there.state.runs))))[1] == 7
        assert [agent.done for agent in there.state.agents.values() if agent.name == "made"] == [1, 1]


async def test_code_that_is_not_trusted_is_refused_and_nothing_comes_in(small: Path, tmp_path: Path) -> None:
    async with running(path=tmp_path / "there.db", host=HOST) as there:
        with pytest.raises(CommandRefusedError, match="not trusted: crew:ada"):
            await taken_in(there, small, trust=False)
        assert not there.state.supervisors
        assert not await there.journal("state_imported")


@pytest.mark.parametrize("wrong", ["another file", "no archive", "the database itself"])
async def test_a_wrong_file_is_refused_in_one_line_and_the_engine_goes_on(
    wrong: str, small: Path, tmp_path: Path
) -> None:
    database = tmp_path / "there.db"
    path = {"another file": small, "no archive": Path("/etc/passwd"), "the database itself": database}[wrong]

    async with running(CREW[2], path=database, host=HOST) as there:
        with pytest.raises(CommandRefusedError) as refused:
            await there.host.order(ImportState(path=str(path), sha256="0" * 64))
        assert refused.value.code == "import_refused"
        assert "\n" not in refused.value.reason
        assert await there.ask()
        with Reader(database) as reader:
            engine = reader.engine()
        assert engine is not None
        assert engine.alive


async def test_an_export_works_with_a_live_engine_a_dead_one_and_in_a_folder_that_is_read_only(tmp_path: Path) -> None:
    folder = tmp_path / "team"
    folder.mkdir()
    database = folder / "team.db"

    async def hash_of(name: str) -> str:
        done = await anyio.to_thread.run_sync(export_archive, database, tmp_path / name)
        return done.state_sha256

    async with running(CREW[2], path=database) as engine:
        await engine.ask("write")
        await engine.host.wait_until_written()
        live = await hash_of("live.zip")
    dead = await hash_of("dead.zip")
    folder.chmod(0o500)
    try:
        read_only = await hash_of("read-only.zip")
    finally:
        folder.chmod(0o700)

    assert live == dead == read_only


async def test_what_is_imported_survives_the_crash_of_the_engine_that_took_it_in(tmp_path: Path) -> None:
    archives, answer = await worked_through(tmp_path)
    path = tmp_path / "there.db"
    async with running(path=path, host=HOST) as before:
        await taken_in(before, archives[3])

    async with running(path=path, host=HOST) as after:
        await after.host.order(Resume(target="r1"))
        _, output = await after.ended("r1")

    assert output == answer


async def test_a_run_that_came_to_an_engine_at_work_is_retried_also_after_many_more(tmp_path: Path) -> None:
    async with running(CREW[2], path=tmp_path / "team.db") as engine:
        await engine.ask(f"write {crew.LONG}")
    archive = export_archive(tmp_path / "team.db", tmp_path / "team.zip").path

    async with running(CREW[2], path=tmp_path / "there.db", host=HOST) as there:
        await taken_in(there, archive)
        (summary,) = there.state.finished
        for number in range(MAX_SUMMARIES + 1):
            await there.ask(f"write {number}")
        assert there.state.summary(summary.id) is None

        again = await there.host.order(RetryWork(target=f"@{summary.id}"))

        run = there.state.runs[str(again.result["run_id"])]
        assert await there.host.text(run.request) == f"write {crew.LONG}"
        assert run.supervisor_id == summary.supervisor_id
