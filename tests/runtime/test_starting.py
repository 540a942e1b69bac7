"""An engine that is starting says that it works, so that a slow one is waited for and a stuck one is not."""

import os
import selectors
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from dashboard.engines.process import Announcer, Detached, EngineDidNotStart, wait_until_up
from tests.patience import PATIENCE_S


def begun(program: str, folder: Path) -> tuple[Detached, int]:
    """Start a program in the place of an engine; `out` is its end of the pipe, the other one is returned."""
    ready, out = os.pipe()
    process = subprocess.Popen([sys.executable, "-c", f"import os, sys; out = {out}; {program}"], pass_fds=[out])
    os.close(out)
    return Detached(process, folder / "team.db", folder / "team.db.log"), ready


def test_an_engine_that_computes_says_so_and_is_heard_when_it_is_up() -> None:
    ready, out = os.pipe()
    announcer = Announcer(out)
    until_s = time.monotonic() + PATIENCE_S
    with selectors.DefaultSelector() as selector:
        selector.register(ready, selectors.EVENT_READ)
        while not selector.select(0) and time.monotonic() < until_s:
            sum(range(10_000))
    announcer.up()
    words = os.read(ready, 1_000)
    os.close(ready)

    assert words.startswith(b".")
    assert words.endswith(b"up\n")


def test_one_that_said_that_it_works_is_up_once_it_says_so(tmp_path: Path) -> None:
    engine, ready = begun("os.write(out, b'...'); os.write(out, b'..up\\n')", tmp_path)

    wait_until_up(engine, ready)
    assert engine.process.wait() == 0


@pytest.mark.parametrize("program", ["os.write(out, b'.'); import signal; signal.pause()", "os.write(out, b'..')"])
def test_one_that_stands_still_or_ends_before_it_is_up_did_not_start(program: str, tmp_path: Path) -> None:
    engine, ready = begun(program, tmp_path)

    with pytest.raises(EngineDidNotStart):
        wait_until_up(engine, ready, quiet_s=2.0)

    assert engine.process.poll() is not None


@pytest.mark.parametrize(("free", "reason"), [(0, "no space is left in {folder}"), (10**9, "it said nothing")])
def test_one_whose_log_cannot_be_written_is_told_as_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, reason: str
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=free))

    with pytest.raises(
        EngineDidNotStart, match=f"the engine did not start: {reason.format(folder=tmp_path)}; its log: "
    ):
        wait_until_up(*begun("pass", tmp_path))
