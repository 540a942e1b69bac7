"""The recorded tour of the README: a minute at the controls of a team that is at work."""

from textual.pilot import Pilot

from dashboard.app.app import QuarterdeckApp
from screenshots.film import Frame
from screenshots.operating import busy, drawn, go, named, said, settle, until

SLOW = "parser-fast"
"""The agent that is swapped."""
MOTION_S = 0.5
"""Between two pictures of a screen that moves."""


class Tour:
    """Takes the frames.

    Args:
        app: On a team at work.
        pilot: Presses its keys.
    """

    def __init__(self, app: QuarterdeckApp, pilot: Pilot[int]) -> None:
        self.app, self.pilot = app, pilot
        self.frames: list[Frame] = []

    async def hold(self, caption: str, seconds: float) -> None:
        """Show what is seen now for a while."""
        self.frames.append(Frame(drawn(self.app), caption, seconds))

    async def watch(self, caption: str, pictures: int) -> None:
        """Show what moves."""
        for _ in range(pictures):
            await self.pilot.pause(MOTION_S)
            await self.hold(caption, MOTION_S)

    async def press(self, *keys: str) -> None:
        """Press keys, and let them reach the screen."""
        await self.pilot.press(*keys)
        await settle(self.pilot)


async def tour(app: QuarterdeckApp, pilot: Pilot[int]) -> list[Frame]:
    """Walk through a team that has just begun to work; returns the frames once its request is done."""
    at = Tour(app, pilot)
    await until(pilot, lambda: app.feed.state.agents, "the team")
    await until(pilot, lambda: named(app, SLOW).done >= 2 and busy(app, SLOW), "the work")
    await go(app, pilot, "network", named(app, SLOW).id)
    await at.watch("A team of agents at work, live", 6)
    await swap(at)
    await switch(at)
    await at.press("2")
    await at.watch("2: where work flows", 6)
    await at.press("3")
    await at.watch("3: who did what, when", 3)
    await travel(at)
    await at.press("1")
    await until(pilot, lambda: app.feed.state.finished, "the report")
    await go(app, pilot, "runs", app.feed.state.finished[0].id)
    await at.press("enter")
    await at.hold("7, enter: the report of a run", 4.0)
    return at.frames


async def swap(at: Tour) -> None:
    """Swap an agent that is at work."""
    await at.press("h")
    await at.hold("h: swap this agent while it works", 4.0)
    await at.pilot.press("enter")
    await until(at.pilot, lambda: said(at.app).startswith("✓ swapped"), "the swap")
    await at.watch("Done: old work ends on the old spec, new work begins on the new one", 5)


async def switch(at: Tour) -> None:
    """Look at what another strategy would do."""
    await go(at.app, at.pilot, "network", at.app.feed.state.roots[0].id)
    await at.press("S")
    await at.hold("S: another strategy, with the graph now and after", 4.0)
    await at.press("escape")


async def travel(at: Tour) -> None:
    """Go back to the swap, see what a fork would be, and come back."""
    await at.press("1", "left_square_bracket")
    await until(at.pilot, lambda: at.app.view.past is not None, "the past")
    await settle(at.pilot, 1.2)
    await at.hold("[: back in time, on every screen", 4.0)
    await at.press("F")
    await at.hold("F: go on from here in a copy of the file", 3.0)
    await at.press("escape", "L")
    await until(at.pilot, lambda: at.app.view.past is None, "the newest event")
    await at.watch("L: live again; nothing was lost meanwhile", 4)
