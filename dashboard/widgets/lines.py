"""A pane of lines made by a view: repaints only those that differ, and reports clicks."""

from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Literal

from rich.segment import Segment
from textual import events
from textual.binding import Binding
from textual.geometry import Offset, Region, Size
from textual.message import Message
from textual.reactive import Reactive
from textual.strip import Strip
from textual.widget import Widget

from dashboard.views.drawing.lines import BLANK, Line, fit_and_measure
from dashboard.widgets.tones import Toned

CURSOR_KEYS = (
    Binding("up,k", "move(-1)", "up", show=False),
    Binding("down,j", "move(1)", "down", show=False),
    Binding("pageup,ctrl+b", "page(-1)", "page up", show=False),
    Binding("pagedown,ctrl+f", "page(1)", "page down", show=False),
    Binding("home,g", "edge(-1)", "first", show=False),
    Binding("end,G", "edge(1)", "last", show=False),
    Binding("enter", "open", "open", show=False),
)
"""Keys of widgets whose cursor moves over lines."""


class Lines(Toned, Widget):
    """Show lines; post `Clicked` with the key of the line that was clicked.

    Painting only what differs keeps a frame with several moving panes within its budget.
    """

    DEFAULT_CSS = """
    Lines { height: 1fr; width: 1fr; }
    """

    class Clicked(Message):
        """A line with a key was clicked."""

        def __init__(self, lines: "Lines", key: str) -> None:
            super().__init__()
            self.lines, self.key = lines, key

    class Dragged(Message):
        """The hairline at its edge was dragged to a cell of the screen; None resets it to its own size."""

        def __init__(self, lines: "Lines", at: Offset | None, *, done: bool) -> None:
            super().__init__()
            self.lines, self.at = lines, at
            self.done = done
            """Whether the button was released."""

    class Resized(Message):
        """Its size has changed, so that its lines can be made again for that."""

        def __init__(self, lines: "Lines") -> None:
            super().__init__()
            self.lines = lines

    virtual_size = Reactive(Size(0, 0))
    """Without `layout=True`: it never scrolls, so a new size needs no second layout of the screen."""
    grip: Literal["", "left", "top"] = ""
    """The edge at which its hairline can be dragged."""
    _dragging = False

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._lines: tuple[Line, ...] = ()
        self._strips: dict[Line, Strip] = {}

    def show(self, lines: Sequence[Line]) -> None:
        """Show these lines from the top; those that do not fit are cut off."""
        # Keep all: a pane that has just been made larger has its new size only after the next layout.
        before, after = self._lines, tuple(lines)
        self._lines = after
        old_strips = self._strips
        self._strips = {line: old_strips[line] for line in after if line in old_strips}
        width = self.size.width
        rows = enumerate(zip_longest(before, after, fillvalue=BLANK))
        if changed := [Region(0, y, width, 1) for y, (old, new) in rows if old != new]:
            self.refresh(*changed)

    @property
    def text(self) -> str:
        """What it shows, as plain text."""
        return "\n".join("".join(span.text for span in line.spans).rstrip() for line in self._lines)

    def notify_style_update(self) -> None:
        self._strips.clear()
        super().notify_style_update()

    def on_resize(self) -> None:
        self._strips.clear()
        self.refresh()
        self.post_message(self.Resized(self))

    def render_lines(self, crop: Region) -> list[Strip]:
        return self.clip_strips(self._draw_lines(crop.line_range), crop)

    def render_line(self, y: int) -> Strip:
        return self._draw_lines([y])[0]

    def _draw_lines(self, places: Iterable[int]) -> list[Strip]:
        """Return the strips of some rows; strips of lines that were shown before, in any row, are reused."""
        strips, width, base = self._strips, self.size.width, self.rich_style
        visible_strips = []
        for y in places:
            line = self._lines[y] if y < len(self._lines) else BLANK
            strip = strips.get(line)
            if strip is None:
                style = self.on(base)[line.tone]
                on = self.on(style)
                spans, left = fit_and_measure(line.spans, width)
                segments = [Segment(span.text, on[span.tone]) for span in spans]
                if left:
                    segments.append(Segment(" " * left, style))
                strip = strips[line] = Strip(segments, width)
            visible_strips.append(strip)
        return visible_strips

    def is_gripped(self, event: events.MouseEvent) -> bool:
        """Return whether the mouse is on the hairline that can be dragged."""
        return (self.grip == "left" and event.x == 0) or (self.grip == "top" and event.y == 0)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        if self.is_gripped(event):
            self._dragging = True
            self.capture_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._dragging:
            self.post_message(self.Dragged(self, event.screen_offset, done=False))

    def on_mouse_up(self, event: events.MouseUp) -> None:
        if self._dragging:
            self._dragging = False
            self.release_mouse()
            self.post_message(self.Dragged(self, event.screen_offset, done=True))

    def on_click(self, event: events.Click) -> None:
        if self.is_gripped(event):
            if event.chain > 1:
                self.post_message(self.Dragged(self, None, done=True))
            return
        # A click can end above or below the pane if the pane has moved while the button was down.
        line = self._lines[event.y] if 0 <= event.y < len(self._lines) else BLANK
        if line.key:
            self.post_message(self.Clicked(self, line.key))
