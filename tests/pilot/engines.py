"""A real engine in a process of its own, working for a small team."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from textual.pilot import Pilot

from store import Reader, StoreError
from tests.patience import PATIENCE_S

TEAM = """\
version: 1
supervisor: {name: desk, strategy: parallel, participants: [reader, counter], grace_s: 0.1}
agents:
  - {name: reader, run: "crew:read", specialties: [read]}
  - {name: counter, run: "crew:count", specialties: [count]}
  - {name: spare, run: "crew:count", specialties: [count], timeout_s: 7}
registry:
  - {name: reader-fast, run: "crew:read", specialties: [read], timeout_s: 5}
"""
CREW = """\
import anyio


async def read(text):
    if "slow" in text:
        await anyio.sleep_forever()
    return "read: " + text + "\\n" + "and so on, line after line\\n" * 20


async def count(text):
    return {"words": len(text.split())}
"""


@pytest.fixture
def messages_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let an outcome be waited for, and a message stand, as long as a test waits: a busy machine needs the time."""
    monkeypatch.setattr("dashboard.deck.commands.PATIENCE_S", PATIENCE_S)
    monkeypatch.setattr("dashboard.deck.messages.SHOWN_MS", round(PATIENCE_S * 1000))


@pytest.fixture
def engine(messages_stay: None, tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Start an engine on `tmp_path / "team.db"` and wait until it has loaded its team."""
    (tmp_path / "crew.py").write_text(CREW, encoding="utf-8")
    (tmp_path / "team.yaml").write_text(TEAM, encoding="utf-8")
    command = [sys.executable, "-P", "-m", "dashboard", "engine", "--team", str(tmp_path / "team.yaml"), "--trust"]
    log = (tmp_path / "engine.log").open("wb")
    process = subprocess.Popen([*command, "--db", str(tmp_path / "team.db")], stdout=log, stderr=log)
    try:
        _await_team(tmp_path, process)
        yield process
    finally:
        process.kill()
        process.wait()
        log.close()


def _await_team(folder: Path, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with Reader(folder / "team.db") as reader:
                if reader.records(0, 1, kinds=["command_applied"]):
                    return
        except StoreError:
            pass
        time.sleep(0.05)
    raise AssertionError((folder / "engine.log").read_text(encoding="utf-8"))


async def until(pilot: Pilot[int], condition: Callable[[], object]) -> None:
    """Let the app work until something is so."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            screen = pilot.app.screen
            shown = "\n".join(line.text for line in screen._compositor.render_strips())
            raise AssertionError(f"never came about on {screen!r}, which shows\n{shown}")
        await pilot.pause(0.03)
