"""A key is answered at once: before the timer that paints, and before a redraw that began earlier."""

import asyncio
from pathlib import Path

import pytest
from textual import events

from dashboard.pace import KEY_S, Pace
from dashboard.views.header import ViewState
from dashboard.widgets.table import Table
from tests.pilot.hand import shown
from tests.pilot.rest import at_rest


@pytest.mark.anyio
async def test_what_a_key_changes_does_not_wait_for_the_timer_that_paints(tmp_path: Path) -> None:
    app = shown(tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("0")
        await at_rest(pilot)
        app.screen._update_timer.stop()
        app._pace._painted_s = -KEY_S
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
        app._pace = Pace(lambda: now_s[0])
        app._pace.looked()
        now_s[0] += 1.0
        before, look = app.view, app._look
        app._drawn = ()

        def interrupted(last: ViewState) -> object:
            app._pace.pressed()
            return look(last)

        app._look = interrupted  # type: ignore[method-assign, assignment]
        await app._tick()
        assert app.view is before

        app._look = look  # type: ignore[method-assign]
        now_s[0] += 2 * KEY_S
        await app._tick()
        assert app.view is not before
