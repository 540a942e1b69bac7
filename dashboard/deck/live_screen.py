"""What every screen and dialog does: it shows the team as of the last redraw, and answers a key at once."""

import time
from collections.abc import Callable
from functools import cached_property
from typing import Any

from textual import events
from textual.await_complete import AwaitComplete
from textual.message_pump import MessagePump
from textual.screen import Screen

from dashboard.deck.deck import Deck, deck_of
from dashboard.views.view_state import ViewState
from dashboard.widgets.textual_seams import paint_now
from engine.core.state import State

HAND_OVER_S = 0.0001
"""How long the event loop releases the interpreter after a frame, for the thread that writes it, in seconds."""


class KeyFrames:
    """The frames of a screen that answer keys: painted at once, because Textual's timer may take two of its periods."""

    def __init__(self, screen: Screen[Any]) -> None:
        self._screen = screen
        self.deferred: list[Callable[[], None]] = []
        """Callbacks that wait for the frame of a key."""

    def paint(self) -> None:
        """Paint the effect of a key."""
        screen = self._screen
        if not screen.is_current or not isinstance(screen.app, Deck):
            return
        if paint_now(screen, screen.app.pace.should_paint):
            time.sleep(HAND_OVER_S)
            screen.call_next(self.run_deferred)

    def call_after(self, do: Callable[[], None]) -> None:
        """Call `do` after the frame that answers a key; at once if there is no such key."""
        if isinstance(self._screen.app, Deck) and self._screen.app.pace.is_answering:
            self.deferred = [*dict.fromkeys([*self.deferred, do])]
        else:
            do()

    def run_deferred(self) -> None:
        """Run the callbacks that waited for the frame of a key."""
        callbacks, self.deferred = self.deferred, []
        for callback in callbacks:
            callback()


class LiveScreen(MessagePump):
    """Mixin of every screen and dialog: it shows the team as of the last redraw."""

    has_begun = True
    """False until it can handle keys."""
    holds = False
    """Whether the screen below is not redrawn while this one is on top."""
    typed_ahead: list[events.Key]
    """Keys that arrived before `has_begun`."""

    @cached_property
    def key_frames(self) -> KeyFrames:
        """The frames that answer keys."""
        assert isinstance(self, Screen)
        return KeyFrames(self)

    @property
    def deck(self) -> Deck:
        """The app."""
        assert isinstance(self, Screen)
        return deck_of(self)

    @property
    def state(self) -> State:
        return self.deck.view.state

    def on_idle(self) -> None:
        self.key_frames.paint()

    async def on_event(self, event: events.Event) -> None:
        """Drop resize events whose size is not the current size of the terminal.

        After a layout, a screen sends itself its size once more. With two sizes in the queue, as from a window that
        opens, each layout would send the other size again without end.
        """
        if not isinstance(event, events.Resize) or event.size == self.app.size:
            await super().on_event(event)

    def dismiss(self, result: Any = None) -> AwaitComplete:
        """Close this screen if it is on top: a second click or key must not close the screen below."""
        assert isinstance(self, Screen)
        return Screen.dismiss(self, result) if is_on_top(self) else AwaitComplete()

    def update_view(self, view: ViewState) -> None:
        """Redraw; called when the team has changed."""

    def update_clock(self, view: ViewState) -> None:
        """Redraw; called in place of `update_view` when only the clock has changed."""
        self.update_view(view)

    def update_engine(self, view: ViewState) -> None:
        """Show whether an engine runs, if the header is hidden; called with `update_view`."""


def set_breakpoints(screen: Screen[Any]) -> None:
    """Set the size classes before the first frame; Textual sets them after it, so that the layout would jump."""
    breakpoints = (screen.HORIZONTAL_BREAKPOINTS, screen.VERTICAL_BREAKPOINTS)
    for cells, steps in zip(screen.app.size, breakpoints, strict=True):
        screen.add_class(*[name for least, name in sorted(steps or []) if cells >= least][-1:])


def replay_keys(screen: LiveScreen) -> None:
    """Post the keys again that arrived before the screen had begun."""
    ahead, screen.typed_ahead = screen.typed_ahead, []
    for key in ahead:
        screen.app.post_message(events.Key(key.key, key.character))


def is_on_top(screen: Screen[Any]) -> bool:
    """Return whether a screen is on top; Textual's `is_current` also holds for a visible screen below."""
    return screen.app.screen_stack[-1:] == [screen]
