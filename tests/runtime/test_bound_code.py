"""Code that only the program has that made the team: after its death nothing fails; it goes on when it runs again."""

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from dashboard.engines.process import start_engine
from engine.core.commands import Ping
from engine.core.events import AgentBroke, AttemptFailed, AttemptStarted, Event, StepRecorded
from engine.core.queries.team.able import AWAY
from engine.core.state import AgentStatus
from engine.reading.folding import events_of, fold_file
from engine.supervisor.client import Client
from store import Reader
from tests.patience import PATIENCE_S
from tests.runtime.shell import shell_on, until

PROGRAM = """
import pathlib, sys, anyio
from quarterdeck import AgentSpec, DynamicSupervisor, Limits, Retry

async def work(task, ctx):
    await ctx.step("once", print, "stepped")
    if not pathlib.Path("go").exists():
        await anyio.sleep_forever()
    return f"finished {task.text}"

async def after(text):
    return f"after {text}"

async def main():
    team = DynamicSupervisor(
        "crew",
        agent_specs=[
            AgentSpec(name="first", run=work, on_failure=[Retry(1)]),
            AgentSpec(name="second", run=after),
        ],
        store="team.db",
    )
    async with team:
        run_ids = list(team._state.runs) or [await team.submit("it")]
        for run_id in run_ids:
            print(await team.wait(run_id), flush=True)
anyio.run(main)
"""


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Callable[[], "subprocess.Popen[str]"]]:
    """Run the program on `team.db`, in a process of its own."""
    with ExitStack() as stack:

        def start() -> "subprocess.Popen[str]":
            process = subprocess.Popen(
                [sys.executable, "-P", "-W", "error", "-c", PROGRAM],
                cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            )  # fmt: skip
            stack.enter_context(process)
            stack.callback(process.kill)
            return process

        yield start


def killed_at_work(program: Callable[[], "subprocess.Popen[str]"], folder: Path) -> Path:
    """Run the program until its first agent has recorded a step, and kill it; return its file."""
    process, path = program(), folder / "team.db"
    assert process.stdout is not None
    assert process.stdout.readline() == "stepped\n"
    until(path, lambda state: any(task.steps for task in state.tasks.values()))
    process.send_signal(signal.SIGKILL)
    process.wait(PATIENCE_S)
    return path


def journal(path: Path) -> list[Event]:
    with Reader(path) as reader:
        return events_of(reader.records(0, 10_000))


def goes_on(program: Callable[[], "subprocess.Popen[str]"], folder: Path) -> list[Event]:
    """Run the program again, now that its work can end; return what the journal says then."""
    (folder / "go").touch()
    out, err = program().communicate(timeout=PATIENCE_S)
    assert (out, err) == ("after finished it\n", "")
    return journal(folder / "team.db")


def test_no_other_engine_takes_the_team_over_and_the_program_goes_on_where_it_was(
    program: Callable[[], "subprocess.Popen[str]"], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = killed_at_work(program, tmp_path)
    before = journal(path)
    run = shell_on(path, capsys)

    for words in (["engine"], ["engine", "--standby"], ["run", "more"], ["pause", "first"]):
        status, _, err = run(*words)
        assert status in (3, 4)
        assert "first and second call code of the program that made this team: run that program again" in err

    assert journal(path) == before
    assert "suspended" in run("runs")[1]
    events = goes_on(program, tmp_path)
    assert [event for event in events if isinstance(event, AttemptFailed | AgentBroke)] == []
    assert sum(isinstance(event, StepRecorded) and event.name == "once" for event in events) == 1


def test_an_engine_that_begins_without_the_code_lets_its_work_wait_and_spends_nothing_of_it(
    program: Callable[[], "subprocess.Popen[str]"], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = killed_at_work(program, tmp_path)
    run = shell_on(path, capsys)
    engine = start_engine(path, "--without-code", bound=True)
    try:
        client = Client(path)
        assert client.perform(Ping()).status == "applied"
        state = fold_file(path)
        _, tasks, _ = run("tasks")
        _, agents, _ = run("agents")
    finally:
        engine.end()

    assert state.agents.keys() == {"a1", "a2"}
    assert all(agent.away and agent.error is None for agent in state.agents.values())
    assert {agent.status for agent in state.agents.values()} == {AgentStatus.PAUSED}
    assert AWAY in tasks
    assert AWAY in agents
    events = goes_on(program, tmp_path)
    assert [event for event in events if isinstance(event, AttemptFailed | AgentBroke)] == []
    assert [event.attempt for event in events if isinstance(event, AttemptStarted) and event.agent_id == "a1"] == [1, 2]


def test_the_program_itself_finds_all_of_its_agents_back_at_once(
    program: Callable[[], "subprocess.Popen[str]"], tmp_path: Path
) -> None:
    killed_at_work(program, tmp_path)

    goes_on(program, tmp_path)

    state = fold_file(tmp_path / "team.db")
    assert not any(agent.away or agent.error for agent in state.agents.values())
