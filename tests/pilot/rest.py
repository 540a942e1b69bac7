"""When a dashboard is at rest: nothing is being read, and all that was read is drawn."""

import anyio
from textual.pilot import Pilot

from dashboard.app import QuarterdeckApp
from tests.patience import PATIENCE_S


async def at_rest(pilot: Pilot[int]) -> None:
    """Let the app work until it is at rest; what was read may ask for more, so that waiting once is not enough."""
    app = pilot.app
    assert isinstance(app, QuarterdeckApp)
    with anyio.fail_after(PATIENCE_S):
        await pilot.pause()
        while app.is_running and (app.workers or _moves(app)):
            await app.workers.wait_for_complete()
            await pilot.pause()


def _moves(app: QuarterdeckApp) -> bool:
    """Tell whether the screen on top is still opening, or has yet to be laid out or called back."""
    screen = app.screen
    return app._opening is not None or screen._layout_required or bool(screen._callbacks)
