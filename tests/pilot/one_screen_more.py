"""What a screen has that nothing but its two files makes known; `test_one_screen_more` runs this where they are."""

import sys
from pathlib import Path

import pytest
from textual.widgets import Input, OptionList

from dashboard.app.navigation import read_place, visit
from dashboard.app.palette import Palette
from dashboard.deck.places import keys, places, tabs
from dashboard.widgets.table import HEADINGS
from tests.pilot.engines import until
from tests.pilot.hand import Hand, opened

pytestmark = pytest.mark.anyio
MODULE = "dashboard.screens.lengths"


def last_line(hand: Hand) -> str:
    return "".join(segment.text for segment in hand.app.screen._compositor.render_strips()[-1])


async def test_its_key_opens_it_and_until_then_it_is_not_imported(tmp_path: Path) -> None:
    assert (keys()["lengths"], places()[-1], "lengths" in tabs()) == ("f16", "lengths", False)
    async with opened(tmp_path) as hand:
        assert MODULE not in sys.modules
        await hand.press("f16")

        assert (hand.place, MODULE in sys.modules) == ("lengths", True)
        assert [hand.line(HEADINGS + y).split()[-2:] for y in range(2)] == [["scout", "5"], ["parser", "6"]]
        assert "w only long" in last_line(hand)
        await hand.press("1", "f16", "slash", *"scout", "enter")
        assert {*hand.table.rows.keys} == {one.id for one in hand.work.state.agents.values() if "scout" in one.name}


async def test_its_name_and_a_part_of_it_open_it_from_the_command_line(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        for word in ("lengths", "len"):
            await hand.press("1", "colon", *word, "enter")
            assert hand.place == "lengths"


async def test_the_palette_finds_it_and_says_its_key(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await hand.press("ctrl+p")
        palette = hand.app.screen
        assert isinstance(palette, Palette)
        palette.query_one(Input).value = "lengths"
        listed = palette.query_one(OptionList)
        await until(hand.pilot, lambda: listed.option_count == 1)
        assert "lengths  (f16)" in str(listed.get_option_at_index(0).prompt)
        await hand.press("enter")
        await until(hand.pilot, lambda: not isinstance(hand.app.screen, Palette))
        assert hand.place == "lengths"


async def test_the_help_of_every_screen_names_its_key_and_its_own_explains_its_keys_and_columns(tmp_path: Path) -> None:
    async with opened(tmp_path, size=(160, 200)) as hand:
        await hand.press("question_mark")
        assert "f14           go to Memory\nf15           go to Recipes\nf16           go to Lengths" in hand.told(
            "details"
        )
        assert ": lengths" in hand.told("details")
        await hand.press("escape", "f16", "question_mark")
        assert "show only the agents with a long name, or all of them" in hand.told("details")
        assert "how many letters a name has" in hand.told("details")


async def test_an_address_leads_to_it_with_its_filter(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        visit(hand.app, read_place("lengths?scout"))
        await hand.press()
        assert (hand.place, hand.app.screen.finding.needle) == ("lengths", "scout")  # type: ignore[attr-defined]


async def test_in_the_past_it_shows_the_team_as_it_was(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await hand.press("f16")
        hand.app.past.goto_seq(1)
        await until(hand.pilot, lambda: hand.app.view.past is not None and not hand.table.rows.keys)
