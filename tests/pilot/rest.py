"""When a dashboard is at rest: nothing is being read, and all that was read is drawn."""

import asyncio
from typing import Any

import anyio
import pytest
from textual._context import active_app
from textual.app import App
from textual.pilot import Pilot
from textual.screen import Screen

from dashboard.app.app import QuarterdeckApp
from tests.patience import PATIENCE_S


async def at_rest(pilot: Pilot[int]) -> None:
    """Let the app work until it is at rest; what was read may ask for more, so that waiting once is not enough."""
    app = pilot.app
    assert isinstance(app, QuarterdeckApp)
    with anyio.fail_after(PATIENCE_S):
        await pilot.pause()
        app.flush()  # not when its timer comes
        await pilot.pause()
        while app.is_running and (app.workers or app.past.playback.busy or _moves(app)):
            await app.workers.wait_for_complete()
            if app.past.playback.busy:
                await anyio.sleep(0.005)  # nothing tells when its thread has read the moment
            for screen in [*app._find_visible_screens()]:
                screen.key_frames.run_deferred()  # on a busy machine the frame of its key came too late
            await pilot.pause()


def _moves(app: QuarterdeckApp) -> bool:
    """Return whether the screen on top is still opening, has yet to be laid out or called back, or holds work back."""
    screen = app.screen
    waits = any(one.key_frames.deferred for one in app._find_visible_screens())
    return app._opening is not None or screen._layout_required or bool(screen._callbacks) or waits


def let_pilots_wait_for_the_loop(patch: pytest.MonkeyPatch) -> None:
    """Let a pilot wait until the event loop has nothing left to run, and all that has changed is drawn.

    By itself it waits until the process takes little of its processor, which on a busy machine it does at any time,
    and has each widget answer a message before and after each key.
    """

    async def until_idle(*_: float) -> None:
        await _nothing_is_left(active_app.get())

    async def until_screen_is_idle(pilot: Pilot[Any], timeout: float = PATIENCE_S) -> bool:
        await _nothing_is_left(pilot.app)
        return not pilot.app._exception_event.is_set()

    for module in ("textual.app", "textual.pilot"):
        patch.setattr(f"{module}.wait_for_idle", until_idle)
    patch.setattr(Pilot, "_wait_for_screen", until_screen_is_idle)


async def _nothing_is_left(app: App[Any]) -> None:
    loop: Any = asyncio.get_running_loop()
    with anyio.fail_after(PATIENCE_S):
        while True:
            await asyncio.sleep(0)  # also where a test waits in a loop for what no task of this loop does
            while loop._ready:  # noqa: ASYNC110 - what runs in this turn of the loop, or will in the next one
                await asyncio.sleep(0)
            if app._resize_timer is not None:
                app._check_resize()
            elif app.is_running and app.screen_stack and _changed(app.screen):
                app.screen._on_timer_update()
                if not loop._ready and _changed(app.screen):
                    return  # it draws nothing now
            else:
                return


def _changed(screen: Screen[Any]) -> bool:
    """Return whether a screen has yet to be drawn, laid out or called back."""
    marks = (screen._layout_required, screen._scroll_required, screen._repaint_required, screen._recompose_required)
    return any(marks) or bool(screen._dirty_widgets or screen._callbacks)
