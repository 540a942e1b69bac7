"""Function agents with `run_in="process"`: a child that runs them, dies with them, and is never in the way."""

import json
import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint

from engine import DynamicSupervisor, Unusable
from engine.core.commands import Cancel, Submit
from engine.core.scheduler.waiting import WaitReasons
from engine.core.specs.spec import AgentSpec, Retry
from engine.runtimes.functions.processes import CHECK_TRIES, Processes
from engine.trusted_code.references import Origin
from tests.patience import PATIENCE_S
from tests.runtime import crew_for_processes as crew
from tests.runtime.engines import Engine, Engines, Hurried, soon

pytestmark = pytest.mark.anyio


def agent(name: str, **fields: Any) -> AgentSpec:
    return AgentSpec(name=name, run=getattr(crew, name), run_in="process", **fields)


async def test_a_function_runs_in_a_process_of_its_own_that_is_used_again(engine: Engines) -> None:
    async with engine(agent("pid")) as running:
        first, second = await running.ask(), await running.ask()

    assert first != os.getpid()
    assert first == second


async def test_it_gets_the_value_as_it_was_given(engine: Engines) -> None:
    async def lead(task: Any, ctx: Any) -> Any:
        return await ctx.map("back", [{"files": ["a", "b"]}, [1, None], "text"])

    async with engine(AgentSpec(name="lead", run=lead), agent("back"), participants=["lead"]) as running:
        assert await running.ask() == [{"files": ["a", "b"]}, [1, None], "text"]


async def test_what_it_prints_or_starts_gets_into_no_answer(engine: Engines) -> None:
    async with engine(agent("prints")) as running:
        assert await running.ask() == "fine"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("leave", "exited with 3; it last said: about to leave"),
        ("crash", "was killed by SIGSEGV"),
        ("wrong", "wrong"),
        ("odd", "its text cannot be read (SystemExit)"),
        ("unwritable", "set"),
    ],
)
async def test_a_process_that_dies_or_raises_fails_the_attempt_and_the_next_one_works(
    engine: Engines, name: str, said: str
) -> None:
    async with engine(agent(name), name="first") as running:
        await running.hire(agent("shout"), name="second")

        assert said in await running.fails()
        assert await running.ask("a", supervisor="second") == "A"


async def test_a_failed_process_is_tried_again(engine: Engines) -> None:
    async with engine(agent("leave", on_failure=[Retry(retries=1, base_s=0.001)])) as running:
        await running.fails()

        assert len(await running.journal("attempt_failed")) == 2


async def at_work(running: Engine, folder: Path) -> tuple[str, list[int]]:
    """Begin a run and return it with its processes, once it shows progress."""
    run_id = await running.submit(str(folder))
    await soon(running.shown)
    pids = await anyio.Path(folder, "pids").read_text()
    return run_id, [int(pid) for pid in pids.split()]


async def gone(pids: list[int]) -> bool:
    """Return once all of them have ended."""

    async def none_is_there() -> bool:
        return not any(_is_there(pid) for pid in pids)

    return await soon(none_is_there)


