"""A pane of lines that a view has made: paints those that differ, and tells what was clicked."""

from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Literal

from rich.segment import Segment
from textual import events
from textual.geometry import Offset, Region, Size
from textual.message import Message
from textual.reactive import Reactive
from textual.strip import Strip
from textual.widget import Widget

from dashboard.views.drawing.lines import BLANK, Line, fit_and_measure
from dashboard.widgets.tones import Toned


class Lines(Toned, Widget):
    """Show lines; post `Clicked` with the key of the one that was clicked.

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
        """The hairline at its edge was moved to a cell of the screen; None: put it back where it was at first."""

        def __init__(self, lines: "Lines", at: Offset | None, *, done: bool) -> None:
            super().__init__()
            self.lines, self.at = lines, at
            self.done = done
            """Whether the button was released."""

    class Resized(Message):
        """It has another size, for which what it shows can be made anew."""

        def __init__(self, lines: "Lines") -> None:
            super().__init__()
            self.lines = lines

    virtual_size = Reactive(Size(0, 0))
    """Without a second layout of the screen where its size has changed: it never scrolls."""
    grip: Literal["", "left", "top"] = ""
    """The edge at which its hairline can be dragged."""
    _dragging = False

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._lines: tuple[Line, ...] = ()
        self._strips: dict[Line, Strip] = {}

    def show(self, lines: Sequence[Line]) -> None:
        """Show these lines from the top; more than fit are not seen."""
        # All are kept: a pane that was just made larger has its new size only after the next layout.
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
        """Return what stands at some places; a line that stood elsewhere before is not made anew."""
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
        """Tell whether the mouse is on the hairline that can be dragged."""
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
        # Above it, or below, after what moved it under a pressed button.
        line = self._lines[event.y] if 0 <= event.y < len(self._lines) else BLANK
        if line.key:
            self.post_message(self.Clicked(self, line.key))
