"""Rows on the screen: a line-API table that makes and paints only what is visible, and one that follows its newest row.

What changed since the last look is brighter for two seconds. When the order changes, the cursor stays on its row and
the row on its line of the screen, so that a key never acts on a row that is out of sight.
"""

from collections.abc import Sequence

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from dashboard.views.rows import GAP, Cell, Column, Listing, Rows, fitted
from dashboard.widgets.tones import Toned, fit

FRESH_MS = 2_000
"""How long a changed cell is brighter."""
HEADINGS = 1
"""Lines above the rows."""


class Table(Toned, ScrollView, can_focus=True):
    """Show rows; post `Opened` for enter or a second click, `Moved` when the cursor goes elsewhere."""

    DEFAULT_CSS = """
    Table {
        height: 1fr;
        overflow-x: hidden;
        scrollbar-size-vertical: 1;
    }
    """
    BINDINGS = [
        Binding("up,k", "move(-1)", "up", show=False),
        Binding("down,j", "move(1)", "down", show=False),
        Binding("pageup,ctrl+b", "page(-1)", "page up", show=False),
        Binding("pagedown,ctrl+f", "page(1)", "page down", show=False),
        Binding("home,g", "edge(-1)", "first", show=False),
        Binding("end,G", "edge(1)", "last", show=False),
        Binding("enter", "open", "open", show=False),
    ]

    class Opened(Message):
        """A row was chosen."""

        def __init__(self, table: "Table", key: str) -> None:
            super().__init__()
            self.table = table
            self.key = key

        @property
        def control(self) -> "Table":
            return self.table

    def __init__(self, *, id: str, sorts: bool = False) -> None:
        """Show no row yet; where rows change places (`sorts`), the cursor stays on the first until it is moved."""
        super().__init__(id=id)
        self._sorts = sorts
        self.rows: Rows = Listing((), (), lambda key: ())
        """What is shown."""
        self._cursor: str | None = None
        self.line = 0
        """The row under the cursor."""
        self.placed = False
        """Whether the operator has put the cursor where it is."""
        self._now_ms = 0
        self._seen: dict[str, tuple[str, ...]] = {}
        self._fresh: dict[str, dict[int, int]] = {}
        """Of rows in sight, the cells that changed, and until when each is brighter."""
        self._room_for: tuple[Sequence[Column], int] = ((), 0)
        self._rooms: list[tuple[int, int]] = []
        self.marked: dict[str, None] = {}
        """Keys of rows that were marked, in the order of marking."""

    @property
    def selected(self) -> str | None:
        """Key of the row under the cursor; None of an empty table."""
        return self._cursor if len(self.rows.keys) else None

    @property
    def room(self) -> int:
        """Rows that fit on the screen."""
        return max(1, self.size.height - HEADINGS)

    def show(self, listing: Rows, now_ms: int) -> None:
        """Show these rows as of `now_ms`; only lines that differ are painted again."""
        whole = self._layout_of(listing) != self._layout_of(self.rows)
        self.rows, self._now_ms = listing, now_ms
        self.virtual_size = Size(self.size.width, len(listing.keys) + HEADINGS)
        before = self.line
        self._find_cursor()
        self._keep_in_sight(before)
        changed = self._notice()
        if whole or before != self.line or not len(listing.keys):
            self.refresh()
        else:
            for line in changed:
                self.refresh(Region(0, line, self.size.width, 1))

    def select(self, key: str) -> bool:
        """Put the cursor on a row; False when there is none with that key."""
        index = self.rows.index(key)
        if index is None:
            return False
        self.place(index)
        return True

    def _layout_of(self, listing: Rows) -> tuple[object, ...]:
        top = self.scroll_offset.y
        return (tuple(listing.columns), tuple(listing.keys[top : top + self.room]), len(listing.keys) == 0)

    def _find_cursor(self) -> None:
        """Stay on the same row; where it is gone, on the same line."""
        if self._sorts and not self.placed:
            self._cursor, self.line = None, 0
            self.scroll_to(y=0, animate=False, force=True, immediate=True)
        index = self.rows.index(self._cursor)
        self.line = index if index is not None else min(self.line, max(0, len(self.rows.keys) - 1))
        self._cursor = self.rows.keys[self.line] if len(self.rows.keys) else None

    def _keep_in_sight(self, before: int) -> None:
        """Scroll so that the row under the cursor, on line `before` until now, keeps its place on the screen."""
        top = self.scroll_offset.y
        if self.line != before and top <= before < top + self.room:
            self.scroll_to(y=max(0, top + self.line - before), animate=False, force=True, immediate=True)

    def _notice(self) -> list[int]:
        """Compare what is visible with what was; return the lines to paint again."""
        top, seen, lines = self.scroll_offset.y, {}, []
        for index in range(top, min(top + self.room, len(self.rows.keys))):
            key, cells = self.rows.keys[index], self.rows.cells(index)
            texts = tuple(cell.text + cell.tone for cell in cells)
            seen[key] = texts
            old = self._seen.get(key)
            if old is not None and old != texts:
                self._brighten(key, old, texts)
            if old != texts or self._faded(key):
                lines.append(index - top + HEADINGS)
        self._seen = seen
        self._fresh = {key: places for key, places in self._fresh.items() if places and key in seen}
        return lines

    def _brighten(self, key: str, old: tuple[str, ...], new: tuple[str, ...]) -> None:
        for place, (before, after) in enumerate(zip(old, new, strict=False)):
            if before != after and not self.rows.columns[place].calm:
                self._fresh.setdefault(key, {})[place] = self._now_ms + FRESH_MS

    def _faded(self, key: str) -> bool:
        fresh = self._fresh.get(key, {})
        over = [place for place, until_ms in fresh.items() if until_ms <= self._now_ms]
        for place in over:
            del fresh[place]
        return bool(over)

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        if y < HEADINGS:
            return self._heading(width)
        index = y - HEADINGS + self.scroll_offset.y
        if index >= len(self.rows.keys):
            return self._below(y, width)
        return self._row(index, width)

    def _heading(self, width: int) -> Strip:
        style = self.rich_style + self.tone("heading")
        cells = [Cell(column.title) for column in self.rows.columns]
        return self._line_of(cells, style, width, key=None)

    def _row(self, index: int, width: int) -> Strip:
        style = self.rich_style
        if index == self.line:
            style += self.tone("selected" if self.has_focus else "away")
        return self._line_of(self.rows.cells(index), style, width, key=self.rows.keys[index])

    def _fitted(self, width: int) -> list[tuple[int, int]]:
        """Return the columns that fit; worked out once for all lines."""
        asked = (self.rows.columns, width)
        if self._room_for != asked:
            self._room_for, self._rooms = asked, fitted(*asked)
        return self._rooms

    def _line_of(self, cells: Sequence[Cell], style: Style, width: int, *, key: str | None) -> Strip:
        columns, bright = self.rows.columns, self._fresh.get(key or "", {})
        mark = Segment("▪", style + self.tone("accent")) if key in self.marked else Segment(" ", style)
        segments = [mark]
        for place, (index, room) in enumerate(self._fitted(width - 2)):
            if place:
                segments.append(Segment(" " * GAP, style))
            cell = cells[index] if index < len(cells) else Cell("")
            segments += self._cell(cell, columns[index], room, style, fresh=index in bright)
        return Strip(segments).adjust_cell_length(width, style)

    def _cell(self, cell: Cell, column: Column, room: int, style: Style, *, fresh: bool) -> list[Segment]:
        toned = style + self.tone(cell.tone)
        if fresh:
            toned += self.tone("fresh")
        if not cell.lead:
            return [Segment(fit(cell.text, room, right=column.right), toned)]
        lead = fit(cell.lead, min(len(cell.lead), room))
        return [
            Segment(lead, style + self.tone("faint")),
            Segment(fit(cell.text, max(0, room - len(cell.lead))), toned),
        ]

    def _below(self, y: int, width: int) -> Strip:
        """What stands under the last row: nothing, or of an empty table what would be here."""
        style = self.rich_style
        line = y - HEADINGS - max(1, self.room // 3)
        if len(self.rows.keys) or not 0 <= line < len(self.rows.empty):
            return Strip([Segment(" " * width, style)])
        text = fit(self.rows.empty[line], max(0, width - 6))
        toned = style + self.tone("strong" if line == 0 else "muted")
        return Strip([Segment("   ", style), Segment(text, toned)]).adjust_cell_length(width, style)

    def go_to(self, index: int) -> None:
        """Put the cursor on a row and make it visible."""
        if not len(self.rows.keys):
            return
        self.line = max(0, min(index, len(self.rows.keys) - 1))
        self._cursor = self.rows.keys[self.line]
        top = self.scroll_offset.y
        if self.line < top:
            self.scroll_to(y=self.line, animate=False)
        elif self.line >= top + self.room:
            self.scroll_to(y=self.line - self.room + 1, animate=False)
        self.refresh()

    def mark(self, key: str) -> None:
        """Mark a row, or take its mark off."""
        if self.marked.pop(key, self) is self:
            self.marked[key] = None
        self.refresh()

    def unmark(self) -> None:
        """Take every mark off."""
        self.marked.clear()
        self.refresh()

    def place(self, index: int) -> None:
        """Put the cursor on a row because the operator wants it there."""
        self.placed = True
        self.go_to(index)

    def action_move(self, by: int) -> None:
        self.place(self.line + by)

    def action_page(self, by: int) -> None:
        self.place(self.line + by * self.room)

    def action_edge(self, towards: int) -> None:
        self.place(len(self.rows.keys) if towards > 0 else 0)

    def action_open(self) -> None:
        if self.selected is not None:
            self.post_message(self.Opened(self, self.selected))

    def on_click(self, event: events.Click) -> None:
        index = event.y - HEADINGS + self.scroll_offset.y
        if event.y < HEADINGS or index >= len(self.rows.keys):
            return
        again = index == self.line and event.chain > 1
        self.place(index)
        if again:
            self.action_open()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Let the cursor come along when the wheel or the bar scrolls its row out of sight."""
        super().watch_scroll_y(old_value, new_value)
        top, last = round(new_value), len(self.rows.keys) - 1
        line = max(0, min(max(self.line, top), top + self.room - 1, last))
        if line != self.line and last >= 0:
            self.placed, self.line, self._cursor = True, line, self.rows.keys[line]
            self.refresh()

    def on_resize(self) -> None:
        """Keep the cursor on the screen; what is in sight now is what the next look is compared with."""
        self.virtual_size = Size(self.size.width, len(self.rows.keys) + HEADINGS)
        self._notice()
        self.call_after_refresh(self.go_to, self.line)

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()


class Log(Table):
    """Show the journal."""

    DEFAULT_CSS = """
    Log { height: 1fr; }
    """

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.following = True
        """True while the cursor stays on the newest event."""

    @property
    def top(self) -> int:
        """The first row that is visible."""
        return self.scroll_offset.y

    def show(self, listing: Rows, now_ms: int) -> None:
        super().show(listing, now_ms)
        if self.following and len(listing.keys):
            self.to_end()

    def to_end(self) -> None:
        """Go to the newest event and stay there."""
        self.following = True
        last = len(self.rows.keys) - 1
        if last != self.line or self.scroll_offset.y != max(0, last + 1 - self.room):
            self.go_to(last)

    def action_move(self, by: int) -> None:
        super().action_move(by)
        self._settle()

    def action_page(self, by: int) -> None:
        super().action_page(by)
        self._settle()

    def action_edge(self, towards: int) -> None:
        super().action_edge(towards)
        self._settle()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        # By wheel or scrollbar: who looks at older lines does not want to be pulled away.
        if new_value < old_value and round(new_value) + self.room < len(self.rows.keys):
            self.following = False

    def _settle(self) -> None:
        self.following = self.line >= len(self.rows.keys) - 1
