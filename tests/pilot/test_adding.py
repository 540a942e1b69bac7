"""Agents of a file, added in the dashboard: their code runs only where the operator says so."""

import json
import subprocess
from pathlib import Path

import pytest

from dashboard.app.app import QuarterdeckApp
from dashboard.dialogs.dialog import DialogText
from dashboard.frame.frame import Frame
from dashboard.frame.frame import perform as perform_line
from store import InboxClient
from tests.pilot.engines import until
from tests.pilot.hand import opened

pytestmark = pytest.mark.anyio


async def test_several_agents_of_a_file_are_added_in_its_order_as_one_change(tmp_path: Path) -> None:
    file = tmp_path / "more.yaml"
    file.write_text("".join(f"- {{name: new{one}, type: scripted}}\n" for one in range(9)))
    async with opened(tmp_path) as hand:
        await hand.press("colon", *f"add {file}", "enter")

        with InboxClient(hand.app.path) as inbox:
            (sent,) = [json.loads(row.body) for row in inbox.pending()]
        assert [one["name"] for one in (sent["spec"], *sent["also"])] == [f"new{one}" for one in range(9)]
        assert hand.said.startswith("queued: add agent")


async def test_the_code_of_an_added_file_is_named_and_runs_only_after_a_yes(
    engine: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    file = tmp_path / "more.yaml"
    file.write_text('name: newcomer\nrun: "crew:newcomer"\n')
    app = QuarterdeckApp(tmp_path / "team.db")

    def names() -> set[str]:
        return {agent.name for agent in app.feed.state.agents.values()}

    def perform(line: str) -> None:
        assert isinstance(app.screen, Frame)
        perform_line(app.screen, line)

    async with app.run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: len(names()) == 3)

        perform(f"add {file}")
        await until(pilot, lambda: bool(app.screen.query(DialogText)))
        assert "crew:newcomer" in app.screen.query_one("#details", DialogText).text
        await pilot.press("escape")
        assert "newcomer" not in names()

        perform(f"add {file}")
        await until(pilot, lambda: bool(app.screen.query(DialogText)))
        await pilot.press("enter")
        await until(pilot, lambda: "newcomer" in names())
