"""A supervisor on a file: found again by the next process, held by one at a time, changed from outside."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from engine import AgentSpec, Context, DynamicSupervisor, StoreBusy, Task, UnknownRun, Unusable
from engine.core.commands import Command, RemoveMember, SwitchStrategy
from engine.core.encoding.codec import encode_command
from store import CommandRow, InboxClient, MissingFolder
from tests.runtime.engines import soon

pytestmark = pytest.mark.anyio

SCRIPT = """
import sys, anyio
from engine import AgentSpec, DynamicSupervisor

begun = anyio.Event()
async def shout(text): return text.upper()
async def whisper(text): return text.lower()
async def step(task, ctx):
    await ctx.step("once", print, "stepped")
    begun.set()
    if sys.argv[2] == "hang": await ctx.sleep(3600)
    return "went on"

async def main():
    {body}
anyio.run(main)
"""


@pytest.fixture
def script(tmp_path: Path) -> Iterator[Callable[..., "subprocess.Popen[str]"]]:
    """Run a script of a user on the file of the test, in a process of its own."""
    with ExitStack() as stack:

        def run(body: str, *arguments: str) -> "subprocess.Popen[str]":
            program = SCRIPT.format(body=body.strip().replace("\n", "\n    "))
            process = subprocess.Popen(
                [sys.executable, "-P", "-W", "error", "-c", program, str(tmp_path / "team.db"), *arguments],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            stack.enter_context(process)
            stack.callback(process.kill)
            return process

        yield run


async def said(process: "subprocess.Popen[str]") -> list[str]:
    """Return what a script printed, when it has ended well."""
    out, err = await anyio.to_thread.run_sync(process.communicate)
    assert process.returncode == 0, err
    return out.splitlines()


def line_of(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def send(path: Path, id: str, command: Command) -> None:
    with InboxClient(path) as inbox:
        inbox.put(CommandRow(id, command.type, encode_command(command), "test", "operator", 0))


async def shout(text: str) -> str:
    return text.upper()


async def test_a_script_that_starts_again_finds_its_team_and_binds_its_code_again(script: Any) -> None:
    body = """
team = DynamicSupervisor("team", agent_specs=[AgentSpec(name="a", run=shout)], store=sys.argv[1])
print(await team.arun("x"), team.active_agents["a"].tasks, team.active_agents["a"].generation)
"""

    assert await said(script(body)) == ["X 1 1"]
    assert await said(script(body)) == ["X 2 1"]


async def test_what_a_script_says_anew_is_swapped_in_and_added(script: Any) -> None:
    first = """
team = DynamicSupervisor("team", agent_specs=[AgentSpec(name="a", run=shout)], store=sys.argv[1])
print(await team.arun("x"))
"""
    second = """
specs = [AgentSpec(name="a", run=whisper), AgentSpec(name="b", run=shout)]
team = DynamicSupervisor("team", agent_specs=specs, coordination_mode="parallel", store=sys.argv[1])
print(repr(str(await team.arun("Xy"))), team.active_agents["a"].generation)
"""

    assert await said(script(first)) == ["X"]
    assert await said(script(second)) == [repr("## a\n\nxy\n\n## b\n\nXY") + " 2"]


async def test_members_that_a_script_adds_while_it_runs_are_taken_over_as_well(script: Any) -> None:
    body = """
team = DynamicSupervisor("team", agent_specs=[AgentSpec(name="a", run=shout)], store=sys.argv[1])
team.agent_specs.append(AgentSpec(name="b", run=whisper))
await team.add_agent(AgentSpec(name="c", run=shout))
low = DynamicSupervisor("low", agent_specs=[AgentSpec(name="d", run=whisper)])
await team.add_sub_supervisor("low", low)
print(await team.arun("X"), *(view.generation for view in team.active_agents.values()), low.active_agents["d"].tasks)
"""

    assert await said(script(body)) == ["x 1 1 1 1"]
    assert await said(script(body)) == ["x 1 1 1 2"]


async def test_open_work_of_a_script_that_ended_goes_on_with_the_next(script: Any) -> None:
    body = """
team = DynamicSupervisor("team", agent_specs=[AgentSpec(name="a", run=step)], store=sys.argv[1])
async with team:
    if sys.argv[2] == "hang":
        await team.submit("x")
        await begun.wait()
    else:
        print(await team.wait("r1"))
"""

    assert await said(script(body, "hang")) == ["stepped"]
    assert await said(script(body, "go on")) == ["went on"]


async def test_a_second_script_on_a_file_is_told_who_holds_it(script: Any, tmp_path: Path) -> None:
    holder = script("""
async with DynamicSupervisor("team", store=sys.argv[1]):
    print("held", flush=True)
    await anyio.sleep_forever()
