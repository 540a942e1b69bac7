"""What an operator does at the dashboard, and sees there: pictures and the recorded tour are taken with it."""

import time
from collections.abc import Callable

from textual.pilot import Pilot

from dashboard.app.app import QuarterdeckApp
from engine.core.activities import ActivityKind
from engine.core.state import Agent

PATIENCE_S = 600.0


async def go(app: QuarterdeckApp, pilot: Pilot[int], place: str, selected: str | None = None) -> None:
    """Show a screen, with the cursor on a row."""
    app.action_go(place, selected=selected)
    await settle(pilot)


async def settle(pilot: Pilot[int], pause_s: float = 0.4) -> None:
    """Let what was read and what was pressed reach the screen."""
    await pilot.app.workers.wait_for_complete()
    await pilot.pause(pause_s)


async def until(pilot: Pilot[int], condition: Callable[[], object], awaited: str) -> None:
    """Let the dashboard work until something is so.

    Raises:
        TimeoutError: It did not come about within PATIENCE_S.
    """
    deadline_s = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline_s:
            raise TimeoutError(f"{awaited} did not come about within {PATIENCE_S:.0f} s")
        await pilot.pause(0.05)


def named(app: QuarterdeckApp, name: str) -> Agent:
    """The agent of that name."""
    return next(agent for agent in app.feed.state.agents.values() if agent.name == name)


def busy(app: QuarterdeckApp, name: str) -> bool:
    """Whether an agent has an attempt under way."""
    return bool(named(app, name).running)


def kind_of(app: QuarterdeckApp, name: str) -> ActivityKind:
    """What kind of thing an agent does at present."""
    return app.view.counts.activities.of_agent(named(app, name)).kind


def said(app: QuarterdeckApp) -> str:
    """The status line."""
    return app.messages.current.text if app.messages.current is not None else ""


def drawn(app: QuarterdeckApp) -> str:
    """What the screen looks like now."""
    return app.export_screenshot(title="quarterdeck demo", simplify=True)
