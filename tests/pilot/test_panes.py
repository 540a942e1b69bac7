"""Panes are made larger and smaller, and stay so."""

from pathlib import Path

import pytest
from textual.app import App, ComposeResult
from textual.events import Resize
from textual.widget import Widget

from dashboard.frame.sizing import WIDTH_STEP
from dashboard.user.habits import Habits
from dashboard.views.arrangement import TREE_MIN_WIDTH
from dashboard.views.drawing.rows import Cell
from dashboard.widgets.pane import Pane
from tests.pilot.hand import Hand, opened
from tests.pilot.trouble import trouble

pytestmark = pytest.mark.anyio


def part(hand: Hand, name: str) -> Widget:
    return hand.app.screen.query_one(f"#{name}")


async def drag(hand: Hand, name: str, *, by: tuple[int, int]) -> None:
    """Press on the hairline of a pane, move it, and let go."""
    at = part(hand, name).region.offset
    await hand.pilot.mouse_down(offset=at)
    await hand.pilot.hover(offset=at + by)
    await hand.pilot.mouse_up(offset=at + by)
    await hand.press()
    await hand.press()


async def test_the_line_between_tree_and_pane_is_dragged_and_found_there_again(tmp_path: Path) -> None:
    habits = Habits(tmp_path / "habits.json")
    async with opened(tmp_path, size=(140, 40), habits=habits) as hand:
        before = part(hand, "pane").size.width
        await drag(hand, "pane", by=(-9, 4))
        assert part(hand, "pane").size.width == before + 9
        assert part(hand, "body").size.width == 140 - before - 9
        row = hand.table.line
        assert row == 0, "dragging is no click"
    (tmp_path / "again").mkdir()
    async with opened(tmp_path / "again", size=(140, 40), habits=Habits(tmp_path / "habits.json")) as hand:
        assert part(hand, "pane").size.width == before + 9
        await hand.pilot.double_click("#pane", offset=(0, 3))
        await hand.press()
        assert part(hand, "pane").size.width == before
        assert hand.place == "network"
    assert Habits(tmp_path / "habits.json").panes == {}


async def test_the_line_above_the_events_is_dragged(tmp_path: Path) -> None:
    async with opened(tmp_path, size=(120, 40)) as hand:
        before = part(hand, "tail").size.height
        await drag(hand, "tail", by=(0, 5))
        assert part(hand, "tail").size.height == before - 5


async def test_keys_move_the_lines_as_far_as_there_is_room(tmp_path: Path) -> None:
    async with opened(tmp_path, size=(120, 40)) as hand:
        wide, high = part(hand, "pane").size.width, part(hand, "tail").size.height
        await hand.press("ctrl+left", "ctrl+up", "ctrl+up")
        assert part(hand, "pane").size.width == wide + WIDTH_STEP
        assert part(hand, "tail").size.height == high + 2
        await hand.press(*["ctrl+left"] * 30)
        assert part(hand, "body").size.width >= TREE_MIN_WIDTH
        await hand.press("colon", *"panes", "enter")
        assert (part(hand, "pane").size.width, part(hand, "tail").size.height) == (wide, high)


async def test_a_page_beside_itself_is_sized_too_and_stands_below_itself_as_before(tmp_path: Path) -> None:
    async with opened(tmp_path, size=(140, 40)) as hand:
        await hand.press("j", "enter")
        before = part(hand, "left").size.width
        await drag(hand, "says", by=(-6, 3))
        assert part(hand, "left").size.width == before - 6
        await hand.pilot.resize_terminal(90, 40)
        await hand.press()
        assert part(hand, "left").size.width == 90
        await hand.pilot.resize_terminal(140, 40)
        await hand.press()
        assert part(hand, "left").size.width == before - 6


class Untold(Pane):
    """One that is drawn before it hears of its size."""

    def on_resize(self, event: Resize) -> None:  # type: ignore[override]
        event.prevent_default()


class OnePane(App[None]):
    def compose(self) -> ComposeResult:
        yield Untold(id="told")

    def on_mount(self) -> None:
        self.query_one(Pane).show([Cell("which of the two should it be, the left one or the right one?")])


async def test_a_text_is_folded_to_the_width_also_in_the_first_frame() -> None:
    app = OnePane()
    async with app.run_test(size=(30, 5)):
        told = app.query_one(Pane)

        assert told.render_line(0).text.strip() == "which of the two should it"
        assert told.render_line(1).text.strip() == "be, the left one or the"


async def test_the_time_bar_and_the_keys_stay_where_they_are_also_where_the_facts_of_a_page_have_no_room(
    tmp_path: Path,
) -> None:
    work = trouble()
    pages = [("task", one) for one in work.state.tasks] + [("agent", one) for one in work.state.agents]
    async with opened(tmp_path, work=work, size=(40, 10)) as hand:
        for kind, key in pages:
            hand.app.open(kind, key)
            await hand.press()
            lines = [strip.text for strip in hand.app.screen._compositor.render_strips()]
            assert lines[-1].endswith("? keys "), (kind, key, lines)
            await hand.press("escape")
