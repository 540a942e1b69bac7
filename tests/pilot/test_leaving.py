"""Pages and dialogs that are left before what they asked for has been read."""

import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.screen import Screen

import dashboard.app.app
from dashboard.app.app import QuarterdeckApp
from dashboard.app.palette import Palette
from dashboard.app.running import DashboardOptions
from dashboard.dialogs.engine import LeaveDialog
from dashboard.dialogs.files import ImportDialog
from dashboard.pages.task import TaskScreen
from dashboard.user.habits import Habits
from dashboard.user.settings import Settings
from dashboard.views.event_log import Entry
from dashboard.views.view_state import ViewState
from dashboard.widgets.pane import Pane
from store import Reader
from tests.patience import PATIENCE_S
from tests.pilot.engines import until
from tests.pilot.scene import NOW_MS, StillFeed, audit, written

pytestmark = pytest.mark.anyio
SIZE = (100, 30)


class SlowPage(TaskScreen):
    """A task whose events are read no sooner than the test says."""

    def __init__(self, task_id: str) -> None:
        super().__init__(task_id)
        self.begun, self.go_on = threading.Event(), threading.Event()

    def read(self, reader: Reader, view: ViewState) -> list[Entry]:
        self.begun.set()
        assert self.go_on.wait(PATIENCE_S)
        return super().read(reader, view)


def asking(folder: Path) -> QuarterdeckApp:
    """Return the dashboard of a team whose engine this program started."""
    work = audit()
    feed = StillFeed(folder / "team.db", work)
    return QuarterdeckApp(folder / "team.db", ask_engine=True, feed=feed, clock=lambda: NOW_MS)


@pytest.fixture
def app(tmp_path: Path) -> QuarterdeckApp:
    work = audit()
    db = written(tmp_path / "team.db", work)
    return QuarterdeckApp(db, feed=StillFeed(db, work), clock=lambda: NOW_MS)


async def left(pilot: Pilot[int]) -> None:
    await pilot.press("escape")
    await pilot.pause()


async def test_a_page_may_be_left_while_its_events_are_read(app: QuarterdeckApp) -> None:
    page = SlowPage(next(iter(app.feed.state.tasks)))
    async with app.run_test(size=SIZE) as pilot:
        app.push_screen(page)
        await until(pilot, page.begun.is_set)
        await left(pilot)

        page.go_on.set()
        await app.workers.wait_for_complete()

        assert app.is_running
        assert app.screen is not page


async def test_an_import_may_be_left_while_its_archive_is_looked_into(app: QuarterdeckApp, tmp_path: Path) -> None:
    dialog = ImportDialog(tmp_path / "team.db", "")
    async with app.run_test(size=SIZE) as pilot:
        app.push_screen(dialog)
        await pilot.pause()
        await left(pilot)

        dialog._show("", "no archive")

        assert app.is_running


async def test_leaving_before_the_first_screen_is_there_asks_nothing_that_nobody_would_see(tmp_path: Path) -> None:
    app = asking(tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await app.push_screen(Screen())  # as it is while the app starts
        await pilot.press("ctrl+q")
        await until(pilot, lambda: not app.is_running)

    assert app.return_value == 0


async def test_leaving_asks_about_the_engine_also_after_another_database_was_shown(
    engine: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    opening = DashboardOptions(
        db=tmp_path / "other.db", ask_engine=True, tips=True, settings=Settings(), habits=Habits()
    )
    app = opening.app(tmp_path / "team.db")
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.feed.engine is not None and app.feed.engine.alive)
        await pilot.press("q")
        await until(pilot, lambda: isinstance(app.screen, LeaveDialog))


@pytest.mark.usefixtures("app")  # which writes the file
async def test_leaving_from_the_past_asks_about_the_engine_and_the_runs_of_now(tmp_path: Path) -> None:
    app = asking(tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        engine, runs = app.feed.engine, len(app.feed.state.runs)
        assert engine is not None
        app.past.goto_seq(1)
        await until(pilot, lambda: app.view.past is not None and app.view.state.seq == 1)
        await pilot.press("q")
        await until(pilot, lambda: isinstance(app.screen, LeaveDialog) and app.screen.has_begun)
        assert f"engine {engine.pid} works on {runs} open runs" in app.screen.query_one("#details", Pane).text


async def test_leaving_asks_on_every_screen_and_the_second_time_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dashboard.app.app, "INTERRUPT_S", PATIENCE_S)
    app = asking(tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("n", "ctrl+c", "ctrl+c")
        await until(pilot, lambda: isinstance(app.screen, LeaveDialog))
        await pilot.press("ctrl+q")
        await until(pilot, lambda: not app.is_running)

    assert app.return_value == 0


@pytest.mark.parametrize("opened", [Palette, LeaveDialog])
async def test_what_opens_as_the_program_ends_is_no_defect(
    app: QuarterdeckApp, opened: Callable[[], Screen[Any]]
) -> None:
    async with app.run_test(size=SIZE):
        app.push_screen(opened())
        app.exit(3)

    assert app.return_value == 3


async def test_an_engine_that_cannot_be_asked_to_stop_is_one_line(
    app: QuarterdeckApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        said, say = list[str](), app.messages.say

        def kept(text: str, tone: str = "") -> None:  # a screen that finds the file gone says so in the same place
            said.append(text)
            say(text, tone)

        monkeypatch.setattr(app.messages, "say", kept)
        for path in app.path.parent.iterdir():
            path.unlink()
        app.commands.stop_engine(app.exit)
        await until(pilot, lambda: any(text.startswith("not stopped: ") for text in said))
        assert app.is_running
