"""Jump mode: one key puts letters on everything, the next goes there."""

from pathlib import Path

import pytest

from dashboard.dialogs.jump import JumpScreen
from dashboard.widgets.panel import Panel
from tests.pilot.hand import Hand, opened

pytestmark = pytest.mark.anyio


def jumping(hand: Hand) -> JumpScreen:
    assert isinstance(hand.app.screen, JumpScreen)
    return hand.app.screen


async def test_a_letter_goes_to_its_row(tmp_path: Path) -> None:
    async with opened(tmp_path, size=(120, 40)) as hand:
        top = hand.table.region.y
        await hand.press("J")
        at = {spot.y: letter for letter, spot in jumping(hand).spots.items() if spot.x == 0}
        await hand.press(at[top + 4])

        assert hand.place == "network"
        assert hand.table.line == 3
        assert hand.table.has_focus


async def test_the_number_of_a_tab_goes_to_its_screen_and_a_letter_into_another_pane(tmp_path: Path) -> None:
    async with opened(tmp_path, size=(120, 40)) as hand:
        await hand.press("J", "0")
        assert hand.place == "agents"
        await hand.press("enter", "J")
        says = next(pane for pane in hand.app.screen_stack[-2].query(Panel) if pane.id == "says")
        letter = next(key for key, one in jumping(hand).spots.items() if (one.x - 1, one.y) == says.region.offset)
        await hand.press(letter)
        assert says.has_focus


async def test_escape_and_what_is_no_letter_leave_everything_as_it_was(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        for key in ("escape", "full_stop"):
            await hand.press("J", key)
            assert hand.place == "network"
            assert hand.table.line == 0


async def test_a_window_of_another_size_takes_the_letters_away(tmp_path: Path) -> None:
    async with opened(tmp_path, size=(120, 40)) as hand:
        await hand.press("J")
        assert jumping(hand).spots
        await hand.pilot.resize_terminal(90, 27)
        await hand.pilot.pause()
        assert not isinstance(hand.app.screen, JumpScreen)
        assert hand.place == "network"


async def test_the_screen_below_stands_still_while_letters_are_shown(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        below = hand.app.screen
        looked: list[object] = []
        await hand.press("J")
        below.look = looked.append  # type: ignore[attr-defined]
        hand.clock[0] += 2_000
        hand.app.flush()
        assert not looked


async def test_every_place_has_something_to_go_to(tmp_path: Path) -> None:
    async with opened(tmp_path, size=(120, 40)) as hand:
        for place in "1234567890":
            await hand.press(place)
            await hand.press("J")
            rows = [spot for spot in jumping(hand).spots.values() if not spot.letter]
            assert rows or place in "8", place
            await hand.press("escape")
