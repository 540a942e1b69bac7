"""Keys that come faster than lines and dialogs open: they belong to what they were meant for."""

from pathlib import Path

import pytest
from textual import events
from textual.pilot import Pilot
from textual.widgets import Button, Input

from dashboard.app import QuarterdeckApp
from dashboard.dialogs.files import ExportDialog
from dashboard.dialogs.request import RequestDialog
from dashboard.widgets.prompt import Prompt
from dashboard.widgets.time_bar import Scrubber
from tests.pilot.engines import until
from tests.pilot.scene import NOW_MS, StillFeed, audit, written

pytestmark = pytest.mark.anyio


@pytest.fixture
def app(tmp_path: Path) -> QuarterdeckApp:
    work = audit()
    db = written(tmp_path / "team.db", work)
    return QuarterdeckApp(db, feed=StillFeed(db, work), clock=lambda: NOW_MS)


def type_at_once(pilot: Pilot[int], text: str) -> None:
    """Hand over all keys before the first of them is looked at, as a terminal does with what was pasted."""
    for character in text:
        pilot.app.post_message(events.Key({":": "colon", "/": "slash"}.get(character, character), character))


async def test_what_is_typed_right_behind_the_colon_stands_in_the_line(app: QuarterdeckApp) -> None:
    async with app.run_test() as pilot:
        await pilot.pause()
        type_at_once(pilot, ":agents")

        await until(pilot, lambda: app.screen.query_one(Prompt).text == "agents")


async def test_what_is_typed_right_behind_the_slash_filters(app: QuarterdeckApp) -> None:
    async with app.run_test() as pilot:
        await pilot.pause()
        type_at_once(pilot, "/scout")

        await until(pilot, lambda: getattr(app.screen, "needle", "") == "scout")


async def test_what_is_typed_before_a_dialog_is_open_stands_in_it_in_order(app: QuarterdeckApp) -> None:
    async with app.run_test() as pilot:
        await pilot.pause()
        type_at_once(pilot, "nhelloSzR")

        await until(pilot, lambda: isinstance(app.screen, RequestDialog))
        await until(pilot, lambda: "helloSzR" in [line.value for line in app.screen.query(Input)])


async def test_advice_stays_while_a_command_is_typed(app: QuarterdeckApp) -> None:
    async with app.run_test() as pilot:
        await pilot.press("colon", *"strategy")
        await pilot.pause()
        app.show()

        assert app.screen.query_one("#time", Scrubber).text.lstrip().startswith("strategy [SUPERVISOR] [MODE]")


async def test_the_button_of_the_export_dialog_exports(app: QuarterdeckApp, tmp_path: Path) -> None:
    async with app.run_test() as pilot:
        await pilot.press("x")
        await until(pilot, lambda: isinstance(app.screen, ExportDialog))
        app.screen.query_one(Input).value = str(tmp_path / "team.zip")
        app.screen.query_one("#confirm", Button).press()

        await until(pilot, lambda: (tmp_path / "team.zip").exists())


async def test_a_dialog_has_its_height_before_it_is_drawn_once(app: QuarterdeckApp) -> None:
    heights: list[int] = []
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("n")
        await until(pilot, lambda: isinstance(app.screen, RequestDialog))
        box = app.screen.query_one("#dialog")
        for _ in range(5):
            heights.append(box.size.height)
            await pilot.pause()

    assert len({height for height in heights if height}) == 1


async def test_a_key_that_comes_while_it_closes_is_for_nobody(app: QuarterdeckApp) -> None:
    async with app.run_test():
        pass

    assert not app.screen_stack
    await app.on_event(events.Key("x", "x"))
