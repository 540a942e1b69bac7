"""Programs that never outlive the engine that started them, however it ends."""

import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from subprocess import Popen

import anyio
import pytest

from engine.children.child import Child
from engine.runtimes.programs.external_programs import NotStarted, Programs
from tests.patience import PATIENCE_S
from tests.runtime.engines import soon

pytestmark = pytest.mark.anyio

ENV = {"PATH": os.environ["PATH"]}
HERE = Path(__file__).parent

STARTS = """
import anyio, os, signal, sys
from pathlib import Path
from engine.runtimes.programs.external_programs import Programs

async def main():
    watched = Programs()
    loop = "trap '' INT TERM HUP; while :; do sleep 1000 & wait; done"
    programs = [await watched.start(["sh", "-c", loop], env=dict(os.environ), cwd=Path("/")) for _ in range(3)]
    ended = await watched.start(["true"], env=dict(os.environ), cwd=Path("/"))
    await ended.exited.wait()
    print(*(program.pid for program in programs), flush=True)
    await anyio.sleep_forever()

anyio.run(main)
"""
"""Starts three programs that ignore what can be ignored, each with a child, and one that has ended."""


@asynccontextmanager
async def at_work(*argv: str, cwd: Path = HERE) -> AsyncIterator[Child]:
    """Run a program."""
    watched = Programs()
    try:
        yield await watched.start(argv, env=ENV, cwd=cwd)
    finally:
        await watched.close()


def is_there(group: int) -> bool:
    """Return whether a process of the group is at work; one that nobody has taken note of has ended."""
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = entry.read_text().rpartition(")")[2].split()
            if int(fields[2]) == group and fields[0] != "Z":
                return True
    return False


def groups_below(pid: int) -> list[int]:
    """Return the groups that children of a process lead."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = entry.read_text().rpartition(")")[2].split()
            if int(fields[1]) == pid and int(fields[2]) == int(entry.parent.name):
                found.append(int(fields[2]))
    return found


def children() -> set[str]:
    """Return the processes that this one has started."""
    return {pid for each in Path("/proc/self/task").glob("*/children") for pid in each.read_text().split()}


async def gone(*groups: int) -> None:
    """Return once nothing of these groups is at work."""

    async def look() -> bool:
        return not any(is_there(group) for group in groups)

    await soon(look)


async def test_a_program_gets_its_input_whole_and_its_output_is_read_to_the_end() -> None:
    async with at_work("cat") as program:
        await program.send(b"one\n\ntwo")
        program.close_input()
        with anyio.fail_after(PATIENCE_S):
            await program.exited.wait()
            said = await program.stdout.read()

        assert (said, program.returncode) == (b"one\n\ntwo", 0)


async def test_its_standard_input_can_be_opened_by_its_name() -> None:
    async with at_work("cat", "/dev/stdin") as program:
        await program.send(b"one")
        program.close_input()

        assert await program.stdout.read() == b"one"


async def test_its_environment_is_what_it_was_given() -> None:
    async with at_work("env") as program:
        said = (await program.stdout.read()).decode().split()

    assert {line.partition("=")[0] for line in said} - {"PWD", "_", "SHLVL", "OLDPWD"} == {"PATH"}


async def test_what_it_leaves_behind_in_its_group_ends_with_it() -> None:
    async with at_work("sh", "-c", "sleep 1000 & exit 3") as program:
        with anyio.fail_after(PATIENCE_S):
            await program.exited.wait()
        assert program.returncode == 3

        await gone(program.pid)


async def test_letting_go_of_all_programs_ends_them_and_the_watcher() -> None:
    watched = Programs()
    program = await watched.start(["sh", "-c", "trap '' INT TERM; sleep 1000"], env=ENV, cwd=HERE)
    before = children()

    await watched.close()

    assert program.returncode == -signal.SIGKILL
    assert len(before - children()) == 2


async def test_a_killed_engine_takes_every_group_with_it(started: Callable[..., "Popen[str]"]) -> None:
    engine = started(STARTS)
    assert engine.stdout is not None
    groups = [int(pid) for pid in engine.stdout.readline().split()]
    assert all(is_there(group) for group in groups)

    os.kill(engine.pid, signal.SIGKILL)

    await gone(*groups)


async def test_programs_are_watched_again_when_the_watcher_was_killed(started: Callable[..., "Popen[str]"]) -> None:
    killing = STARTS.replace(
        "    ended =",
        "    os.kill(watched._watcher.pid, signal.SIGKILL)\n    await watched._watcher.exited.wait()\n    ended =",
    )
    engine = started(killing)
    assert engine.stdout is not None
    groups = [int(pid) for pid in engine.stdout.readline().split()]

    os.kill(engine.pid, signal.SIGKILL)

    await gone(*groups)


@pytest.mark.parametrize(
    ("argv", "cwd", "said"),
    [
        (["true", "a\0b"], HERE, "an argument has a NUL character"),
        (["true"], Path("/nowhere"), "cannot be started in /nowhere: there is no such folder"),
        (["true", "x" * 200_000], HERE, "Argument list too long"),
    ],
)
async def test_what_cannot_be_started_is_said_in_one_line(argv: list[str], cwd: Path, said: str) -> None:
    if "long" in said and sys.platform != "linux":
        pytest.skip("the length of one argument is bounded on Linux")

    with pytest.raises(NotStarted, match=said):
        async with at_work(*argv, cwd=cwd):
            pass
