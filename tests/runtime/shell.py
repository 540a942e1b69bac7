"""A team at work in an engine of its own, and subcommands as a shell would run them on it."""

import os
import pty
import select
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dashboard.cli import main
from dashboard.cli.trust import allow, assign
from dashboard.engines.process import Detached, start_engine
from engine.core.state import State
from engine.reading.folding import fold_file
from engine.supervisor.client import Client
from engine.teamfile import read_team
from engine.teamfile.code import TeamCode
from store import Tail
from tests.patience import PATIENCE_S

Run = Callable[..., tuple[int, str, str]]
"""Runs a subcommand: its exit status, what it wrote to stdout and to stderr."""


@contextmanager
def team_at_work(folder: Path, team: str, hands: str) -> Iterator[Detached]:
    """Start an engine in a folder with a team file and the module `hands` that it names; it ends with the block."""
    (folder / "team.yaml").write_text(team)
    (folder / "hands.py").write_text(hands)
    engine = start_engine(folder / "team.db", folder=folder, bound=True)
    try:
        client = Client(engine.db)
        file = read_team(folder / "team.yaml")
        allow(TeamCode(file))
        assign(file, engine.db)
        assert client.perform(file.load_command()).status == "applied"
        yield engine
    finally:
        engine.end()


def shell_on(database: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Return what runs subcommands on a database, or on another that is named."""

    def run(*words: object, db: Path = database) -> tuple[int, str, str]:
        status = main([*map(str, words), "--db", str(db)])
        out, err = capsys.readouterr()
        return status, out, err

    return run


def until(db: Path, holds: Callable[[State], bool]) -> State:
    """Return the state once it is as it should be, or fail after a minute: on a busy machine a start takes long."""
    stop = threading.Event()
    timer = threading.Timer(PATIENCE_S, stop.set)
    timer.start()
    try:
        if holds(state := fold_file(db)):
            return state
        for _ in Tail(db, state.seq).batches(stop):
            if holds(state := fold_file(db)):
                return state
        raise AssertionError([(task.id, task.status, task.error) for task in state.tasks.values()])
    finally:
        stop.set()
        timer.cancel()


def at_a_terminal(folder: Path, answers: str, *words: str, **variables: str) -> tuple[int, str]:
    """Run a command at a terminal of its own: its exit status, and what was seen.

    Args:
        folder: Where it runs.
        answers: A letter for each question that it asks.
        words: The command line.
        variables: Of its environment, besides those of this process.
    """
    controller, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "dashboard", *words], cwd=folder, stdin=terminal, stdout=terminal,
        stderr=terminal, start_new_session=True, env=os.environ | variables,
    )  # fmt: skip
    os.close(terminal)
    left, shown = list(answers), b""
    try:
        while select.select([controller], [], [], PATIENCE_S)[0]:
            try:
                more = os.read(controller, 4096)
            except OSError:  # the other end was closed
                break
            shown += more
            if shown.endswith(b"[y/N]: "):
                os.write(controller, f"{left.pop(0)}\n".encode())
        return process.wait(PATIENCE_S), shown.decode().replace("\r\n", "\n")
    finally:
        process.kill()
        process.wait()
        os.close(controller)
