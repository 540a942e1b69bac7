"""Tables by the line API, which make and paint only visible rows; one of them follows its newest row.

Changed cells are brighter for two seconds, unless motion is reduced. When the order changes, the cursor stays on its
row and the row on its line of the screen, so that a key never acts on a row that is out of sight.
See docs/decisions/measurements.md.
"""

from collections.abc import Iterable, Sequence, Set
from functools import partial

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from dashboard.views.drawing import lines
from dashboard.views.drawing.rows import EMPTY, GAP, AnyColumn, Cell, Listing, Rows, fit_columns
from dashboard.widgets.lines import CURSOR_KEYS
from dashboard.widgets.spots import Spot
from dashboard.widgets.tones import Toned, fit

FRESH_MS = 2_000
"""How long a changed cell is brighter, in milliseconds."""
PLAIN = ("", "muted", "strong")
"""Tones without meaning: a changed cell in one of them becomes brighter, in any other one bold."""
HEADINGS = 1
"""Lines above the rows."""
MAX_KEPT_LINES = 500
"""Size of the cache of drawn lines."""


class VisibleRows:
    """The rows that can be seen, and which of their cells have changed lately."""

    def __init__(self) -> None:
        self.cells: dict[str, tuple[Cell, ...]] = {}
        """Cells of each row, by its key."""
        self.fresh: dict[str, dict[int, int]] = {}
        """Changed cells of each row, each with the time until which it is brighter."""

    def update(self, rows: Rows, indexes: range, now_ms: int, *, brightens: bool) -> None:
        """Compare the rows with those that were visible before, and note changed cells if these are brightened."""
        cells_by_key = {}
        for index in range(indexes.start, min(indexes.stop, len(rows.keys))):
            key, cells = rows.keys[index], tuple(rows.cells(index))
            cells_by_key[key] = cells
            old = self.cells.get(key, cells) if brightens else cells
            for place, (before, after) in enumerate(zip(old, cells, strict=False)):
                if before[:2] != after[:2] and not rows.columns[place].calm:
                    self.fresh.setdefault(key, {})[place] = now_ms + FRESH_MS
        last_ms = now_ms + FRESH_MS  # later times are from before the clock was set back
        left = {
            key: {at: until for at, until in fresh.items() if now_ms < until <= last_ms}
            for key, fresh in self.fresh.items()
        }
        self.cells, self.fresh = cells_by_key, {key: each for key, each in left.items() if each and key in cells_by_key}


class ColumnNeeds:
    """What growing columns need for their texts: the widest so far, so that columns do not move to and fro."""

    def __init__(self) -> None:
        self.widths: dict[str, int] = {}
        """In cells, by title."""

    def measure(self, columns: Sequence[AnyColumn], rows: Iterable[Sequence[Cell]]) -> None:
        """Take the texts of visible rows into account."""
        for place, column in enumerate(columns):
            needed = self.widths.get(column.title, column.width)
            if column.grow and needed < column.max_width:
                cells = [cells[place] for cells in rows if place < len(cells)]
                widest = max((_text_width(cell, column.max_width) for cell in cells), default=0)
                if widest > needed:
                    self.widths[column.title] = min(widest, column.max_width)


def _text_width(cell: Cell, max_width: int) -> int:
    """Return the cells of a text, at most about `max_width`."""
    texts = [span.text for span in cell.spans] or [cell.lead, cell.text]
    return sum(cell_len(text[:max_width]) for text in texts)


def column_at(x: int, rooms: Sequence[tuple[int, int]], gap: int) -> int | None:
    """Return the index of the column at a cell of the screen, if any."""
    start = 0
    for index, room in rooms:
        if start <= x < start + room + gap:
            return index
        start += room + gap
    return None


