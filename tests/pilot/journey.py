"""A walk over every screen, every page and every action: what is found by itself is covered by itself."""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from textual.events import Paste
from textual.pilot import Pilot
from textual.widgets import Input, TextArea

from dashboard.actions import ACTIONS
from dashboard.app.app import QuarterdeckApp
from dashboard.deck.places import HOME, pages, places
from dashboard.frame.frame import Frame
from dashboard.frame.once_screen import OnceScreen
from dashboard.frame.table_screen import TableScreen
from tests.patience import PATIENCE_S

LEAVES = frozenset({"quit", "engine", "hand-over"})
"""Actions that leave the dashboard, or ask for an engine of this machine."""
WRITTEN = (
    ("network", 3, "swap"), ("network", 0, "strategy"), ("tasks", 0, "steer"), ("inbox", 0, "answer"),
    ("runs", 0, "run"), ("network", 0, "export"), ("network", 0, "import"), ("network", 3, "edit"),
    ("network", 3, "capability"), ("network", 0, "set"), ("tasks", 0, "deadline"),
)  # fmt: skip
"""Where actions are called whose dialogs have lines to write in: place, row, action."""
OF_EVERY_PLACE = ("question_mark", "d", "y", "Y")
"""Keys of every screen: its help, what its cursor is on in words and as JSON, and that row for the clipboard."""
NONE = "none\x1b[2J\u202e"
DEEPEST = 6
SIZE = (112, 31)
"""The smallest at which a screen has all its parts: panes beside and below, and the second line of the header."""
UNDER_PAGES = "inbox"
"""Where pages are opened: what a page is left for is drawn again each time, and this is drawn fast."""


