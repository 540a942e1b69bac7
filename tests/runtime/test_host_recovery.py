"""After a crash: what is recorded is not done again, and nothing is lost."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import TaskStatus

from engine.core.commands import Ping, RegisterSpec, Submit
from engine.core.signals import AgentUsable
from engine.core.specs.spec import AgentSpec, Retry
from engine.errors import DiskStayedBroken, DiskStayedFull, EngineError, HostStopped
from engine.host.host import Host
from engine.host.journal_writer import BANNER
from engine.platform.clock import RealClock, VirtualClock
from store import Deposed, StoreBusy, StoreError
from store.layout.opening import Store, open_store
from tests.runtime import crew_for_recovery as crew
from tests.runtime.engines import running, soon

pytestmark = pytest.mark.anyio

LEAD = AgentSpec(name="lead", run=crew.lead)
WORKER = AgentSpec(name="worker", run=crew.worker)


@pytest.fixture(autouse=True)
def _fresh_crew() -> None:
    crew.done.clear()
    crew.reached = anyio.Event()
    crew.go_on = anyio.Event()


async def test_finished_steps_and_delegations_are_not_done_again(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    async with running(LEAD, WORKER, path=path, participants=["lead"]) as before:
        await before.submit()
        await crew.reached.wait()
        first = list(crew.done)
    crew.go_on.set()

    async with running(path=path) as after:
        _, output = await after.ended("r1")

    assert first == ["step a", "work for lead", "step b"]
    assert crew.done == [*first, "step c"]
    assert output == ["A", "for lead: done", "B", "C"]


async def test_long_outputs_of_finished_steps_come_from_the_journal(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    crew.long_texts = True
    try:
        async with running(LEAD, WORKER, path=path, participants=["lead"]) as before:
            await before.submit()
            await crew.reached.wait()
        crew.go_on.set()
        async with running(path=path) as after:
            _, output = await after.ended("r1")
    finally:
        crew.long_texts = False

    assert output == ["A" * 1000, "for lead: done", "B" * 1000, "C" * 1000]


async def test_an_agent_whose_callable_ended_with_its_process_waits_for_it_and_fails_nothing(tmp_path: Path) -> None:
    async def local(text: str) -> str:
        return text

    path = tmp_path / "team.db"
    async with running(AgentSpec(name="local", run=local), path=path) as before:
        assert await before.ask() == "go"

    async with running(path=path) as after:
        run_id = await after.submit()
        await after.until(lambda state: bool(state.tasks))
        agent = after.state.agents["a1"]
        assert (agent.away, agent.error, agent.running) == (True, None, {})
        after.host.bind({str(after.state.spec_of(agent).run): local})
        after.host.signal(AgentUsable(agent_id="a1", generation=1))
        assert (await after.ended(run_id))[1] == "go"
        assert await after.journal("attempt_failed") == []


async def test_a_clean_stop_suspends_runs_and_the_next_engine_goes_on_from_a_snapshot(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    async with running(LEAD, WORKER, path=path, participants=["lead"]) as before:
        await before.submit()
        await crew.reached.wait()
        await before.host.stop("enough for today")
        seq = before.state.seq
        assert before.state.runs["r1"].status == "suspended"
    async with open_store(path) as store:
        snapshot = await store.snapshots.latest()
        assert snapshot is not None
        assert snapshot[0] == seq
    crew.go_on.set()

    async with running(path=path) as after:
        summary, _ = await after.ended("r1")

    assert summary.status == "done"


async def test_a_snapshot_is_saved_every_so_many_events(tmp_path: Path) -> None:
    async with running(WORKER, path=tmp_path / "team.db", host={"snapshot_events": 20}) as engine:
        for _ in range(10):
            await engine.ask()

        found = await soon(engine.store.snapshots.latest)

        assert found is not None
        assert found[0] >= 20


async def test_a_back_off_that_the_crash_interrupted_ends_at_its_moment(tmp_path: Path) -> None:
    path, clock = tmp_path / "team.db", VirtualClock()
    spec = AgentSpec(
        name="flaky",
        agent_type="scripted",
        options={"script": [{"times": 1, "fail": "no"}, {"output": "yes"}]},
        on_failure=[Retry(base_s=3600, cap_s=3600)],
    )
    async with running(spec, path=path, clock=RealClock()) as before:
        await before.submit()
        await before.until(lambda state: bool(state.timers))
        (due_ms,) = (timer.due_ms for timer in before.state.timers.values())

    async with running(path=path, clock=clock) as after:
        _, output = await after.ended("r1")

        assert output == "yes"
        assert clock.now_ms() == due_ms


@dataclass
class Watched:
    """A host on a file, and the error that it ends with."""

    host: Host
    error: Exception | None = None

    async def run(self, *, task_status: TaskStatus[None]) -> None:
        try:
            await self.host.run(task_status=task_status)
        except (StoreError, EngineError) as error:
            self.error = error


async def test_a_deposed_engine_ends_at_once(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    async with open_store(path) as store, anyio.create_task_group() as group:
        watched = Watched(Host(store))
        await group.start(watched.run)
        with closing(sqlite3.connect(path)) as other, other:
            other.execute("UPDATE lease SET token = token + 1")

        with pytest.raises(HostStopped):
            await watched.host.order(Ping())

    assert isinstance(watched.error, Deposed)


async def test_code_of_a_deposed_engine_that_stood_still_does_no_further_step(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    with pytest.RaisesGroup(Deposed):
        async with running(LEAD, WORKER, path=path, participants=["lead"]) as engine:
            await engine.submit()
            await crew.reached.wait()
            before = list(crew.done)
            with closing(sqlite3.connect(path)) as other, other:
                other.execute("UPDATE lease SET token = token + 1")
            engine.store.lease.record_check(0)
            crew.go_on.set()
            await anyio.sleep_forever()

    assert crew.done == before


async def fill(store: Store) -> None:
    """Let the file not grow any more."""
    await store.journal._writer.execute_fetchall("PRAGMA max_page_count = 1")


async def free(store: Store) -> None:
    """Let it grow again."""
    await store.journal._writer.execute_fetchall("PRAGMA max_page_count = 1000000")


def big() -> Submit:
    return Submit(request="x" * 100_000)


async def test_on_a_full_disk_nothing_starts_and_everything_goes_on_once_there_is_room(tmp_path: Path) -> None:
    async with running(WORKER, path=tmp_path / "team.db", clock=VirtualClock()) as engine:
        await fill(engine.store)
        async with anyio.create_task_group() as group:
            group.start_soon(engine.host.order, big())
            assert list(await soon(engine.shown)) == [BANNER]
            assert crew.done == []
            await free(engine.store)
        await engine.ended("r1")

        assert engine.store.live.texts() == {}
        assert crew.done == ["work for " + "x" * 100_000]


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Let another program hold the file, as a backup does."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        yield


async def test_an_engine_waits_for_a_program_that_holds_its_file(tmp_path: Path) -> None:
    async with running(WORKER, path=tmp_path / "team.db", clock=VirtualClock()) as engine:
        await engine.store.journal._writer.execute_fetchall("PRAGMA busy_timeout = 0")
        async with anyio.create_task_group() as group:
            with held(tmp_path / "team.db"):
                group.start_soon(engine.host.order, Submit(request="x"))
                assert list(await soon(engine.shown)) == [BANNER]
                assert crew.done == []
        await engine.ended("r1")

        assert engine.store.live.texts() == {}
        assert crew.done == ["work for x"]


async def test_an_engine_gives_up_a_file_that_another_program_keeps_and_loses_nothing(tmp_path: Path) -> None:
    path, clock = tmp_path / "team.db", VirtualClock()
    async with open_store(path) as store, anyio.create_task_group() as group:
        watched = Watched(Host(store, clock=clock))
        await group.start(watched.run)
        await store.journal._writer.execute_fetchall("PRAGMA busy_timeout = 0")
        began_ms, seq = clock.now_ms(), store.journal.last_seq
        with held(path), pytest.raises(HostStopped):
            await watched.host.order(Ping())

        assert clock.now_ms() - began_ms == 60_000
        assert store.journal.last_seq == seq

    assert isinstance(watched.error, StoreBusy)


class FailingDisk:
    """A connection to a file on a disk that has room, and reports an I/O error to each write while it fails."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self.fails = True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    async def execute(self, sql: str, parameters: Any = ()) -> Any:
        if self.fails:
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorcode = sqlite3.SQLITE_IOERR_WRITE
            raise error
        return await self._connection.execute(sql, parameters)