class Table(Toned, ScrollView, can_focus=True):
    """Show rows; post `Opened` for enter or a second click."""

    DEFAULT_CSS = """
    Table {
        height: 1fr;
        overflow-x: hidden;
        scrollbar-gutter: stable;
        scrollbar-size-vertical: 1;
    }
    """
    BINDINGS = [*CURSOR_KEYS]

    CURSOR = "▌"
    """Sign before the row under the cursor, in addition to its colour."""
    MARKED, CURSOR_MARKED = "▪", "▙"
    """Signs before a marked row, without and with the cursor."""

    class Moved(Message):
        """The cursor moved to another row."""

    class Resized(Message):
        """The width of the lines has changed since the rows were made."""

    class Headed(Message):
        """A heading was clicked."""

        def __init__(self, title: str) -> None:
            super().__init__()
            self.title = title

    class Opened(Message):
        """A row was chosen."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    def __init__(self, *, id: str, sorts: bool = False, gap: int = GAP) -> None:
        """Show no row yet, later ones with `gap` blanks between two columns.

        Where rows change places (`sorts`), the cursor stays on the first until it is moved.
        """
        super().__init__(id=id)
        self._sorts, self._gap = sorts, gap
        self.rows: Rows = Listing((), (), lambda key: ())
        """The rows that are shown."""
        self._cursor: str | None = None
        self.line = 0
        """Index of the row under the cursor."""
        self.placed = False
        """Whether the operator has moved the cursor."""
        self._now_ms = self._listed_wide = 0
        self._visible = VisibleRows()
        self._room_for: tuple[Sequence[AnyColumn], int, dict[str, int]] = ((), 0, {})
        self._rooms: list[tuple[int, int]] = []
        self._needs = ColumnNeeds()
        self._strips: dict[object, Strip] = {}
        """Cache of drawn lines, by everything that they depend on."""
        self._painted: dict[int, Strip] = {}
        """Lines on the screen, by row of the widget."""
        self._sorted_by = ("", "")
        """Title of the column that sorts the rows, and its sign."""
        self.marked: dict[str, None] = {}
        """Keys of marked rows, in the order of marking."""

    @property
    def selected(self) -> str | None:
        """Key of the row under the cursor; None if the table is empty."""
        return self._cursor if len(self.rows.keys) else None

    @property
    def room(self) -> int:
        """Number of rows that fit on the screen."""
        return max(1, self.size.height - HEADINGS)

    @property
    def wide(self) -> int:
        """Width of a line in cells, without the scroll bar if there is one."""
        return self.size.width - (self.virtual_size.height > self.size.height)

    def head(self, title: str, sign: str) -> None:
        """Set the sign at the heading of the column that sorts the rows; `show` paints it."""
        self._sorted_by = (title, sign)

    def show(self, listing: Rows, now_ms: int) -> None:
        """Show these rows as of `now_ms`; repaint only lines that differ."""
        if listing.columns != self.rows.columns:  # other columns are not changed cells
            self._visible, self._needs = VisibleRows(), ColumnNeeds()
        self.rows, self._now_ms, self._listed_wide = listing, now_ms, self.wide
        self._take_room(len(listing.keys))
        self._tell_width()
        before = self.line
        self._find_cursor()
        self._keep_in_sight(before)
        self._mark_changes()
        self._repaint()

    def _tell_width(self) -> None:
        if self.wide != self._listed_wide:
            self.post_message(self.Resized())

    def _take_room(self, rows: int) -> None:
        """Set the number of rows to scroll over; lay the screen out only if the scroll bar appears or disappears."""
        size = Size(self.size.width, rows + HEADINGS)
        if size == self.virtual_size:
            return
        self.set_reactive(Widget.virtual_size, size)
        self.show_vertical_scrollbar = self.vertical_scrollbar.display = size.height > self.size.height
        self.vertical_scrollbar.window_virtual_size = size.height
        if self.scroll_offset.y > self.max_scroll_y:
            self.scroll_to(y=self.max_scroll_y, animate=False, force=True, immediate=True)

    def _repaint(self) -> None:
        """Repaint lines that differ from those on the screen."""
        painted, first, size = self._painted, None, self.size
        lines = self._lines(range(size.height))
        for y, line in enumerate([*lines, None]):
            if line is not None and line is not painted.get(y):
                first = y if first is None else first
            elif first is not None:
                self.refresh(Region(0, first, size.width, y - first))
                first = None

    def select(self, key: str) -> bool:
        """Move the cursor to a row; return False if no row has that key."""
        index = self.rows.index(key)
        if index is None:
            return False
        self.place(index)
        return True

    def _find_cursor(self) -> None:
        """Keep the cursor on its row; if the row is gone, on its line."""
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

    def _mark_changes(self) -> None:
        """Compare visible rows with those shown before, and brighten changed cells."""
        top, brightens = self.scroll_offset.y, self.app.animation_level != "none"
        self._visible.update(self.rows, range(top, top + self.room), self._now_ms, brightens=brightens)
        self._needs.measure(self.rows.columns, self._visible.cells.values())

    def render_lines(self, crop: Region) -> list[Strip]:
        strips = self._lines(crop.line_range)
        self._painted.update(zip(crop.line_range, strips, strict=True))
        return self.clip_strips(strips, crop)

    def render_line(self, y: int) -> Strip:
        return self._lines([y])[0]

    def _lines(self, places: Sequence[int]) -> list[Strip]:
        width, top, rows, rooms = self.wide, self.scroll_offset.y - HEADINGS, len(self.rows.keys), self._fit_columns()
        selected = "selected" if self.has_focus else "away"
        return [
            self._heading(rooms)
            if y < HEADINGS
            else self._render_below(y, width)
            if (index := y + top) >= rows
            else self._row(index, width, selected if index == self.line else "", rooms)
            for y in places
        ]

    def _heading(self, rooms: Sequence[tuple[int, int]]) -> Strip:
        cache_key = ("heading", self._sorted_by)
        strip = self._strips.get(cache_key)
        if strip is None:
            strip = self._strips[cache_key] = self._draw_headings(rooms)
        return strip

    def _draw_headings(self, rooms: Sequence[tuple[int, int]]) -> Strip:
        """Draw the headings; the sign of the sorted column replaces a blank beside it if the column is full."""
        style = self.rich_style + self.tone("heading")
        if not rooms:  # nothing was shown yet
            return Strip.blank(self.size.width, style)
        by, sign = self._sorted_by
        texts, gaps = [], [" ", *[" " * self._gap] * (len(rooms) - 1), *([""] if rooms else [])]
        for place, (index, room) in enumerate(rooms):
            column = self.rows.columns[index]
            title, is_sorted = column.heading or column.title, bool(column.title) and column.title == by
            if is_sorted and len(title) < room:
                title = f"{sign}{title}" if column.right else f"{title}{sign}"
            elif is_sorted and column.right:
                gaps[place] = gaps[place][:-1] + sign
            elif is_sorted:
                gaps[place + 1] = sign + gaps[place + 1][1:]
            texts.append(
                Segment(fit(title, room, right=column.right), style + self.tone("strong" if is_sorted else ""))
            )
        signed = style + self.tone("strong")
        parts = [part for gap, text in zip(gaps, [*texts, None], strict=True) for part in (Segment(gap, signed), text)]
        return Strip([part for part in parts if part is not None]).adjust_cell_length(self.size.width, style)

    def _row(self, index: int, width: int, tone: str, rooms: Sequence[tuple[int, int]]) -> Strip:
        key = self.rows.keys[index]
        cells = self._visible.cells.get(key)  # a log makes its sentences anew each time it is asked
        cells = tuple(self.rows.cells(index)) if cells is None else cells
        return self._line_of(cells, tone, width, key=key, rooms=rooms)

    def _fit_columns(self) -> list[tuple[int, int]]:
        """Return index and width of the columns that fit beside the cursor and a blank."""
        cache_key = (self.rows.columns, self.wide - 2, self._needs.widths)
        if self._room_for != cache_key:
            columns, width, needs = cache_key
            rooms = fit_columns(columns, width, self._gap, needs=needs)
            if rooms != self._rooms or self._room_for[:2] != (columns, width):
                self._strips.clear()
            self._room_for, self._rooms = (columns, width, {**needs}), rooms
        return self._rooms

    @property
    def titles(self) -> list[str]:
        """The titles of the visible columns."""
        return [self.rows.columns[index].title for index, _ in self._fit_columns()]

    def notify_style_update(self) -> None:
        self._strips.clear()
        super().notify_style_update()

    def _line_of(
        self, cells: tuple[Cell, ...], tone: str, width: int, *, key: str, rooms: Sequence[tuple[int, int]]
    ) -> Strip:
        """Return the line of a row, cached if nothing has changed."""
        bright, marked = frozenset(self._visible.fresh.get(key, ())), key in self.marked
        cache_key = (cells, tone, bright, marked)
        strip = self._strips.get(cache_key)
        if strip is None:
            if len(self._strips) >= MAX_KEPT_LINES:
                self._strips.clear()
            strip = self._strips[cache_key] = self._draw_row(
                cells, tone, bright, rooms=rooms, marked=marked, width=width
            )
        return strip

    def _draw_row(
        self,
        cells: Sequence[Cell],
        tone: str,
        bright: Set[int],
        *,
        rooms: Sequence[tuple[int, int]],
        marked: bool,
        width: int,
    ) -> Strip:
        columns, style = self.rows.columns, self.on(self.rich_style)[tone]
        chosen = tone in ("selected", "away")
        edge = (self.CURSOR_MARKED if marked else self.CURSOR) if chosen else self.MARKED if marked else " "
        segments = [Segment(edge, self.on(style)["accent"])]
        for place, (index, room) in enumerate(rooms):
            if place:
                segments.append(Segment(" " * self._gap, style))
            cell = cells[index] if index < len(cells) else EMPTY
            segments += self._cell(cell, columns[index], room, style, fresh=index in bright)
        used_width = len(edge) + sum(room for _, room in rooms) + self._gap * max(0, len(rooms) - 1)
        segments.append(Segment(" " * (width - used_width), style))
        return Strip(segments, max(used_width, width)).adjust_cell_length(width, style)

    def _cell(self, cell: Cell, column: AnyColumn, room: int, style: Style, *, fresh: bool) -> list[Segment]:
        on = self.on(style)
        toned = on[cell.tone]
        if fresh:
            toned += self.tone("fresh" if cell.tone in PLAIN else "bold")
        if cell.spans:
            spans, left = lines.fit_and_measure(cell.spans, room)
            blank = Segment(" " * left, style)
            segments = [Segment(span.text, on[span.tone]) for span in spans]
            return [blank, *segments] if column.right else [*segments, blank]
        lead = fit(cell.lead, min(len(cell.lead), room))
        left = max(0, room - len(cell.lead))
        cut = lines.cut_path if column.path else lines.cut_name if column.named else None
        text = cell.text if cut is None else cut(cell.text, left)
        segments = [Segment(fit(text, left, right=column.right and not cell.lead), toned)]
        return [Segment(lead, on["faint"]), *segments] if lead else segments

    def _render_below(self, y: int, width: int) -> Strip:
        """Return a line below the last row: blank, or the hint of an empty table."""
        line = y - HEADINGS - max(1, self.room // 3)
        is_said = not len(self.rows.keys) and 0 <= line < len(self.rows.empty)
        text, tone = (self.rows.empty[line], "strong" if line == 0 else "muted") if is_said else ("", "")
        cache_key = (text, tone, width)
        if cache_key not in self._strips:
            style = self.rich_style
            segments = [Segment("   ", style), Segment(fit(text, max(0, width - 6)), style + self.tone(tone))]
            self._strips[cache_key] = Strip(segments if text else []).adjust_cell_length(width, style)
        return self._strips[cache_key]

    def go_to(self, index: int) -> None:
        """Move the cursor to a row and make it visible."""
        if not len(self.rows.keys):
            return
        self.line = max(0, min(index, len(self.rows.keys) - 1))
        before, self._cursor = self._cursor, self.rows.keys[self.line]
        if before != self._cursor:
            self.post_message(self.Moved())
        top = self.scroll_offset.y
        if self.line < top:
            self.scroll_to(y=self.line, animate=False)
        elif self.line >= top + self.room:
            self.scroll_to(y=self.line - self.room + 1, animate=False)
        self._repaint()

    def mark(self, key: str) -> None:
        if self.marked.pop(key, self) is self:
            self.marked[key] = None
        self._repaint()

    def mark_all(self, keys: Sequence[str]) -> None:
        """Mark these rows and no others."""
        self.marked = dict.fromkeys(keys)
        self._repaint()

    def unmark(self) -> None:
        self.marked.clear()
        self._repaint()

    def place(self, index: int) -> None:
        """Move the cursor to a row on behalf of the operator."""
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
            self.post_message(self.Opened(self.selected))

    def on_click(self, event: events.Click) -> None:
        if event.y < HEADINGS and (index := column_at(event.x - 1, self._fit_columns(), self._gap)) is not None:
            self.post_message(self.Headed(self.rows.columns[index].title))
        index = event.y - HEADINGS + self.scroll_offset.y
        if event.y < HEADINGS or index >= len(self.rows.keys):
            return
        again = index == self.line and event.chain > 1
        self.place(index)
        if again:
            self.action_open()

    def spots(self) -> Iterable[Spot]:
        """Return a spot for each visible row."""
        top, rows = self.scroll_offset.y, self.rows.keys
        for line in range(min(self.room, len(rows) - top)):
            yield Spot(0, line + HEADINGS, partial(_jump, self, rows[top + line]))

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Move the cursor along when the wheel or the scroll bar moves its row out of sight."""
        super().watch_scroll_y(old_value, new_value)
        top, last = round(new_value), len(self.rows.keys) - 1
        line = max(0, min(max(self.line, top), top + self.room - 1, last))
        if line != self.line and last >= 0:
            self.placed, self.line, self._cursor = True, line, self.rows.keys[line]
            self._repaint()

    def on_resize(self) -> None:
        """Keep the cursor on the screen, and remember the visible rows for the next comparison."""
        self._take_room(len(self.rows.keys))
        self._tell_width()
        self._mark_changes()
        self.call_after_refresh(lambda: self.go_to(self.line))  # not where it stood: a key may come first


