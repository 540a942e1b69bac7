"""What every screen and dialog does: it shows the team as of the last redraw, and answers a key at once."""

import time
from collections.abc import Callable, Sequence
from typing import Any

from textual import events
from textual.await_complete import AwaitComplete
from textual.message_pump import MessagePump
from textual.screen import Screen

from dashboard.deck.deck import Deck
from dashboard.views.view_state import ViewState
from dashboard.widgets.textual_seams import paint_now

HAND_OVER_S = 0.0001
"""How long the event loop releases the interpreter after a frame, for the thread that writes it, in seconds."""


class LiveScreen:
    """Mixin of every screen and dialog: it shows the team as of the last redraw."""

    has_begun = True
    """False until it can handle keys."""
    holds = False
    """Whether the screen below is not redrawn while this one is on top."""
    typed_ahead: list[events.Key]
    """Keys that arrived before `has_begun`."""
    _deferred: Sequence[Callable[[], None]] = ()
    """Callbacks that wait for the frame of a key."""

    def take_breakpoints(self) -> None:
        """Set the size classes before the first frame; Textual sets them after it, so that the layout would jump."""
        assert isinstance(self, Screen)
        breakpoints = (self.HORIZONTAL_BREAKPOINTS, self.VERTICAL_BREAKPOINTS)
        for cells, steps in zip(self.app.size, breakpoints, strict=True):
            self.add_class(*[name for least, name in sorted(steps or []) if cells >= least][-1:])

    def on_idle(self) -> None:
        self.paint_answer()

    def paint_answer(self) -> None:
        """Paint the effect of a key at once: Textual's timer may take two of its periods."""
        assert isinstance(self, Screen)
        if not self.is_current or not isinstance(self.app, Deck):
            return
        if paint_now(self, self.app.pace.should_paint):
            time.sleep(HAND_OVER_S)
            self.call_next(self.run_deferred)

    def after_frame(self, do: Callable[[], None]) -> None:
        """Call `do` after the frame that answers a key; at once if there is no such key."""
        assert isinstance(self, Screen)
        if isinstance(self.app, Deck) and self.app.pace.is_answering:
            self._deferred = [*dict.fromkeys([*self._deferred, do])]
        else:
            do()

    def run_deferred(self) -> None:
        """Run the callbacks that waited for the frame of a key."""
        callbacks, self._deferred = self._deferred, ()
        for callback in callbacks:
            callback()

    def replay_keys(self) -> None:
        """Post the keys again that arrived before `has_begun`."""
        assert isinstance(self, Screen)
        ahead, self.typed_ahead = self.typed_ahead, []
        for key in ahead:
            self.app.post_message(events.Key(key.key, key.character))

    def update_view(self, view: ViewState) -> None:
        """Redraw; called when the team has changed."""

    def update_clock(self, view: ViewState) -> None:
        """Redraw; called in place of `update_view` when only the clock has changed."""
        self.update_view(view)

    def update_engine(self, view: ViewState) -> None:
        """Show whether an engine runs, if the header is hidden; called with `update_view`."""

    def update_time_bar(self, view: ViewState) -> None:
        """Redraw the time bar, if there is one."""


class IgnoreStaleResize(MessagePump):
    """Mixin of screens: drops resize events whose size is not the current size of the terminal.

    After a layout, a screen sends itself its size once more. With two sizes in the queue, as from a window that opens,
    each layout would send the other size again without end.
    """

    async def on_event(self, event: events.Event) -> None:
        if not isinstance(event, events.Resize) or event.size == self.app.size:
            await super().on_event(event)


class ClosesOnce(IgnoreStaleResize):
    """Mixin of modal screens: a second click or key must not close the screen below."""

    def dismiss(self, result: Any = None) -> AwaitComplete:
        """Close this screen if it is on top."""
        assert isinstance(self, Screen)
        return Screen.dismiss(self, result) if is_on_top(self) else AwaitComplete()


def is_on_top(screen: Screen[Any]) -> bool:
    """Tell whether a screen is on top; Textual's `is_current` also holds for a visible screen below."""
    return screen.app.screen_stack[-1:] == [screen]
