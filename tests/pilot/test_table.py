"""Which cells of a table are brighter, and for how long; where they stand beside the scroll bar."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from textual.app import App, ComposeResult

from dashboard.user.theme import DARK
from dashboard.views.drawing.rows import AnyColumn, Cell, Column, Listing
from dashboard.widgets.table import FRESH_MS, Table
from tests.pilot.hand import opened
from tests.world import agent, team_world

TIMES: tuple[AnyColumn, ...] = (Column("what", 8, grow=1), Column("TOOK", 6, right=True))


class TableApp(App[None]):
    """A table and nothing else."""

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return DARK.variables

    def compose(self) -> ComposeResult:
        yield Table(id="rows")


def listing(**texts: str) -> Listing:
    """Return rows of one cell each, by key."""
    return Listing((Column("what", width=8),), list(texts), lambda key: (Cell(texts[key]),))


def bright(table: Table) -> Sequence[str]:
    """Return the texts that are drawn as news."""
    color = table.tone("fresh").color
    lines = [table.render_line(line) for line in range(1, 1 + len(table.rows.keys))]
    drawn = [segment for line in lines for segment in line if segment.text.strip()]
    return [each.text.strip() for each in drawn if each.style is not None and each.style.color == color]


@pytest.mark.anyio
async def test_what_changed_is_brighter_until_it_fades_or_leaves() -> None:
    app = TableApp()
    async with app.run_test():
        app.animation_level = "full"
        table = app.query_one(Table)
        table.show(listing(a="one", b="two"), 0)
        table.show(listing(a="uno", b="two"), 100)
        assert bright(table) == ["uno"]
        table.show(listing(a="uno", b="due"), 100 + FRESH_MS)
        assert bright(table) == ["due"]

        table.show(listing(a="uno"), 200 + FRESH_MS)
        table.show(listing(a="uno", b="due"), 300 + FRESH_MS)
        assert bright(table) == []


@pytest.mark.anyio
async def test_the_last_column_keeps_a_blank_before_the_scroll_bar() -> None:
    app = TableApp()
    async with app.run_test(size=(30, 5)) as pilot:
        table = app.query_one(Table)
        rows = Listing(TIMES, [str(one) for one in range(20)], lambda key: (Cell(key), Cell("3m02s")))
        table.show(rows, 0)
        await pilot.pause()

        assert table.wide == table.size.width - 1
        assert table.render_line(2).text[: table.scrollable_content_region.width].endswith("3m02s ")


@pytest.mark.anyio
async def test_a_scroll_bar_comes_and_goes_with_one_layout_and_leaves_its_column_to_the_rows() -> None:
    app = TableApp()
    async with app.run_test(size=(30, 5)) as pilot:
        table = app.query_one(Table)
        keys = [str(one) for one in range(20)]
        many, few = (Listing(TIMES, some, lambda key: (Cell(key), Cell("3m02s"))) for some in (keys, keys[:2]))
        table.show(many, 0)
        await pilot.pause()
        laid_out: list[object] = []
        app.screen.screen_layout_refresh_signal.subscribe(app.screen, laid_out.append, immediate=True)

        for rows, width in ((few, 30), (many, 29)):
            table.show(rows, 0)
            await pilot.pause()
            assert table.wide == width
            assert table.vertical_scrollbar.display == (width == 29)
            assert (app.screen.get_widget_at(29, 1)[0] is table) == (width == 30)
        assert len(laid_out) == 2


@pytest.mark.anyio
async def test_a_click_where_a_scroll_bar_would_be_is_for_the_row_there() -> None:
    app = TableApp()
    async with app.run_test(size=(30, 5)) as pilot:
        table = app.query_one(Table)
        table.show(listing(a="one", b="two", c="three"), 0)
        await pilot.pause()

        await pilot.click(offset=(29, 2))
        await pilot.pause()

        assert table.selected == "b"


@pytest.mark.anyio
async def test_a_key_pressed_while_the_window_is_laid_out_anew_moves_the_cursor_for_good() -> None:
    app = TableApp()
    async with app.run_test(size=(40, 20)) as pilot:
        table = app.query_one(Table)
        table.focus()
        table.show(listing(a="one", b="two", c="three"), 0)
        await pilot.pause()
        table.on_resize()  # what it puts off until the screen is laid out comes after the key
        table.action_move(1)
        await pilot.pause()
        assert table.selected == "b"


@pytest.mark.anyio
async def test_names_that_end_with_a_number_are_told_apart_where_they_are_cut(tmp_path: Path) -> None:
    names = [f"a-reader-of-very-long-manuscripts-and-letters-{one}" for one in (7, 14)]
    async with opened(tmp_path, work=team_world(*(agent(name) for name in names)), size=(80, 24)) as hand:
        for key in ("1", "0"):
            await hand.press(key)
            shown = [hand.line(y) for y in range(6)]
            assert sum("…-7 " in line for line in shown) == 1, shown
            assert sum("…-14 " in line for line in shown) == 1, shown