async def test_a_failing_disk_is_told_as_that_and_given_up_after_a_minute(tmp_path: Path) -> None:
    path, clock = tmp_path / "team.db", VirtualClock()
    async with open_store(path) as store, anyio.create_task_group() as group:
        watched = Watched(Host(store, clock=clock))
        await group.start(watched.run)
        disk: Any = FailingDisk(store.journal._writer)
        store.journal._writer = disk
        began_ms = clock.now_ms()
        with pytest.raises(HostStopped):
            await watched.host.order(Ping())
        assert clock.now_ms() - began_ms == 60_000
        assert store.live.texts()[BANNER].startswith("The disk reports an I/O error: nothing starts until")
        disk.fails = False

    assert type(watched.error) is DiskStayedBroken
    assert "has reported I/O errors for 60 s" in str(watched.error)


async def test_an_engine_gives_up_a_disk_that_stays_full_and_loses_nothing(tmp_path: Path) -> None:
    path, clock = tmp_path / "team.db", VirtualClock()
    async with open_store(path) as store, anyio.create_task_group() as group:
        watched = Watched(Host(store, clock=clock))
        await group.start(watched.run)
        await fill(store)
        began_ms, seq = clock.now_ms(), store.journal.last_seq
        with pytest.raises(HostStopped):
            await watched.host.order(RegisterSpec(spec=AgentSpec(name="big", description="x" * 100_000)))

        assert clock.now_ms() - began_ms == 60_000
        assert store.journal.last_seq == seq

    assert isinstance(watched.error, DiskStayedFull)
