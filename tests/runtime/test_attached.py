"""Supervisors that are attached to a team elsewhere: many calls at once, from several threads, whatever ends first."""

import asyncio
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, closing
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from engine.core.encoding.codec import encode_state
from engine.errors import WrongLoop
from quarterdeck import AgentRegistry, AgentSpec, AttachedSupervisor, DynamicSupervisor, HostStopped
from store import ReadRowsLost
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.anyio

LONG = "." * 300
"""Longer than what the state holds itself."""


async def shout(text: str) -> str:
    return text.upper() + LONG


@asynccontextmanager
async def team_on(path: Path) -> AsyncIterator[DynamicSupervisor]:
    team = DynamicSupervisor("team", agent_specs=[AgentSpec(name="a", run=shout)], store=path, durability="normal")
    async with team:
        yield team


async def ask_many(team: AttachedSupervisor, texts: list[str]) -> dict[str, str]:
    """Return what each request brought, all made at once."""
    found: dict[str, str] = {}

    async def ask(text: str) -> None:
        found[text] = str(await team.arun(text))

    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as group:
            for text in texts:
                group.start_soon(ask, text)
    return found


def followers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("follow ")]


async def test_many_requests_at_once_each_get_their_own_result_from_a_handful_of_threads(tmp_path: Path) -> None:
    texts = [f"request {number}" for number in range(300)]
    async with team_on(tmp_path / "team.db"):
        attached = DynamicSupervisor.attach(tmp_path / "team.db")
        before, most = threading.active_count(), 0

        async def watch() -> None:
            nonlocal most
            while True:
                most = max(most, threading.active_count())
                assert len(followers()) <= 1
                await anyio.sleep(0.001)

        async with anyio.create_task_group() as group:
            group.start_soon(watch)
            found = await ask_many(attached, texts)
            group.cancel_scope.cancel()

    assert found == {text: text.upper() + LONG for text in texts}
    assert most <= before + 3


async def test_supervisors_that_are_attached_to_one_file_share_the_thread_that_follows_it(tmp_path: Path) -> None:
    async with team_on(tmp_path / "team.db"), AsyncExitStack() as stack:
        for _ in range(3):
            await stack.enter_async_context(DynamicSupervisor.attach(tmp_path / "team.db")._engine.running())

        assert len(followers()) == 1


async def test_a_thread_with_an_event_loop_of_its_own_attaches_and_works(tmp_path: Path) -> None:
    def in_a_thread(name: str) -> str:
        async def main() -> str:
            return str(await DynamicSupervisor.attach(tmp_path / "team.db").arun(name))

        return asyncio.run(main())

    found: list[str] = []

    async def ask(name: str) -> None:
        found.append(await anyio.to_thread.run_sync(in_a_thread, name))

    async with team_on(tmp_path / "team.db"):
        with anyio.fail_after(PATIENCE_S):
            async with anyio.create_task_group() as group:
                for number in range(4):
                    group.start_soon(ask, f"thread {number}")

    assert sorted(found) == [f"THREAD {number}{LONG}" for number in range(4)]


async def refused_elsewhere(call: Callable[[], Awaitable[object]]) -> str:
    """Return how a call is refused that is made from another thread's loop while this one uses the supervisor."""

    async def main() -> None:
        with anyio.fail_after(PATIENCE_S):
            await call()

    with pytest.raises(WrongLoop) as refused:
        await anyio.to_thread.run_sync(asyncio.run, main())
    return str(refused.value)


async def test_a_call_from_another_loop_is_refused_at_once_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    async with team_on(path) as team:
        for call in (lambda: team.arun("x"), lambda: team.pause("a"), lambda: team.status("r1")):
            said = await refused_elsewhere(call)
            assert said == (
                "supervisor 'team' is in use from the event loop of thread 'MainThread' and cannot be called from"
                " another; hand the call to that loop with asyncio.run_coroutine_threadsafe,"
                f" or use DynamicSupervisor.attach({str(path)!r}) here"
            )
        with pytest.raises(WrongLoop):
            await anyio.to_thread.run_sync(team.agent_specs.append, AgentSpec(name="b", run=shout))
        assert str(await team.arun("x")) == "X" + LONG