""")
    assert await anyio.to_thread.run_sync(line_of, holder) == "held"

    with pytest.raises(StoreBusy) as busy:
        await DynamicSupervisor("team", agent_specs=[AgentSpec(name="a", run=shout)], store=tmp_path / "team.db").arun(
            "x"
        )
    assert busy.value.pid == holder.pid


async def test_a_team_on_a_file_is_changed_from_outside_while_it_works(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    specs = [AgentSpec(name="a", run=shout), AgentSpec(name="b", run=shout)]
    async with DynamicSupervisor("team", agent_specs=specs, store=path) as team:
        send(path, "c1", SwitchStrategy(supervisor="team", mode="parallel"))
        send(path, "c2", RemoveMember(target="b"))

        async def removed() -> bool:
            return team.list_active_agents() == ["a"]

        await soon(removed)

        assert team.coordination_mode == "parallel"
        assert [spec.name for spec in team.agent_specs] == ["a"]


async def test_calls_without_a_block_open_and_let_go_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    team = DynamicSupervisor("team", agent_specs=[AgentSpec(name="a", run=shout)], store=path)
    await team.arun("x" * 500)
    await team.remove_agent("a")
    await team.add_agent(AgentSpec(name="b", run=shout))

    other = DynamicSupervisor("team", store=path)
    assert str(await other.add_agent(AgentSpec(name="c", run=shout)))
    assert (await team.status("r1")).output == "X" * 500
    assert other.list_active_agents() == ["b", "c"]


async def test_an_agent_that_an_earlier_process_left_and_nobody_says_again_cannot_work(
    script: Any, tmp_path: Path
) -> None:
    body = 'await DynamicSupervisor("team", agent_specs=[AgentSpec(name="a", run=shout)], store=sys.argv[1]).arun("x")'
    await said(script(body))
    team = DynamicSupervisor("team", store=tmp_path / "team.db")

    with pytest.raises(Unusable, match="its code is not of this program"):
        await team.arun("x")


async def test_a_file_that_cannot_be_is_said_by_the_first_call(tmp_path: Path) -> None:
    team = DynamicSupervisor("team", store=tmp_path / "nowhere" / "team.db")

    with pytest.raises(MissingFolder):
        await team.arun("x")


async def test_another_process_attaches_to_a_team_and_uses_it_without_its_code(script: Any, tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    watcher = """
team = DynamicSupervisor.attach(sys.argv[1])
print(team.name, team.list_active_agents(), await team.arun("x" * 200))
await team.pause("a")
print(team.active_agents["a"].status)
await team.resume("a")
await team.reconfigure_coordination({"mode": "parallel"})
print([event.kind async for event in team.stream("y")][-1])
print((await team.status("r1")).output == "X" * 200, team.get_supervision_metrics().tasks_done)
"""
    async with DynamicSupervisor("team", agent_specs=[AgentSpec(name="a", run=shout)], store=path) as team:
        lines = await said(script(watcher))

        assert team.coordination_mode == "parallel"
    assert lines == [f"team ['a'] {'X' * 200}", "paused", "completed", "True 2"]


async def test_an_attached_supervisor_is_refused_and_told_as_any_other(script: Any, tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    watcher = """
from engine import CommandRefusedError, NotInThisVersion, RunFailed, Unusable
team = DynamicSupervisor.attach(sys.argv[1])
for call in (
    lambda: team.remove_agent("nobody"),
    lambda: team.add_agent(AgentSpec(name="b", run=shout)),
    lambda: team.arun("fail"),
):
    try:
        await call()
    except (CommandRefusedError, Unusable, RunFailed) as error:
        print(type(error).__name__)
"""

    async def fail(text: str) -> str:
        raise ValueError(text)

    async with DynamicSupervisor("team", agent_specs=[AgentSpec(name="a", run=fail)], store=path):
        assert await said(script(watcher)) == ["CommandRefusedError", "Unusable", "RunFailed"]


async def test_attached_to_a_file_that_nobody_works_on_says_so(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    await DynamicSupervisor("team", agent_specs=[AgentSpec(name="a", run=shout)], store=path).arun("x")
    attached = DynamicSupervisor.attach(path)

    assert (await attached.status("r1")).output == "X"
    with pytest.raises(Exception, match="no engine works on"):
        await attached.arun("x")
    with pytest.raises(UnknownRun):
        await attached.status("r9")


async def test_a_step_in_a_file_backed_team_reports_its_folder(tmp_path: Path) -> None:
    async def where(task: Task, ctx: Context) -> str:
        return str(task.folder)

    team = DynamicSupervisor("team", agent_specs=[AgentSpec(name="a", run=where)], store=tmp_path / "team.db")

    assert str(await team.arun("x")) == str(Path.cwd())
