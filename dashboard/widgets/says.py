"""What the program says: one line, and as many as a long refusal takes, so that its end is not cut off."""

from collections.abc import Sequence

from rich.segment import Segment
from textual.geometry import Size
from textual.strip import Strip

from dashboard.clean import clean
from dashboard.views.rows import Cell
from dashboard.widgets.bar import Bar
from dashboard.widgets.pane import folded


class Says(Bar):
    """A `Bar` whose one cell on the left is folded to the width."""

    DEFAULT_CSS = """
    Says {
        height: auto;
        max-height: 4;
    }
    """

    def show(self, left: Sequence[Cell], right: Sequence[Cell] = ()) -> None:
        before = len(self._pieces(self.size.width))
        super().show(left, right)
        if len(self._pieces(self.size.width)) != before:
            self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return how many lines it takes."""
        return len(self._pieces(width))

    def _pieces(self, width: int) -> list[str]:
        text = clean(self._left[0].text) if self._left else ""
        return folded(text, max(20, width - 2 - self._right_room()))

    def _right_room(self) -> int:
        return sum(len(cell.text) for cell in self._right) + 3 if self._right else 0

    def render_line(self, y: int) -> Strip:
        pieces = self._pieces(self.size.width)
        if len(pieces) < 2 or not self._left:
            return super().render_line(y)
        base, width = self.rich_style, self.size.width
        text = pieces[y] if y < len(pieces) else ""
        line = Strip([Segment(" ", base), Segment(text, base + self.tone(self._left[0].tone))])
        if y or not self._right:
            return line.adjust_cell_length(width, base)
        right = Strip([*self.painted(self._right, base, gap="   "), Segment(" ", base)])
        return Strip([*line.adjust_cell_length(width - right.cell_length, base), *right]).adjust_cell_length(
            width, base
        )