def _jump(table: Table, key: str) -> None:
    table.focus()
    table.select(key)


class Log(Table):
    """A table of the journal, which follows the newest event."""

    class ReachedFirst(Message):
        """The key to the first row was pressed."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.following = True
        """True while the cursor stays on the newest event."""

    @property
    def top(self) -> int:
        """Index of the first visible row."""
        return self.scroll_offset.y

    def _find_cursor(self) -> None:
        """While it follows, go to the newest event before drawing: else each redraw draws twice."""
        last = len(self.rows.keys) - 1
        if not self.following or last < 0:
            super()._find_cursor()
            return
        before, self.line, self._cursor = self._cursor, last, self.rows.keys[last]
        if before != self._cursor:
            self.post_message(self.Moved())
        self.scroll_to(y=max(0, last + 1 - self.room), animate=False, force=True, immediate=True)

    def _keep_in_sight(self, before: int) -> None:
        if not self.following:
            super()._keep_in_sight(before)

    def action_edge(self, towards: int) -> None:
        super().action_edge(towards)
        if towards < 0:
            self.post_message(self.ReachedFirst())

    def to_end(self) -> None:
        """Go to the newest event and stay there."""
        self.following = True
        last = len(self.rows.keys) - 1
        if last != self.line or self.scroll_offset.y != max(0, last + 1 - self.room):
            self.go_to(last)

    def place(self, index: int) -> None:
        super().place(index)
        self.following = self.line >= len(self.rows.keys) - 1

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        # By wheel or scrollbar: who looks at older lines does not want to be pulled away.
        if new_value < old_value and round(new_value) + self.room < len(self.rows.keys):
            self.following = False
