"""A key is answered at once: before the timer that paints, and before a redraw that began earlier."""

import asyncio
import os
from pathlib import Path

import pytest
from textual import events
from textual.drivers._writer_thread import WriterThread

from dashboard.deck.pace import KEY_S, Pace
from dashboard.frame.frame import Frame
from dashboard.views.view_state import ViewState
from dashboard.widgets.bar import Bar
from dashboard.widgets.lines import Lines
from dashboard.widgets.prompt import Prompt
from dashboard.widgets.table import Table
from tests.pilot.engines import until
from tests.pilot.hand import shown
from tests.pilot.rest import at_rest

MORE_THAN_A_PIPE_HOLDS = 1 << 20


@pytest.mark.anyio
async def test_what_a_key_changes_does_not_wait_for_the_timer_that_paints(tmp_path: Path) -> None:
    app = shown(tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("0")
        await at_rest(pilot)
        app.screen._update_timer.stop()
        app.pace = Pace(lambda: 100.0)  # however slow the machine is
        line = app.screen.query_one(Table).line

        painted: list[int] = []
        app.post_display_hook = lambda: painted.append(app.screen.query_one(Table).line)  # type: ignore[method-assign]
        app.post_message(events.Key("j", "j"))
        for _ in range(100):  # not by the pilot, which paints whatever waits for it
            await asyncio.sleep(0)

        assert painted[:1] == [line + 1]


@pytest.mark.anyio
async def test_a_redraw_waits_for_a_key_that_comes_after_it_began(tmp_path: Path) -> None:
    now_s = [100.0]
    app = shown(tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await at_rest(pilot)
        app.pace = Pace(lambda: now_s[0])
        app.pace.note_redraw()
        now_s[0] += 1.0
        before, look = app.view, app._make_view
        app._frame_key = ()

        def interrupted(last: ViewState) -> object:
            app.pace.note_key()
            return look(last)

        app._make_view = interrupted  # type: ignore[method-assign, assignment]
        await app._tick()
        assert app.view is before

        app._make_view = look  # type: ignore[method-assign]
        now_s[0] += 2 * KEY_S
        await app._tick()
        assert app.view is not before


@pytest.mark.anyio
async def test_nothing_is_redrawn_while_the_terminal_takes_what_was_drawn_before(tmp_path: Path) -> None:
    app, (taken_from, written_to) = shown(tmp_path), os.pipe()
    async with app.run_test(size=(120, 40)) as pilot:
        await at_rest(pilot)
        with os.fdopen(taken_from, "rb") as terminal, os.fdopen(written_to, "w") as link:
            writer = WriterThread(link)
            writer.start()
            app._driver._writer_thread = writer  # type: ignore[union-attr]
            before = app.view
            for frame in ("x" * MORE_THAN_A_PIPE_HOLDS, "y"):
                writer.write(frame)
            app._frame_key = ()
            await app._tick()
            assert app.view is before

            terminal.read(MORE_THAN_A_PIPE_HOLDS)
            await until(pilot, writer._queue.empty)
            app._frame_key = ()
            await app._tick()
            assert app.view is not before
            writer.stop()
            app._driver._writer_thread = None  # type: ignore[union-attr]


@pytest.mark.anyio
async def test_the_cursor_is_on_the_screen_before_the_pane_that_tells_of_its_row_and_that_follows(
    tmp_path: Path,
) -> None:
    app = shown(tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("0")
        await at_rest(pilot)
        table, below = app.screen.query_one(Table), app.screen.query_one("#below", Lines)
        before, app.pace = below.text, Pace(lambda: 100.0)

        painted: list[tuple[int, str]] = []
        app.post_display_hook = lambda: painted.append((table.line, below.text))  # type: ignore[method-assign]
        app.post_message(events.Key("j", "j"))
        await until(pilot, lambda: len({text for _, text in painted}) == 2)

        assert painted[0] == (1, before)
        assert painted[-1][1] == below.text != before


@pytest.mark.anyio
async def test_a_letter_of_a_filter_its_rows_and_their_number_come_in_one_frame(tmp_path: Path) -> None:
    app = shown(tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("0", "slash")
        await at_rest(pilot)
        screen = app.screen
        table, tabs, prompt = screen.query_one(Table), screen.query_one("#tabs", Bar), screen.query_one(Prompt)
        every, app.pace = len(table.rows.keys), Pace(lambda: 100.0)

        painted: list[tuple[str, int, bool]] = []

        def note() -> None:
            if prompt.text:
                number = len(table.rows.keys)
                painted.append((prompt.text, number, f"{number:,} of {every:,}" in "".join(_texts(tabs))))

        app.post_display_hook = note  # type: ignore[method-assign]
        app.post_message(events.Key("p", "p"))
        await until(pilot, lambda: painted)

        assert painted[0] == ("p", len(table.rows.keys), True)
        assert not any(one._repaint_required for one in (table, tabs))


def _texts(bar: Bar) -> list[str]:
    return [cell.text for cell in (*bar._left, *bar._right)]


@pytest.mark.anyio
async def test_what_a_key_puts_off_is_done_where_the_key_has_no_frame(tmp_path: Path) -> None:
    app, done, now_s = shown(tmp_path), list[int](), [100.0]
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("0")
        await at_rest(pilot)
        screen = app.screen
        assert isinstance(screen, Frame)

        app.pace = Pace(lambda: now_s[0])
        app.pace.note_key()
        screen.key_frames.call_after(lambda: done.append(1))
        assert not done
        await app._tick()
        assert not done
        now_s[0] += KEY_S
        await app._tick()
        assert done


@pytest.mark.anyio
async def test_what_stands_around_a_screen_is_brought_up_to_date_though_a_key_comes_in_between(tmp_path: Path) -> None:
    app = shown(tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("0")
        await at_rest(pilot)
        screen = app.screen
        assert isinstance(screen, Frame)
        inside, around = screen.update_body, list[ViewState]()

        def interrupted(view: ViewState) -> None:
            inside(view)
            app.pace.note_key()

        app.pace = Pace(lambda: 100.0)
        screen.update_body = interrupted  # type: ignore[method-assign]
        screen.surroundings.update = around.append  # type: ignore[method-assign, assignment]
        view = app._make_view()
        await app._redraw_in_steps(view)

        assert any(one is view for one in around)
