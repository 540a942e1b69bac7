"""One line of the frame: cells on the left, and cells on the right that are left out if there is no room."""

from collections.abc import Iterator, Sequence

from rich.segment import Segment
from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from dashboard.views.drawing.rows import Cell
from dashboard.views.header import CELL_GAP
from dashboard.widgets.tones import Toned

_APART = " " * CELL_GAP


class Bar(Toned, Widget):
    """Show cells in one line; post `Clicked` with the one that was clicked."""

    LEFT_FIRST = False
    """Whether the left side keeps all of its cells before the right side gets any room."""
    DEFAULT_CSS = """
    Bar {
        height: 1;
        width: 100%;
    }
    """

    class Clicked(Message):
        """A cell was clicked."""

        def __init__(self, bar: "Bar", cell: Cell, index: int | None, x: int = 0) -> None:
            super().__init__()
            self.bar = bar
            self.cell = cell
            self.index = index
            """Index among the cells on the left; None for one on the right."""
            self.x = x
            """Column within the cell."""

    def __init__(self, *, id: str, gap: int = 2) -> None:
        super().__init__(id=id)
        self._left: tuple[Cell, ...] = ()
        self._right: tuple[Cell, ...] = ()
        self._gap = " " * gap

    def show(self, left: Sequence[Cell], right: Sequence[Cell] = ()) -> None:
        """Show these cells; repaint only if they differ from those shown before."""
        if (tuple(left), tuple(right)) != (self._left, self._right):
            self._left, self._right = tuple(left), tuple(right)
            self.refresh()

    @property
    def text(self) -> str:
        return self._gap.join(cell.text for cell in (*self._left, *self._right))

    def render_line(self, y: int) -> Strip:
        base = self.rich_style
        width = self.size.width - 2
        right = self._right_strip(width)
        left = self._left_strip(self._room(right.cell_length, self.size.width))
        blank = Segment(" " * max(0, width - left.cell_length - right.cell_length), base)
        edge = Segment(" ", base)
        return Strip([edge, *left, blank, *right, edge]).adjust_cell_length(self.size.width, base)

    def _room(self, right: int, width: int) -> int:
        """Return the columns left for the left side beside `right` columns; without a right side, also the margin."""
        return max(0, width - 1 - right - 3) if right else width - 1

    def _left_strip(self, room: int) -> Strip:
        """Draw the cells on the left that fit whole; cut the first if not even that fits."""
        base = self.rich_style
        cells = list(self._left)
        while cells:
            strip = Strip(self.to_segments(cells, base, gap=self._gap))
            if strip.cell_length <= room:
                return strip
            if len(cells) == 1:
                return Strip([*strip.crop(0, room - 1), Segment("…", base)]) if room else Strip([])
            cells.pop()
        return Strip([])

    def _right_strip(self, width: int) -> Strip:
        return self._draw_right(self._fit_right_cells(self._right, width))

    def _draw_right(self, cells: Sequence[Cell]) -> Strip:
        return Strip(self.to_segments(cells, self.rich_style, gap=_APART))

    def room_beside(self, right: Sequence[Cell], width: int) -> int:
        """Return the columns left for the left side beside these cells, on a screen of `width` columns."""
        return self._room(self._draw_right(self._fit_right_cells(right, width - 2)).cell_length, width)

    @staticmethod
    def room(width: int) -> int:
        """Return how many of `width` columns the right side may take."""
        return width - min(width // 3, 24)

    def _fit_right_cells(self, right: Sequence[Cell], width: int) -> list[Cell]:
        """Return as many cells of the right side as leave a third of the line, at most 24 columns, to the left side."""
        base = self.rich_style
        cells = list(right)
        left_width = width - self.room(width)
        if self.LEFT_FIRST:
            left_width = Strip(self.to_segments(self._left, base, gap=self._gap)).cell_length + 2
        while cells:
            right_width = Strip(self.to_segments(cells, base, gap=_APART)).cell_length
            if (len(cells) == 1 and not self.LEFT_FIRST) or right_width <= width - left_width:
                return cells
            cells.pop()
        return []

    def places(self) -> Iterator[tuple[int, int, int]]:
        """Yield index, first column and end column of each visible cell on the left."""
        start, room = 1, self._room(self._right_strip(self.size.width - 2).cell_length, self.size.width)
        for index, cell in enumerate(self._left):
            end = start + Strip(self.to_segments([cell], self.rich_style)).cell_length
            if end > room + 1 and index:
                return
            yield index, start, end
            start = end + len(self._gap)

    def _right_places(self) -> Iterator[tuple[Cell, int, int]]:
        """Yield each visible cell on the right with its first column and end column."""
        end = self.size.width - 1
        for cell in reversed(self._fit_right_cells(self._right, self.size.width - 2)):
            start = end - Strip(self.to_segments([cell], self.rich_style)).cell_length
            yield cell, start, end
            end = start - len(_APART)

    def on_click(self, event: events.Click) -> None:
        for cell, start, end in self._right_places():
            if start <= event.x < end:
                self.post_message(self.Clicked(self, cell, None, event.x - start))
                return
        for index, start, end in self.places():
            if start <= event.x < end:
                self.post_message(self.Clicked(self, self._left[index], index, event.x - start))