async def test_a_call_that_is_handed_to_the_loop_of_the_team_works_from_any_thread() -> None:
    loop = asyncio.get_running_loop()
    async with DynamicSupervisor("team", agent_specs=[AgentSpec(name="a", run=shout)]) as team:

        def in_a_thread() -> str:
            return str(asyncio.run_coroutine_threadsafe(team.arun("x"), loop).result(PATIENCE_S))

        assert await anyio.to_thread.run_sync(in_a_thread) == "X" + LONG


async def test_threads_that_use_a_team_one_after_the_other_all_work() -> None:
    team = DynamicSupervisor("team", agent_specs=[AgentSpec(name="a", run=shout)])

    for text in ("x", "y"):
        assert str(await anyio.to_thread.run_sync(asyncio.run, team.arun(text))) == text.upper() + LONG


async def test_threads_that_use_a_team_at_the_same_moment_work_or_are_refused_and_never_hang() -> None:
    team = DynamicSupervisor("team", agent_specs=[AgentSpec(name="a", run=shout)])
    outcomes: list[str] = []
    ready = threading.Barrier(4)

    def in_a_thread() -> str:
        ready.wait(PATIENCE_S)
        try:
            return str(asyncio.run(team.arun("x")))
        except WrongLoop:
            return "refused"

    async def ask() -> None:
        outcomes.append(await anyio.to_thread.run_sync(in_a_thread))

    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as group:
            for _ in range(4):
                group.start_soon(ask)

    assert len(outcomes) == 4
    assert {"X" + LONG} <= set(outcomes) <= {"X" + LONG, "refused"}


