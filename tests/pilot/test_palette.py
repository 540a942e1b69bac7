"""The palette as it opens and closes, under keys and clicks that come early and late."""

from pathlib import Path

import pytest
from rich.style import Style
from textual import events
from textual.command import CommandInput
from textual.widgets import OptionList

from dashboard.app.palette import Palette
from dashboard.frame.frame import Frame
from tests.pilot.hand import opened

pytestmark = pytest.mark.anyio


async def test_the_palette_is_opened_again_while_it_closes_and_typed_into_while_it_closes(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        for _ in range(3):
            hand.app.action_command_palette()
            await hand.pilot.pause()
            palette = hand.app.screen
            assert isinstance(palette, Palette)
            palette.query_one(CommandInput).value = "scout"
            palette.dismiss()
            hand.app.action_command_palette()
            assert hand.app.screen is not palette
            await hand.pilot.pause()
            hand.app.screen.dismiss()
            await hand.pilot.pause()
        assert hand.place == "network"


async def test_the_palette_may_be_closed_before_it_has_begun(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        hand.app.action_command_palette()
        hand.app.screen.dismiss()
        await hand.press()
        assert hand.place == "network"
        await hand.press("ctrl+p")
        assert isinstance(hand.app.screen, Palette)


async def test_a_search_of_the_palette_may_end_while_it_closes(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await hand.press("ctrl+p")
        palette = hand.app.screen
        assert isinstance(palette, Palette)
        await palette.query("*").remove()  # as Textual does first where it closes a screen
        palette._show_busy = not palette._show_busy
        await hand.press("escape")
        assert hand.place == "network"


@pytest.mark.parametrize("keys", [("n",), ("0", "e"), ("question_mark",), ("0", "enter")])
async def test_what_comes_late_for_what_is_seen_below_the_palette_closes_nothing(
    tmp_path: Path, keys: tuple[str, ...]
) -> None:
    async with opened(tmp_path) as hand:
        await hand.press(*keys)
        below = hand.app.screen
        await hand.press("ctrl+p")
        over = hand.app.screen
        below.action_back() if isinstance(below, Frame) else below.dismiss()
        await hand.press()
        assert hand.app.screen is over
        await hand.press("escape", "escape")
        assert below not in hand.app.screen_stack


async def test_a_click_on_a_row_of_the_palette_that_is_gone_by_now_is_passed_over(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await hand.press("ctrl+p")
        listed = hand.app.screen.query_one(OptionList)
        gone = Style(meta={"option": listed.option_count + 1})
        x, y = listed.region.offset
        listed.post_message(events.Click(listed, 0, 0, 0, 0, 1, False, False, False, x, y, gone))
        await hand.press()
        assert isinstance(hand.app.screen, Palette)
