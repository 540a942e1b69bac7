"""The dashboard at a real terminal: its size, and signals from elsewhere."""

import os
import pty
import select
import signal
import subprocess
import sys
import termios
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import anyio
import pytest

from engine.core.specs.spec import AgentSpec
from engine.supervisor.dynamic import DynamicSupervisor
from tests.databases import busy_world, write_database
from tests.patience import PATIENCE_S

LEAVES_ALTERNATE_SCREEN = b"\x1b[?1049l"


def read_until(controller: int, holds: bytes) -> bytes:
    shown = b""
    while holds not in shown:
        assert select.select([controller], [], [], PATIENCE_S)[0], shown[-300:]
        shown += os.read(controller, 65_536)
    return shown


@contextmanager
def dashboard_at_a_terminal(
    folder: Path, *before: str, size: tuple[int, int] = (30, 100), **variables: str
) -> Iterator[tuple["subprocess.Popen[bytes]", int, int]]:
    """Yield a dashboard in a terminal of 100 columns or another size, the other end of that terminal, and the terminal.

    What stands `before` its command runs it, and is yielded in its place.
    """
    database = write_database(folder / "team.db", busy_world().journal)
    controller, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, size)
    process = subprocess.Popen(
        [*before, sys.executable, "-P", "-m", "dashboard", "--db", str(database)], stdin=terminal, stdout=terminal,
        stderr=terminal, start_new_session=True, env=os.environ | {"TERM": "xterm-256color"} | variables,
    )  # fmt: skip
    try:
        yield process, controller, terminal
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        os.close(controller)
        os.close(terminal)


def test_a_dashboard_that_is_told_to_end_gives_the_terminal_back(tmp_path: Path) -> None:
    with dashboard_at_a_terminal(tmp_path) as (process, controller, terminal):
        read_until(controller, b"QUARTERDECK")
        process.send_signal(signal.SIGTERM)
        read_until(controller, LEAVES_ALTERNATE_SCREEN)

        assert process.wait(PATIENCE_S) == 128 + signal.SIGTERM
        assert termios.tcgetattr(terminal)[3] & termios.ECHO


def test_the_size_of_the_terminal_counts_and_not_what_the_shell_exports(tmp_path: Path) -> None:
    with dashboard_at_a_terminal(tmp_path, COLUMNS="20", LINES="5") as (_, controller, _):
        read_until(controller, b"Agents")  # the last tab, whose name stands there from 100 columns


@pytest.mark.parametrize("size", [(0, 0), (0, 80)])
def test_a_terminal_that_tells_no_size_gets_one_and_can_be_left(tmp_path: Path, size: tuple[int, int]) -> None:
    with dashboard_at_a_terminal(tmp_path, size=size) as (process, controller, _):
        read_until(controller, b"QUARTERDECK")
        process.send_signal(signal.SIGTERM)
        read_until(controller, LEAVES_ALTERNATE_SCREEN)

        assert process.wait(PATIENCE_S) == 128 + signal.SIGTERM


@pytest.mark.parametrize("term", ["dumb", "unknown"])
def test_nothing_is_drawn_on_a_terminal_without_a_cursor(tmp_path: Path, term: str) -> None:
    with dashboard_at_a_terminal(tmp_path, TERM=term) as (process, controller, _):
        assert process.wait(PATIENCE_S) == 2
        shown = read_until(controller, b"\n").decode()

    reason = f"nothing can be drawn on a terminal of TERM={term} (team chief)"
    assert shown == f"quarterdeck: {reason}; look with: quarterdeck ps --db {tmp_path / 'team.db'}\r\n"


def test_a_dashboard_ends_with_its_terminal_also_where_another_process_leads_the_session(tmp_path: Path) -> None:
    with dashboard_at_a_terminal(tmp_path) as (process, controller, _), Path(os.devnull).open() as nothing:
        read_until(controller, b"QUARTERDECK")
        os.dup2(nothing.fileno(), controller)  # the terminal hangs up; it is not the one of the session, so no SIGHUP

        assert process.wait(PATIENCE_S) == 128 + signal.SIGHUP


def test_ctrl_z_stops_also_what_the_dashboard_was_started_by_until_both_go_on(tmp_path: Path) -> None:
    waits = (sys.executable, "-c", "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))")  # as make does
    with dashboard_at_a_terminal(tmp_path, *waits) as (process, controller, terminal):
        read_until(controller, b"Agents")
        os.write(controller, b"\x1a")
        read_until(controller, LEAVES_ALTERNATE_SCREEN)
        assert os.WIFSTOPPED(status_of(process.pid))
        assert termios.tcgetattr(terminal)[3] & termios.ECHO

        os.killpg(process.pid, signal.SIGCONT)
        read_until(controller, b"Agents")
        os.write(controller, b"q")
        read_until(controller, LEAVES_ALTERNATE_SCREEN)
        assert process.wait(PATIENCE_S) == 0


def status_of(pid: int) -> int:
    """Return the status of a child once it stops or ends."""
    return ThreadPoolExecutor(1).submit(os.waitpid, pid, os.WUNTRACED).result(PATIENCE_S)[1]


@pytest.mark.anyio
async def test_a_wrong_place_is_said_in_one_line_also_where_the_team_runs(tmp_path: Path) -> None:
    database = tmp_path / "team.db"
    async with DynamicSupervisor(name="desk", agent_specs=[AgentSpec(name="ada", run=str)], store=database):
        told = await anyio.run_process(
            [sys.executable, "-P", "-m", "dashboard", "--db", str(database), "--open", "nosuch"],
            stderr=subprocess.STDOUT, check=False, env=os.environ | {"TEXTUAL_DRIVER": "one:Driver"},
        )  # fmt: skip

    assert told.returncode == 2
    assert told.stdout.decode().startswith("quarterdeck: there is no screen 'nosuch'; there are network, ")
    assert told.stdout.count(b"\n") == 1