class Journey:
    """Goes everywhere in a dashboard, and calls `look` with the name of where it is.

    Args:
        pilot: The hand on the keys.
        look: Is told where it stands, once what is there has been read and drawn.
    """

    def __init__(self, pilot: Pilot[int], look: Callable[[str], None]) -> None:
        assert isinstance(pilot.app, QuarterdeckApp)
        self.app, self._pilot, self._look = pilot.app, pilot, look
        self.app.open_database = lambda path: None  # type: ignore[method-assign]  # would end it

    async def begin(self) -> None:
        """Wait for the first look at the file."""
        await self.until(lambda: isinstance(self.app.screen, Frame) and self.app.feed.has_polled and self._is_read())

    def _is_read(self) -> bool:
        return not self.app.feed.behind and not self.app.view.situation.opening

    async def until(self, holds: Callable[[], object]) -> None:
        """Let the app work until something is so."""
        until_s = time.monotonic() + PATIENCE_S
        while not holds():
            assert time.monotonic() < until_s, self.app.messages.current
            await self._pilot.pause(0.02)

    async def settle(self) -> None:
        """Let what was asked for come, and be drawn."""
        await self._pilot.pause(0)
        await self.app.workers.wait_for_complete()
        self._do(lambda: setattr(self.app, "view", self.app._make_view()))
        self._do(self.app.show)
        await self._pilot.pause(0)  # without it waits until the process idles, which its threads do not
        await self.until(self._is_drawn)

    def _is_drawn(self) -> bool:
        screen = self.app.screen
        if (
            isinstance(screen, OnceScreen) and screen._cells[0].text == screen.WAITING
        ):  # it began to read only once it was mounted
            return False
        lines = screen._compositor.render_strips()
        return any(segment.text.strip() for line in lines for segment in line)

    def _do(self, deed: Callable[[], object]) -> None:
        """Do something as the app itself would: what it starts knows of which app it is."""
        with self.app._context():
            deed()

    async def press(self, key: str) -> None:
        """Press a key, and look on."""
        self.app.simulate_key(key)
        await self.settle()

    async def back(self) -> None:
        """Leave dialogs and lines by escape, as far as the screen of the place."""
        for _ in range(DEEPEST):
            screen = self.app.screen
            if self._is_at_place and not isinstance(self.app.focused, Input):
                return
            await self.press("escape")
            if self.app.screen is screen and isinstance(screen, Frame) and not screen.PLACE:
                await self.press("escape")
        assert self._is_at_place, f"escape does not lead back from {self.app.screen}"

    @property
    def _is_at_place(self) -> bool:
        return isinstance(self.app.screen, Frame) and bool(self.app.screen.PLACE)

    async def go(self, place: str) -> Frame:
        """Show a screen."""
        self._do(partial(self.app.action_go, place))
        await self.until(lambda: isinstance(self.app.screen, Frame) and place == self.app.screen.PLACE)
        await self.settle()
        self._look(place)
        assert isinstance(self.app.screen, Frame)
        return self.app.screen

    async def every_place(self, keys: Sequence[str] = OF_EVERY_PLACE) -> None:
        """Show every screen, and what these keys open over it."""
        for place in places():
            await self.go(place)
            for key in keys:
                await self.press(key)
                self._look(f"{place}, {key}")
                await self.back()
                assert isinstance(self.app.screen, Frame)
                assert place == self.app.screen.PLACE, f"{key} on {place} leads back to {self.app.screen.PLACE}"

    async def every_page(self) -> None:
        """Show every page about some of what it is for, and about what is not there."""
        await self.go(UNDER_PAGES)
        everything = list(subjects(self.app))
        for page in pages():
            kind = getattr(self.app.feed.state, f"{page}s", None)
            for key in (*([*kind][:1] + [*kind][-1:] if kind else everything), NONE):
                self._do(partial(self.app.open, page, key))
                await self.settle()
                self._look(f"{page}/{key}"[:40])
                await self.back()

    async def every_action(self, place: str, row: int, *, writes: bool = False) -> None:
        """Do all that can be done on a screen with the cursor on a row, or all that changes the team."""
        screen = await self.go(place)
        for action in ACTIONS:
            if action.name in LEAVES or action.name in places() or (writes and not action.writes):
                continue
            if isinstance(screen, TableScreen):
                screen.table.go_to(row)
            self._do(partial(screen.action_act, action.name))
            await self.settle()
            self._look(f"{place} {row}, {action.name}")
            await self.back()
            if self.app.past.is_shown:
                self._do(self.app.past.live)
            if self.app.screen is not screen:
                await self.go(place)

    async def pasted(self, text: str) -> None:
        """Paste a text into every line of every dialog that an action opens, and into the palette."""
        for place, row, name in WRITTEN:
            screen = await self.go(place)
            if isinstance(screen, TableScreen):
                screen.table.go_to(row)
            self._do(partial(screen.action_act, name))
            await self.settle()
            lines = [one for one in self.app.screen.query("*") if isinstance(one, Input | TextArea) and one.can_focus]
            assert self.app.screen is not screen, f"{name} on {place} opens nothing: {self.app.messages.current}"
            self._look(f"dialog of {name}")
            for line in lines:
                self._do(line.focus)
                await self.settle()
                await self._paste(text)
                self._look(f"pasted into {name}")
            await self.back()
        await self.go(HOME)
        await self.press("ctrl+p")
        await self._paste(text)
        self._look("pasted into the palette")
        await self.back()

    async def _paste(self, text: str) -> None:
        self.app.post_message(Paste(text))
        await self.settle()

    async def typed(self, text: str) -> None:
        """Paste a text into each of the lines."""
        await self.go(HOME)
        for key in ("colon", "slash", "n"):
            await self.press(key)
            await self._paste(text)
            self._look(f"pasted after {key}")
            await self.press("enter")
            self._look(f"given after {key}")
            await self.back()
            await self.press("escape")


def subjects(app: QuarterdeckApp) -> Iterator[str]:
    """Return one thing of every kind, and an event."""
    state = app.feed.state
    for kind in (state.supervisors, state.agents, state.tasks, state.runs, state.escalations, state.registry):
        yield from list(kind)[-1:]
    yield str(state.seq // 2)
