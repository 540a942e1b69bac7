"""What the lists of a shell say of times."""

from pathlib import Path

import pytest

from engine.core.commands import Submit
from tests.databases import write_database
from tests.runtime.shell import shell_on
from tests.world import agent, team_world


def test_what_began_on_another_day_stands_there_with_its_date(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world = team_world(agent("ada"))
    world.now_ms = 1_763_720_671_000
    world.order(Submit(request="go"))
    run = shell_on(write_database(tmp_path / "team.db", world.journal), capsys)

    assert "  2025-11-21 " in run("runs")[1]
