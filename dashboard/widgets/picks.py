"""A pane of lines, some of which can be chosen by key or mouse."""

from collections.abc import Iterable, Sequence
from functools import partial

from textual import events
from textual.binding import Binding
from textual.message import Message

from dashboard.views.drawing.lines import Line, mark_cursor
from dashboard.widgets.lines import Lines
from dashboard.widgets.spots import Spot


class Picks(Lines, can_focus=True):
    """Show lines, with a cursor on those that have a key; post `Opened` on enter or a double click.

    The cursor follows its key when lines move, and stays at its place if the key disappears.
    """

    BINDINGS = [
        Binding("up,k", "move(-1)", "up", show=False),
        Binding("down,j", "move(1)", "down", show=False),
        Binding("enter", "open", "open", show=False),
    ]

    class Opened(Message):
        """A line with a key was chosen."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._plain_lines: tuple[Line, ...] = ()
        self._cursor, self._place = "", 0

    @property
    def chosen(self) -> str:
        """The key under the cursor; empty while the pane does not have the focus."""
        return self._cursor if self.has_focus else ""

    def show(self, lines: Sequence[Line]) -> None:
        self._plain_lines = tuple(lines)
        keys = self._keys()
        if self._cursor not in keys:
            self._cursor = keys[min(self._place, len(keys) - 1)] if keys else ""
        super().show([self._draw_cursor(line) for line in self._plain_lines])

    def _keys(self) -> list[str]:
        """Return the distinct keys, from the top."""
        return list(dict.fromkeys(line.key for line in self._plain_lines if line.key))

    def _draw_cursor(self, line: Line) -> Line:
        return mark_cursor(line)._replace(tone="selected") if line.key and line.key == self.chosen else line

    def action_move(self, by: int) -> None:
        keys = self._keys()
        if keys:
            now = keys.index(self._cursor) if self._cursor in keys else 0
            self.put(keys[max(0, min(now + by, len(keys) - 1))])

    def put(self, key: str) -> None:
        self._cursor = key
        self._place = self._keys().index(key) if key in self._keys() else 0
        self.show(self._plain_lines)

    def spots(self) -> Iterable[Spot]:
        """Return one spot for each distinct key."""
        rows_by_key = {line.key: y for y, line in reversed([*enumerate(self._plain_lines)]) if line.key}
        return [Spot(0, y, partial(self._jump, key)) for key, y in rows_by_key.items()] if self.can_focus else []

    def _jump(self, key: str) -> None:
        self.focus()
        self.put(key)

    def action_open(self) -> None:
        if self._cursor:
            self.post_message(self.Opened(self._cursor))

    def on_focus(self) -> None:
        self.show(self._plain_lines)

    def on_blur(self) -> None:
        self.show(self._plain_lines)

    def on_click(self, event: events.Click) -> None:
        if self.is_gripped(event):
            return
        line = self._plain_lines[event.y] if 0 <= event.y < len(self._plain_lines) else None
        if line is not None and line.key:
            self.put(line.key)
            if event.chain > 1:
                self.action_open()
