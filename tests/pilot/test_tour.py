"""The tour: offered once, it follows what is done and never does anything itself."""

from pathlib import Path

import pytest

from dashboard.app.guide import Guide
from dashboard.deck.places import places
from dashboard.deck.touring import OFFERED_MS
from dashboard.user.habits import Habits
from dashboard.views.drawing.rows import Cell
from dashboard.views.words.tour import OFFER
from dashboard.widgets.lines import Lines
from tests.pilot.hand import Hand, opened

pytestmark = pytest.mark.anyio


def card(hand: Hand) -> str:
    return hand.app.screen.query_one("#tour", Lines).text


async def done(hand: Hand, *keys: str) -> None:
    """Press keys and let the app look at what they did."""
    await hand.press(*keys)
    hand.app.flush()
    await hand.press()


async def test_the_tour_follows_what_is_done_from_the_first_step_to_the_last(tmp_path: Path) -> None:
    async with opened(tmp_path, size=(80, 24)) as hand:
        await done(hand, "f2")
        for keys, title in (
            ((), "TOUR 1 of 8"), (("down",), "TOUR 2 of 8"), (("enter",), "TOUR 3 of 8"), (("escape",), "TOUR 4 of 8"),
            (("5",), "TOUR 5 of 8"), (("slash",), "TOUR 5 of 8"), (("escape",), "TOUR 6 of 8"),
            (("left_square_bracket",), "TOUR 7 of 8"), (("L",), "TOUR 8 of 8"),
        ):  # fmt: skip
            await done(hand, *keys)
            assert title in card(hand), (keys, card(hand))
        await done(hand, "question_mark")
        await done(hand, "escape")

        assert hand.app.tour.current is None
        assert "that was the tour" in hand.said
        assert hand.app.orders == []


async def test_space_goes_on_and_escape_leaves(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await done(hand, "colon", *"tour", "enter")
        await done(hand, "space")
        assert "TOUR 2 of 8" in card(hand)
        assert not hand.table.marked
        await done(hand, "escape")
        assert hand.app.tour.current is None
        assert not hand.app.screen.query_one("#tour").display
        await done(hand, "j", "j", "space")
        assert hand.app.tour.current is None


async def test_it_is_offered_once_and_for_a_minute(tmp_path: Path) -> None:
    file = tmp_path / "habits.json"
    async with opened(tmp_path, habits=Habits(file)) as hand:
        offers = []
        for later_ms in (0, OFFERED_MS + 1_000):
            hand.clock[0] += later_ms
            hand.app.flush()
            offers.append(hand.app.tour.offer)
        assert offers == [OFFER, None]
    assert Habits(file).toured


async def test_a_screen_that_is_not_laid_out_yet_is_passed_over_by_the_tour_and_the_suggestions(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        hand.app._guide = Guide()
        await done(hand, "f2")
        for place in places():
            hand.app.action_go(place)
            hand.app.flush()  # its screen is on top by now, and has no widgets
            await hand.press()

            assert hand.app.screen.query_one("#tour", Lines).display


async def test_a_suggestion_that_fills_a_narrow_screen_is_shown_to_its_end(tmp_path: Path) -> None:
    async with opened(tmp_path, size=(80, 24)) as hand:
        for text, key in (
            ("2: the graph", "T dismisses it"),
            ("F forks here · L comes back to live ".ljust(72, "x"), "x"),
        ):
            hand.app.tip = Cell(text, "", "try  ")
            hand.app.show()
            shown = hand.app.screen.query_one("#tip", Lines).text.rstrip()
            assert text in shown
            assert shown.endswith(key)
