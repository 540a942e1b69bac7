"""A titled pane of lines that scrolls and has a cursor; pages show several side by side.

The title line belongs to the pane, so that panes are parted by hairlines and not by boxes.
"""

from collections.abc import Iterable, Sequence
from functools import partial

from textual import events
from textual.message import Message

from dashboard.views.drawing.lines import Line, Span, hairline, is_hairline
from dashboard.widgets.lines import CURSOR_KEYS, Lines
from dashboard.widgets.spots import Spot

WHEEL = 3
"""Lines scrolled by one step of the wheel."""


class Panel(Lines, can_focus=True):
    """Show a title and lines below it; lines with a key can be chosen and opened, else the pane scrolls.

    It follows the last line until the user moves elsewhere; `edge` is the sign by which its title joins the line
    between it and what stands at its left, and empty for a pane at the left edge. One that `marks` shows its cursor
    also while the keys go elsewhere.
    """

    BINDINGS = [*CURSOR_KEYS]

    class Opened(Message):
        """A line was opened by enter or a double click."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    class Moved(Message):
        """The cursor stands on another line, or the pane was scrolled."""

        def __init__(self, panel: "Panel") -> None:
            super().__init__()
            self.panel = panel

    def __init__(self, *, id: str, edge: str = "", follows: bool = False, marks: bool = False) -> None:
        super().__init__(id=id)
        self._marks = marks
        self.title, self._right = "", ""
        self.edge = edge
        self._body: tuple[Line, ...] = ()
        self._cursor = ""
        self._place = 0
        """Last index of the line under the cursor, where the cursor stays if that line disappears."""
        self.top = 0
        """Index of the first visible line."""
        self.follows = follows
        """Whether it keeps its last line visible."""
        self._growing_key: str | None = None
        """What the text was about that grew when it was last filled."""
        self._sought = ""
        """Casefolded words whose lines are highlighted."""

    @property
    def room(self) -> int:
        """Number of lines that fit below the title."""
        return max(0, self.size.height - 1)

    @property
    def wide(self) -> int:
        """Width in cells for the lines of a view."""
        return max(1, self.size.width - 2 - len(self.edge))

    @property
    def selected(self) -> str:
        """The key of the line under the cursor; empty if no line has a key."""
        return self._cursor

    @property
    def whole(self) -> str:
        """All lines as plain text, also those out of sight."""
        return "\n".join("".join(span.text for span in line.spans).rstrip() for line in self._body)

    def fill(self, title: str, lines: Sequence[Line], *, right: str = "") -> None:
        """Show these lines under a title; the cursor follows its line."""
        self.title, self._right, self._body = title, right, tuple(lines)
        self._find_cursor()
        self._paint()

    def seek(self, words: str) -> int:
        """Highlight lines with these words, and return their number."""
        if words != self._sought:
            self._sought = words
            self._paint()
        return len(self._hits())

    def _hits(self) -> list[int]:
        return [at for at, line in enumerate(self._body) if self._is_hit(line)]

    def _is_hit(self, line: Line) -> bool:
        return bool(self._sought) and self._sought in "".join(span.text for span in line.spans).casefold()

    def show_hit(self, number: int) -> None:
        """Scroll to one of the highlighted lines."""
        at = self._hits()[number]
        self.follows = False
        if self._body[at].key:
            self._place, self._cursor = at, self._body[at].key
        self.top = self._clamp_top(at - self.room // 2)
        self._paint()
        self.post_message(self.Moved(self))

    def _find_cursor(self) -> None:
        key_indices = self._key_indices()
        if not key_indices:
            self._cursor = ""
            self.top = max(0, len(self._body) - self.room) if self.follows else self._clamp_top(self.top)
            return
        if self.follows:
            self._place = key_indices[-1]
        else:
            matching_places = [at for at in key_indices if self._body[at].key == self._cursor]
            self._place = (
                matching_places[0] if matching_places else min(key_indices, key=lambda at: abs(at - self._place))
            )
        self._cursor = self._body[self._place].key
        if self.follows:
            self.top = max(0, len(self._body) - self.room)
        self.top = self._clamp_top(self.top)

    def _key_indices(self) -> list[int]:
        return [at for at, line in enumerate(self._body) if line.key]

    def _clamp_top(self, top: int) -> int:
        return max(0, min(top, len(self._body) - self.room))

    def _into_sight(self) -> None:
        if self._place < self.top:
            self.top = self._place
        elif self._place >= self.top + self.room:
            self.top = self._place - self.room + 1
        self.top = self._clamp_top(self.top)

    def _paint(self) -> None:
        visible_lines = list(self._body[self.top : self.top + self.room])
        blank = [Line()] * (self.room - len(visible_lines))
        lines = [
            self._add_edges(line, self._is_chosen(line, at))
            for at, line in enumerate([*visible_lines, *blank], self.top)
        ]
        self.show([self._heading(), *lines])

    def _is_chosen(self, line: Line, at: int) -> bool:
        return bool(line.key) and at == self._place and (self._marks or self.has_focus)

    def _heading(self) -> Line:
        title = hairline(self.title, self.size.width - len(self.edge), right=self._right)
        joint = (Span(self.edge, "line"),) if self.edge else ()
        spans = title.spans
        if self.has_focus and len(spans) > 1:
            spans = (spans[0], spans[1]._replace(tone="accent"), *spans[2:])
        return Line((*joint, *spans))

    def _add_edges(self, line: Line, chosen: bool) -> Line:
        if is_hairline(line):  # it goes to both edges
            return Line((Span("├" if self.edge else "", "line"), *line.spans, Span("──", "line")))
        edge = (Span("│", "line"),) if self.edge else ()
        mark = Span("▌", "accent") if chosen else Span(" ")
        under = ("selected" if self.has_focus else "away") if chosen else "away" if self._is_hit(line) else line.tone
        return Line((*edge, mark, *line.spans), line.key, under)

    def on_focus(self) -> None:
        self._paint()

    def on_blur(self) -> None:
        self._paint()

    def on_resize(self) -> None:
        super().on_resize()
        self._find_cursor()
        self._paint()

    def _scroll(self, by: int) -> None:
        before = self.top
        self.top = self._clamp_top(self.top + by)
        at_end = self.top + self.room >= len(self._body)
        self.follows = at_end if by > 0 else self.follows and before == self.top
        self._paint()
        self.post_message(self.Moved(self))

    def action_move(self, by: int) -> None:
        key_indices = self._key_indices()
        if not key_indices:
            self._scroll(by)
            return
        at = key_indices.index(self._place) if self._place in key_indices else 0
        self._go(key_indices, at + by)

    def action_page(self, by: int) -> None:
        key_indices = self._key_indices()
        if not key_indices:
            self._scroll(by * max(1, self.room - 1))
            return
        target = self._place + by * max(1, self.room - 1)
        self._go(key_indices, min(range(len(key_indices)), key=lambda index: abs(key_indices[index] - target)))

    def action_edge(self, towards: int) -> None:
        key_indices = self._key_indices()
        if not key_indices:
            self._scroll(towards * len(self._body))
        else:
            self._go(key_indices, len(key_indices) - 1 if towards > 0 else 0)

    def _go(self, key_indices: list[int], at: int) -> None:
        self._place = key_indices[max(0, min(at, len(key_indices) - 1))]
        self._cursor = self._body[self._place].key
        self.follows = self.follows and self._place == key_indices[-1]
        self._into_sight()
        self._paint()
        self.post_message(self.Moved(self))

    def follow(self) -> None:
        """Go to the last line and stay there."""
        self.follows = True
        self._find_cursor()
        self._paint()
        self.post_message(self.Moved(self))

    def follow_growth(self, key: str | None) -> str:
        """Follow the end of a text from when it begins to grow, unless it is held; return what the title says of that.

        Args:
            key: What the text that grows now is about; None if it does not grow.
        """
        key_before, self._growing_key = self._growing_key, key
        if key is None:
            if self.follows:
                self.follows, self.top = False, 0
            return ""
        self.follows = self.follows or key != key_before
        return "following · f holds" if self.follows else "held · f follows"

    def action_open(self) -> None:
        if self._cursor:
            self.post_message(self.Opened(self._cursor))

    def spots(self) -> Iterable[Spot]:
        """Return spots of the pane itself and of its visible lines with a key."""
        left = len(self.edge)
        yield Spot(left, 0, self._jump)
        for y, line in enumerate(self._body[self.top : self.top + self.room], 1):
            if line.key:
                yield Spot(left, y, partial(self._jump, self.top + y - 1))

    def _jump(self, place: int | None = None) -> None:
        self.focus()
        if place is not None and place in (key_indices := self._key_indices()):
            self._go(key_indices, key_indices.index(place))

    def on_click(self, event: events.Click) -> None:
        if self.is_gripped(event):
            return
        at = event.y - 1 + self.top
        if event.y < 1 or at >= len(self._body) or not self._body[at].key:
            return
        self._place, self._cursor, self.follows = at, self._body[at].key, False
        self._paint()
        self.post_message(self.Moved(self))
        if event.chain > 1:
            self.action_open()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self._scroll(WHEEL)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self._scroll(-WHEEL)
