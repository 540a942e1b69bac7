"""What has changed is composed as Textual composes it, with less work, and laid out once."""

import random
from collections.abc import Iterable
from pathlib import Path

import pytest
from textual._compositor import Compositor
from textual.geometry import Region
from textual.strip import Strip

from dashboard.deck.places import places
from dashboard.widgets.table import Table
from tests.pilot.hand import shown


@pytest.mark.anyio
async def test_a_list_that_loses_its_scroll_bar_is_laid_out_once_for_the_pane_below(tmp_path: Path) -> None:
    app = shown(tmp_path)
    async with app.run_test(size=(120, 24)) as pilot:
        await pilot.press("0")
        await pilot.pause()
        table = app.screen.query_one(Table)
        assert table.wide == table.size.width - 1
        laid_out: list[object] = []
        app.screen.screen_layout_refresh_signal.subscribe(app.screen, laid_out.append, immediate=True)

        app.screen.filter("planner")  # type: ignore[attr-defined]
        await pilot.pause()
        await pilot.pause()

        assert table.wide == table.size.width
        assert len(laid_out) == 1


@pytest.mark.anyio
@pytest.mark.parametrize("place", places())
async def test_any_lines_of_a_screen_are_composed_as_textual_composes_them(tmp_path: Path, place: str) -> None:
    app, draw = shown(tmp_path), random.Random(place)
    async with app.run_test(size=(120, 40)) as pilot:
        app.action_go(place)
        await pilot.pause()
        await pilot.pause()
        compositor = app.screen._compositor
        for some in (1, 2, 5, 40):
            lines = set(draw.sample(range(40), some))
            crop = Region(0, min(lines), 120, max(lines) - min(lines) + 1)
            ours = compositor._render_chops(crop, lines.__contains__)
            theirs = Compositor._render_chops(compositor, crop, lines.__contains__)
            for y in lines:
                assert cells(ours[y].values()) == cells(theirs[y].values())


@pytest.mark.anyio
async def test_a_bar_that_has_grown_shorter_than_when_the_screen_was_laid_out_is_composed_so(tmp_path: Path) -> None:
    app = shown(tmp_path)
    async with app.run_test(size=(120, 24)) as pilot:
        await pilot.press("0")
        await pilot.pause()
        bar = app.screen.query_one(Table).vertical_scrollbar
        to = bar.region.y + 3
        before = [line.text for line in app.screen._compositor.render_strips()]
        bar._size = bar.size.with_height(3)

        after = [line.text for line in app.screen._compositor.render_strips()]

        assert after[:to] == before[:to]


def cells(parts: Iterable[Strip]) -> list[tuple[str, object]]:
    """Return the characters of a line, each with its style."""
    line = Strip.join(parts)
    return [(character, segment.style) for segment in line for character in segment.text]
