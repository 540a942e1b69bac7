"""A pane of lines that takes the focus and reports which cell was clicked."""

from collections.abc import Iterable, Sequence
from functools import partial

from textual import events
from textual.message import Message

from dashboard.widgets.lines import Lines
from dashboard.widgets.spots import Spot


class Board(Lines, can_focus=True):
    """Show lines; post `Pressed` with the cell that was clicked."""

    class Pressed(Message):
        """A cell was clicked."""

        def __init__(self, x: int, y: int, *, again: bool) -> None:
            super().__init__()
            self.x, self.y = x, y
            self.again = again
            """Whether it is the second click of a double click."""

    class Turned(Message):
        """The wheel was turned."""

        def __init__(self, by: int) -> None:
            super().__init__()
            self.by = by

    places: Sequence[tuple[int, int]] = ()
    """Targets of jump mode; if empty, the lines that have a key."""

    def spots(self) -> Iterable[Spot]:
        places = self.places or [(0, y) for y, line in enumerate(self._lines) if line.key]
        return [Spot(x, y, partial(self._jump, x, y)) for x, y in places]

    def _jump(self, x: int, y: int) -> None:
        self.focus()
        self.post_message(self.Pressed(x, y, again=False))

    def on_click(self, event: events.Click) -> None:
        event.stop()
        self.post_message(self.Pressed(event.x, event.y, again=event.chain > 1))

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.post_message(self.Turned(1))

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.post_message(self.Turned(-1))
