"""The journal says who gave each command; nothing that a sender claims acts on a terminal that shows it."""

import os
import pwd
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from dashboard.cli import main
from engine.core.commands import Pause
from engine.core.events import CommandApplied
from engine.platform.sender import sender_of
from engine.reading.folding import events_of
from engine.supervisor.client import Client
from quarterdeck import AgentSpec, DynamicSupervisor
from store import Reader

pytestmark = pytest.mark.anyio
ME = f"{pwd.getpwuid(os.getuid()).pw_name}@{os.uname().nodename}:{os.getpid()}"


async def shout(text: str) -> str:
    return text.upper()


def senders(path: Path) -> dict[str, str]:
    """Return who sent each command, by what it came to."""
    with Reader(path) as reader:
        events = events_of(reader.records(0, 10_000))
    return {event.summary: event.sender for event in events if isinstance(event, CommandApplied)}


async def test_programs_and_the_command_line_are_named_by_user_computer_process_and_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["/home/ann/crew.py", "--fast"])
    path = tmp_path / "team.db"
    team = DynamicSupervisor("team", agent_specs=[AgentSpec(name="a", run=shout)], store=path)
    await team.arun("at rest")
    async with team:
        await team.arun("inside")
        await DynamicSupervisor.attach(path).arun("from outside")
        await anyio.to_thread.run_sync(main, ["pause", "a", "--db", str(path)])

    found = senders(path)
    assert [found[f"submitted r{number} to team"] for number in (1, 2, 3)] == [f"{ME} python crew.py"] * 3
    assert found["paused a"] == f"{ME} quarterdeck pause"
    capsys.readouterr()
    main(["events", "--since", "0", "--db", str(path)])
    shown = capsys.readouterr().out
    assert f"{ME} quarterdeck pause: paused a" in shown
    assert f"{ME} python crew.py: submitted r2 to team" in shown


async def test_a_sender_is_a_claim_that_does_nothing_to_the_terminal_that_shows_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "team.db"
    team = DynamicSupervisor("team", agent_specs=[AgentSpec(name="a", run=shout)], store=path)
    async with team:
        await team.arun("first")
        client = Client(path, sender="eve\x1b[2J\u202e\nroot@box")
        await anyio.to_thread.run_sync(client.perform, Pause(target="a"))

    main(["events", "--since", "0", "--db", str(path)])

    shown = capsys.readouterr().out
    assert "eve\\x1b[2J\\u202e\\nroot@box: paused a" in shown
    assert all(line.isprintable() for line in shown.splitlines())


def test_a_program_without_a_name_and_one_whose_name_is_no_text_can_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", [""])
    assert sender_of() == f"{ME} python"
    monkeypatch.setattr("sys.argv", ["/bin/\udcff.py"])
    assert sender_of().encode()