async def test_an_attached_supervisor_in_use_from_one_loop_is_refused_to_another(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    go_on = anyio.Event()

    async def wait(text: str) -> str:
        await go_on.wait()
        return text

    async with DynamicSupervisor("team", agent_specs=[AgentSpec(name="a", run=wait)], store=path) as team:
        attached = DynamicSupervisor.attach(path)
        async with anyio.create_task_group() as group:
            group.start_soon(attached.arun, "x")
            with anyio.fail_after(PATIENCE_S):
                with team._engine.events() as events:
                    await anext(events)
            said = await refused_elsewhere(lambda: attached.arun("y"))
            go_on.set()

    assert said == (
        "the supervisor attached to team.db is in use from the event loop of thread 'MainThread' and cannot be called"
        f" from another; attach in each thread: DynamicSupervisor.attach({str(path)!r})"
    )


async def test_who_waits_is_told_when_the_engine_is_gone_and_goes_on_with_the_next(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    attached_run: list[BaseException] = []

    async def hang(text: str) -> str:
        await anyio.sleep_forever()
        return text

    async with anyio.create_task_group() as group:
        team = DynamicSupervisor("team", agent_specs=[AgentSpec(name="a", run=hang)], store=path)
        async with team:
            attached = DynamicSupervisor.attach(path)

            async def ask() -> None:
                try:
                    await attached.arun("x")
                except HostStopped as error:
                    attached_run.append(error)

            group.start_soon(ask)
            with anyio.fail_after(PATIENCE_S):
                with team._engine.events() as events:
                    async for _, event in events:
                        if event.type == "attempt_started":
                            break
    async with team_on(path):
        assert str(await attached.arun("again")) == "AGAIN" + LONG

    assert "no engine works on" in str(attached_run[0])


async def test_an_attached_supervisor_says_that_events_it_knows_are_lost_and_goes_on_with_the_file_as_it_is(
    tmp_path: Path,
) -> None:
    path = tmp_path / "team.db"
    async with team_on(path) as team:
        attached = DynamicSupervisor.attach(path)
        for _ in range(3):
            await team.arun("x")
        await attached.refresh()
    with closing(sqlite3.connect(path)) as other:
        other.execute("DELETE FROM journal WHERE seq > 12")
        other.execute("DELETE FROM snapshots WHERE seq > 12")
        other.commit()

    async with team_on(path) as team:
        with pytest.raises(ReadRowsLost, match="open it again"):
            await attached.refresh()
        await attached.refresh()

        assert attached._engine.state.seq == team._engine.state.seq


@pytest.mark.parametrize("has_asked", [False, True])
async def test_an_attached_supervisor_that_asked_nothing_meanwhile_says_that_events_it_knows_were_replaced(
    tmp_path: Path, *, has_asked: bool
) -> None:
    path = tmp_path / "team.db"
    async with team_on(path) as team:
        await team.arun("x")
        if not has_asked:
            await team.arun("x")
        attached = DynamicSupervisor.attach(path)
        if has_asked:
            await attached.arun("x")
    seq = attached._engine.state.seq
    with closing(sqlite3.connect(path)) as other:
        other.execute("DELETE FROM journal WHERE seq > 12")
        other.execute("DELETE FROM snapshots WHERE seq > 12")
        other.commit()

    async with team_on(path) as team:
        while team._engine.state.seq <= seq:
            await team.arun("y")
        with pytest.raises(ReadRowsLost, match="open it again"):
            await attached.refresh()
        await attached.refresh()

        assert encode_state(attached._engine.state) == encode_state(team._engine.state)


async def test_a_program_whose_loop_ends_while_it_waits_ends_without_a_traceback(tmp_path: Path) -> None:
    program = f"""
import asyncio
from quarterdeck import DynamicSupervisor
async def main():
    team = DynamicSupervisor.attach({str(tmp_path / "team.db")!r})
    await team.arun("first")
    waiting = [asyncio.create_task(team.arun(str(number))) for number in range(20)]
    question = asyncio.create_task(team.next_question())
    await asyncio.sleep(0)
asyncio.run(main())
print("over")
"""
    async with team_on(tmp_path / "team.db"):
        done = await anyio.to_thread.run_sync(
            lambda: subprocess.run(
                [sys.executable, "-P", "-c", program], capture_output=True, text=True, timeout=PATIENCE_S, check=False
            )
        )

    assert (done.returncode, done.stdout, done.stderr) == (0, "over\n", "")


async def test_the_file_stays_the_one_that_was_named_whatever_folder_the_program_goes_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    team = DynamicSupervisor("team", agent_specs=[AgentSpec(name="a", run=shout)], store="team.db")
    await team.arun("x")
    attached = DynamicSupervisor.attach("team.db")
    os.chdir(tmp_path / "elsewhere")

    await team.arun("y")
    assert (await attached.status("r2")).output == "Y" + LONG
    assert list((tmp_path / "elsewhere").iterdir()) == []


ONLY_OF_THE_PROGRAM = {"add_sub_supervisor", "agent_specs", "attach", "deserialize_state", "serialize_complete_state"}
"""What needs objects of the program, or its team at rest."""


def test_an_attached_supervisor_has_the_calls_of_the_program_that_has_the_team() -> None:
    ours, theirs = ({name for name in dir(kind) if name[0] != "_"} for kind in (DynamicSupervisor, AttachedSupervisor))

    assert ours - theirs == ONLY_OF_THE_PROGRAM


async def test_an_agent_is_added_from_the_registry_of_the_team_by_way_of_its_file(tmp_path: Path) -> None:
    registry = AgentRegistry()
    registry.register_agent(AgentSpec(name="spare", run=shout))

    async with DynamicSupervisor("team", agent_registry=registry, store=tmp_path / "team.db") as team:
        attached = DynamicSupervisor.attach(tmp_path / "team.db")
        await attached.add_agent_from_registry("spare", as_name="ada")
        assert str(await team.arun("hello")).startswith("HELLO")
