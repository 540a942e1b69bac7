"""The dashboard and a real engine in another process: what a person does, and what they are told."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from dashboard.app.app import QuarterdeckApp
from dashboard.dialogs.dialog import DialogText
from dashboard.dialogs.engine import EngineDialog, LeadingDialog
from dashboard.dialogs.swap import SwapDialog
from dashboard.engines.process import bound_engine
from dashboard.frame.frame import perform
from dashboard.widgets.bar import Bar
from dashboard.widgets.lines import Lines
from dashboard.widgets.pane import Pane
from dashboard.widgets.report import Report
from dashboard.widgets.table import Table
from engine.core.commands import StopEngine
from engine.core.events import CommandRefused
from engine.platform.sender import sender_of
from engine.reading.folding import events_of
from quarterdeck import AgentSpec, DynamicSupervisor
from store import Reader
from tests.patience import PATIENCE_S
from tests.pilot.engines import until
from tests.rights import as_viewer

pytestmark = pytest.mark.anyio
SIZE = (120, 36)


def told(app: QuarterdeckApp) -> str:
    return app.messages.current.text if app.messages.current is not None else ""


class Remembering(QuarterdeckApp):
    """Keeps every line that it said: the next one may come before anybody looked."""

    def __init__(self, db: Path) -> None:
        self.said: list[str] = []
        super().__init__(db)
        say = self.messages.say

        def say_and_remember(text: str, tone: str = "") -> None:
            self.said.append(text)
            say(text, tone)

        self.messages.say = say_and_remember  # type: ignore[method-assign]


def line(app: QuarterdeckApp, bar: str) -> str:
    return app.screen.query_one(f"#{bar}", Bar).text


def bar_says(app: QuarterdeckApp, text: str) -> bool:
    """Return whether the time bar says something, on however many lines."""
    return "".join(text.split()) in "".join(app.screen.query_one("#time", Lines).text.split())


def first_row(app: QuarterdeckApp) -> str:
    return "".join(segment.text for segment in app.screen.query_one(Table).render_line(1))


def status_of(app: QuarterdeckApp, name: str) -> str:
    return next((agent.status.value for agent in app.feed.state.agents.values() if agent.name == name), "")


def rows_of(app: QuarterdeckApp) -> int:
    """Return how many rows the network shows: a key that comes before them is for nobody."""
    return sum(len(table.rows.keys) for table in app.screen.query(Table))


async def test_a_request_is_worked_on_and_its_output_can_be_read(
    engine: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    app = Remembering(tmp_path / "team.db")
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: rows_of(app) > 3 and "● engine" in line(app, "header"))

        await pilot.press("n", *"how much is it", "enter")
        await until(pilot, lambda: app.feed.state.finished)
        await until(pilot, lambda: any("applied at seq" in said for said in app.said))
        await until(pilot, lambda: any(said.startswith("✓ how much is it is done after") for said in app.said))

        await pilot.press("7", "enter")
        await until(pilot, lambda: "read: how much is it" in app.screen.query_one(Report).text)


async def test_a_change_is_said_with_its_seq_and_a_refusal_with_its_reason(
    engine: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    app = QuarterdeckApp(tmp_path / "team.db")
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: rows_of(app) > 3)

        await pilot.press("j", "h")
        await until(pilot, lambda: isinstance(app.screen, SwapDialog))
        await pilot.press("enter")
        await until(pilot, lambda: "✓ swapped reader to g2, applied at seq" in told(app))
        await pilot.press("z")
        await until(pilot, lambda: "✓ paused reader" in told(app))
        await until(pilot, lambda: status_of(app, "reader") == "paused")
        await pilot.press("z")
        await until(pilot, lambda: status_of(app, "reader") == "idle")
        await pilot.press("S", "enter")
        await until(pilot, lambda: "✓ switched desk from parallel to sequential" in told(app))
        await pilot.press(*":remove desk", "enter")
        await pilot.pause()
        await pilot.press("enter")  # what it says would be refused is not sent
        await pilot.press("escape", *":undo nothing", "enter")
        await until(pilot, lambda: told(app).startswith("refused: no command 'nothing' is known"))

    with Reader(tmp_path / "team.db") as reader:
        told_of = [event for event in events_of(reader.records(0, 1_000)) if isinstance(event, CommandRefused)]
    assert [event.sender for event in told_of] == [sender_of("quarterdeck dashboard")]


async def test_work_under_way_is_cancelled_after_a_question_that_names_it_for_the_reason_that_is_typed(
    engine: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    app = QuarterdeckApp(tmp_path / "team.db")
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: rows_of(app) > 3)
        await pilot.press(*":run be slow", "enter")
        await until(pilot, lambda: status_of(app, "reader") == "busy")

        await pilot.press("7", "ctrl+d")
        await pilot.pause()
        assert line(app, "title") == "Cancel run “be slow”"
        await pilot.press(*"wrong folder", "enter")
        ended = [("cancelled", "wrong folder")]
        await until(pilot, lambda: [(one.status.value, one.error) for one in app.feed.state.finished] == ended)


async def test_an_archive_goes_out_and_its_import_is_shown_before_it_happens(
    engine: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    app = QuarterdeckApp(tmp_path / "team.db")
    archive = tmp_path / "out.zip"
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: rows_of(app) > 3)
        perform(app.screen, f"export {archive}")  # type: ignore[arg-type]
        await until(pilot, lambda: told(app).startswith("✓ exported") and archive.exists())

        perform(app.screen, f"import {archive}")  # type: ignore[arg-type]
        await pilot.pause()
        await until(pilot, lambda: "brings" in app.screen.query_one("#details", Pane).text)
        await pilot.press("enter")
        await until(pilot, lambda: "applied at seq" in told(app))


async def test_a_killed_engine_is_said_at_once_with_what_to_do(engine: subprocess.Popen[bytes], tmp_path: Path) -> None:
    app = QuarterdeckApp(tmp_path / "team.db")
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: "● engine" in line(app, "header"))

        os.kill(engine.pid, signal.SIGKILL)
        engine.wait()

        await until(pilot, lambda: f"✕ engine {engine.pid} gone since" in line(app, "header"))
        assert bar_says(app, f"continue: E or quarterdeck engine --db {tmp_path / 'team.db'}")
        await pilot.press(*":pause reader", "enter")
        await until(pilot, lambda: told(app).startswith("queued: "))


async def test_a_key_starts_an_engine_where_one_was_killed_and_its_run_goes_on(
    engine: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    app = QuarterdeckApp(tmp_path / "team.db")
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("7", *":run be slow", "enter")
        await until(
            pilot, lambda: status_of(app, "reader") == "busy" and f"● engine {engine.pid}" in line(app, "header")
        )
        await pilot.press("E")
        await until(pilot, lambda: isinstance(app.screen, LeadingDialog))
        assert f"engine {engine.pid} on" in app.screen.query_one("#details", DialogText).text
        await pilot.press("escape")
        os.kill(engine.pid, signal.SIGKILL)
        engine.wait()
        await until(pilot, lambda: "‖ suspended" in first_row(app))

        await pilot.press("E")
        await until(pilot, lambda: isinstance(app.screen, EngineDialog))
        assert f"engine {engine.pid} gone since" in app.screen.query_one("#details", DialogText).text
        await pilot.press("enter")
        await until(pilot, lambda: told(app).startswith("✓ engine"))
        await until(pilot, lambda: status_of(app, "reader") == "busy" and "● engine" in line(app, "header"))
        app.commands.send(StopEngine())
        await until(pilot, lambda: "■ engine" in line(app, "header"))


async def test_starting_an_engine_second_names_the_one_that_leads(
    engine: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    app = QuarterdeckApp(tmp_path / "team.db")
    async with app.run_test(size=SIZE) as pilot:
        os.kill(engine.pid, signal.SIGKILL)
        engine.wait()
        await until(pilot, lambda: "gone" in line(app, "header"))
        await pilot.press("E")
        await until(pilot, lambda: isinstance(app.screen, EngineDialog))
        with bound_engine(app.path, folder=None):
            await pilot.press("enter")
            await until(pilot, lambda: told(app).startswith("✓ engine"))
            leader = app.feed.engine
            assert leader is not None
            assert told(app).startswith(f"✓ engine {leader.pid} is at work")


@pytest.mark.usefixtures("messages_stay")
async def test_no_engine_is_started_for_code_that_only_the_program_has_that_made_the_team(tmp_path: Path) -> None:
    async def answer(text: str) -> str:
        return text

    path = tmp_path / "team.db"
    await DynamicSupervisor("crew", agent_specs=[AgentSpec(name="reader", run=answer)], store=path).arun("x")
    app = QuarterdeckApp(path)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: bar_says(app, "continue: run its program again"))

        await pilot.press("E")

        await until(pilot, lambda: told(app) != "")
        assert told(app) == (
            "reader calls code of the program that made this team: run that program again, and its runs continue"
        )
        assert not app.screen.is_modal


async def test_read_only_refuses_every_action_and_says_so(engine: subprocess.Popen[bytes], tmp_path: Path) -> None:
    app = QuarterdeckApp(tmp_path / "team.db", readonly=True)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: rows_of(app) > 3)
        seq = app.feed.state.seq
        for key in ("h", "S", "z", "r", "R", "ctrl+d", "n", "i"):
            app.messages.current = None
            await pilot.press("j", key)
            await pilot.pause()
            assert "read-only" in told(app), key
            assert not app.screen.is_modal, key

        assert app.feed.state.seq == seq


async def test_who_may_not_write_the_inbox_is_a_viewer(engine: subprocess.Popen[bytes], tmp_path: Path) -> None:
    with as_viewer(tmp_path / "team.db"):
        app = QuarterdeckApp(tmp_path / "team.db")
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: "read-only" in line(app, "header"))
        await pilot.press("z")
        await until(pilot, lambda: told(app) != "")
        inbox = tmp_path / "team.db-inbox"
        assert told(app) == f"refused: you may read this team, not change it; its owner lets you write {inbox}"


async def test_leaving_asks_about_the_engine_and_can_stop_it(engine: subprocess.Popen[bytes], tmp_path: Path) -> None:
    app = QuarterdeckApp(tmp_path / "team.db", ask_engine=True)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: "● engine" in line(app, "header"))
        await pilot.press("q")
        await pilot.pause()
        await pilot.press("escape")
        await pilot.pause()
        assert not app.screen.is_modal

        await pilot.press("q")
        await pilot.pause()
        await pilot.press("down", "enter")
        await until(pilot, lambda: not app.is_running)

    assert engine.wait(timeout=PATIENCE_S) == 0