def _is_there(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


async def test_what_its_process_uses_is_shown_while_it_works(engine: Engines, tmp_path: Path) -> None:
    async with engine(agent("until")) as running:
        file = tmp_path / "go"
        run_id = await running.submit(str(file))

        async def usage() -> str:
            return next((text for key, text in (await running.shown()).items() if key.startswith("process:")), "")

        used = json.loads(await soon(usage))
        file.touch()
        await running.ended(run_id)

        assert set(used) == {"pid", "cpu_s", "rss_bytes", "active_ms"}
        assert used["pid"] != os.getpid()
        assert not await usage()


async def test_a_time_limit_kills_the_process_with_what_it_started(engine: Engines, tmp_path: Path) -> None:
    clock = Hurried()
    async with engine(agent("long_work", timeout_s=3600), clock=clock) as running:
        run_id, pids = await at_work(running, tmp_path)
        clock.let_pass(3600)
        summary, _ = await running.ended(run_id)

        assert "time limit" in (summary.error or "")
        assert await gone(pids)
        assert running.state.agents["a1"].stuck == 0


async def test_cancelling_kills_the_process_after_its_grace(engine: Engines, tmp_path: Path) -> None:
    async with engine(agent("long_work"), host={"grace_s": 0.01}) as running:
        run_id, pids = await at_work(running, tmp_path)
        await running.host.order(Cancel(target=run_id))
        summary, _ = await running.ended(run_id)

        assert summary.status == "cancelled"
        assert await gone(pids)


async def test_an_engine_that_ends_leaves_no_process_behind(engine: Engines, tmp_path: Path) -> None:
    async with engine(agent("long_work")) as running:
        _, pids = await at_work(running, tmp_path)

    assert await gone(pids)


async def test_what_waits_for_a_process_is_not_at_work_and_the_most_urgent_gets_it_first(
    engine: Engines, tmp_path: Path
) -> None:
    files = {name: tmp_path / name for name in ("first", "later", "urgent")}

    async with engine(agent("until", timeout_s=60), host={"processes": 1}) as running:
        await running.hire(agent("until"), name="second")
        run_ids = []
        for name, supervisor, priority in (("first", "team", 5), ("later", "team", 5), ("urgent", "second", 1)):
            command = Submit(request=str(files[name]), supervisor=supervisor, priority=priority)
            run_ids.append(str((await running.host.order(command)).result["run_id"]))
        tasks = [task for task in running.state.tasks.values() if task.kind == "agent"]
        waits = [WaitReasons(running.state).wait_of(task) for task in tasks]
        at_work = [task.attempt is not None for task in tasks]
        for file in files.values():
            file.touch()
        for run_id in run_ids:
            await running.ended(run_id)
        begun = [record.run_id for record in await running.journal("attempt_started")]

    assert at_work == [True, False, False]
    assert [None if one is None else one.words for one in waits] == [
        None,
        "next in until's queue",
        "waits for a process slot: 1 of 1 in use",
    ]
    assert begun == [run_ids[0], run_ids[2], run_ids[1]]


async def test_progress_of_a_process_is_shown(engine: Engines, tmp_path: Path) -> None:
    async with engine(agent("long_work")) as running:
        await at_work(running, tmp_path)

        assert list(running.store.live.texts().values()) == ['{"done": 1, "total": 4, "note": "a quarter"}']


@pytest.mark.parametrize(("name", "said"), [("not_plain", "plain def"), ("of_three", "its function must take (text)")])
async def test_a_function_that_does_not_fit_a_process_puts_its_agent_in_error(
    engine: Engines, name: str, said: str
) -> None:
    async with engine(agent(name)) as running:
        await running.until(lambda state: said in (state.agents["a1"].error or ""))


async def test_a_function_that_only_this_process_knows_puts_its_agent_in_error(engine: Engines) -> None:
    async with engine(AgentSpec(name="bound", run=lambda text: text, run_in="process")) as running:
        await running.until(lambda state: "put it into a module" in (state.agents["a1"].error or ""))


async def test_a_module_of_the_team_s_folder_is_found_last(engine: Engines, tmp_path: Path) -> None:
    tmp_path.joinpath("my_crew.py").write_text("def hi(text):\n    return 'hi ' + text\n", encoding="utf-8")
    tmp_path.joinpath("json.py").write_text("raise RuntimeError('shadowed')\n", encoding="utf-8")
    spec = AgentSpec(name="hi", run="my_crew:hi", run_in="process")

    async with engine(spec, host={"folder": tmp_path}) as running:
        assert await running.ask("you") == "hi you"


KILLED = """
import os, pathlib, signal
beside = pathlib.Path(r"{folder}", "imports")
beside.open("a").write("x")
if len(beside.read_text()) <= {times}:
    os.kill(os.getpid(), signal.SIGKILL)
def hi(text):
    return "hi " + text
"""


@pytest.mark.parametrize(("times", "works"), [(CHECK_TRIES - 1, True), (CHECK_TRIES, False)])
async def test_an_agent_whose_process_is_killed_while_it_is_checked_is_checked_again(
    engine: Engines, tmp_path: Path, times: int, works: bool
) -> None:
    tmp_path.joinpath("killed.py").write_text(KILLED.format(folder=tmp_path, times=times), encoding="utf-8")
    spec = AgentSpec(name="hi", run="killed:hi", run_in="process")

    async with engine(spec, host={"folder": tmp_path}) as running:
        if works:
            assert await running.ask("you") == "hi you"
        else:
            await running.until(lambda state: "was killed by SIGKILL" in (state.agents["a1"].error or ""))


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="only Linux tells a process what it has started")
async def test_a_process_that_is_cancelled_while_it_begins_is_ended_too() -> None:
    before = _children()

    processes = Processes()
    for turns in range(8):
        async with anyio.create_task_group() as asking:
            asking.start_soon(processes.check, Origin("os:getcwd", None))
            for _ in range(turns):
                await checkpoint()
            asking.cancel_scope.cancel()

    assert _children() - before == set()


async def test_a_process_that_ended_while_it_was_idle_is_not_killed_by_its_id_which_may_be_given_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    killed: list[int] = []
    processes = Processes()
    pid = await processes.call(Origin("os:getpgid", None), 0, report=lambda *_: None)
    assert isinstance(pid, int)
    os.kill(pid, signal.SIGKILL)
    (worker,) = processes._all
    await worker.child.exited.wait()
    monkeypatch.setattr("os.killpg", lambda *said: killed.append(said))
    await processes.close()

    assert killed == []


def _children() -> set[str]:
    """Return what this process has started and that has not ended."""
    found: set[str] = set()
    for thread in Path("/proc/self/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread may end while it is looked at
            found.update((thread / "children").read_text().split())
    return found


@pytest.mark.parametrize(
    ("name", "says"),
    [
        (
            "of_three",
            "its function must take (text) or (text, ctx), not (text: str, ctx: Any, more: object) -> str",
        ),
        ("waits", "a function in a process is a plain def that returns its output"),
    ],
)
async def test_a_function_that_cannot_be_called_there_is_said_as_soon_as_a_program_declares_it(
    name: str, says: str
) -> None:
    team = DynamicSupervisor("team", agent_specs=[agent(name)])

    with anyio.fail_after(PATIENCE_S), pytest.raises(Unusable) as unusable:
        await team.arun("go")
    assert unusable.value.reason == f"agent {name!r}: {says}"

    async with DynamicSupervisor("team", agent_specs=[agent("shout")]) as working:
        with anyio.fail_after(PATIENCE_S), pytest.raises(Unusable):
            await working.add_agent(agent(name))
        assert str(await working.arun("go")) == "GO"


@pytest.mark.parametrize(
    ("reference", "says"),
    [
        ("json:nobody", f"{json.__file__} has no 'nobody'"),
        ("json:__doc__", f"'__doc__' of {json.__file__} cannot be called"),
    ],
    ids=["not there", "no function"],
)
async def test_a_reference_to_what_is_no_function_is_told_in_the_words_of_any_other_agent(
    reference: str, says: str
) -> None:
    team = DynamicSupervisor("team", agent_specs=[AgentSpec(name="ada", run=reference, run_in="process")])

    with anyio.fail_after(PATIENCE_S), pytest.raises(Unusable) as unusable:
        await team.arun("go")

    assert unusable.value.reason == f"{reference!r}: {says}"
