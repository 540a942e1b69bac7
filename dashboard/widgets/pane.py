"""A scrollable text: headings, values, JSON, text of agents."""

from collections.abc import Sequence
from itertools import zip_longest

from rich.segment import Segment
from textual.binding import Binding
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from dashboard.clean import clean_lines
from dashboard.views.drawing.lines import fold
from dashboard.views.drawing.rows import Cell
from dashboard.widgets.spots import Spot
from dashboard.widgets.tones import Toned

MAX_CHARACTERS = 100_000
"""Characters of a paragraph that are shown: a megabyte takes a second to fold."""


class Pane(Toned, ScrollView, can_focus=True):
    """Show paragraphs, folded to the width; each `Cell` may hold several lines."""

    DEFAULT_CSS = """
    Pane {
        height: 1fr;
        overflow-x: hidden;
        scrollbar-size-vertical: 1;
    }
    """
    BINDINGS = [
        Binding("up,k", "scroll_up", "up", show=False),
        Binding("down,j", "scroll_down", "down", show=False),
        Binding("pageup,ctrl+b", "page_up", "page up", show=False),
        Binding("pagedown,ctrl+f,space", "page_down", "page down", show=False),
        Binding("home,g", "scroll_home", "top", show=False),
        Binding("end,G", "scroll_end", "bottom", show=False),
    ]

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._cells: tuple[Cell, ...] = ()
        self._lines: list[tuple[str, str, str, int]] = []
        self._pieces: tuple[int, dict[Cell, list[tuple[bool, str]]]] = (-1, {})
        """Width, and the folded lines of each paragraph at that width."""
        self._strips: dict[tuple[str, str, str], Strip] = {}
        """Cache of drawn lines."""
        self._sought = ""
        """Casefolded words whose lines are highlighted."""
        self._room = -1
        """The width to which the lines are folded; -1 before the first time."""

    def show(self, cells: Sequence[Cell]) -> None:
        """Show these paragraphs without scrolling."""
        if tuple(cells) != self._cells:
            self._cells = tuple(cells)
            self._fold()

    def spots(self) -> list[Spot]:
        return [Spot(0, 0, self.focus)]

    @property
    def text(self) -> str:
        return "\n".join(lead + line for lead, line, _, _ in self._lines)

    def seek(self, words: str) -> int:
        """Highlight lines with these words, and return their number."""
        if words != self._sought:
            self._sought = words
            self._strips.clear()
            self.refresh()
        return len(self._hits())

    def _hits(self) -> list[int]:
        return [at for at, line in enumerate(self._lines) if self._is_hit(line[1])]

    def _is_hit(self, text: str) -> bool:
        return bool(self._sought) and self._sought in text.casefold()

    def show_hit(self, number: int) -> None:
        """Scroll to one of the highlighted lines."""
        self.scroll_to(y=self._hits()[number] - self.size.height // 2, animate=False)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the height of the text at `width`, even before it is drawn."""
        return len(self._fold_lines(width))

    def cell_at(self, line: int) -> int | None:
        """Return the index of the paragraph of a line; None below the last line."""
        return self._lines[line][3] if 0 <= line < len(self._lines) else None

    def _fold(self) -> None:
        """Fold the paragraphs to the width, and repaint only visible lines that differ."""
        before, (width, height), top = self._lines, self.size, self.scroll_offset.y
        self._room, self._lines = width, self._fold_lines(width)
        old_strips = self._strips
        self._strips = {line[:3]: old_strips[line[:3]] for line in self._lines if line[:3] in old_strips}
        self.virtual_size = Size(width, len(self._lines))
        line_pairs = zip_longest(before[top : top + height], self._lines[top : top + height], fillvalue=("", "", "", 0))
        if changed := [Region(0, y, width, 1) for y, (old, new) in enumerate(line_pairs) if old[:3] != new[:3]]:
            self.refresh(*changed)

    def _fold_lines(self, width: int) -> list[tuple[str, str, str, int]]:
        old_width, old_pieces = self._pieces
        old_pieces = old_pieces if old_width == width else {}
        pieces = {
            cell: old_pieces[cell] if cell in old_pieces else _pieces(cell, max(10, width - 2)) for cell in self._cells
        }
        self._pieces = (width, pieces)
        return [
            (cell.lead if first else " " * len(cell.lead), piece, cell.tone, index)
            for index, cell in enumerate(self._cells)
            for first, piece in pieces[cell]
        ]

    def notify_style_update(self) -> None:
        self._strips.clear()
        super().notify_style_update()

    def on_resize(self) -> None:
        self._strips.clear()
        self._fold()
        self.refresh()

    def render_lines(self, crop: Region) -> list[Strip]:
        return self.clip_strips([self.render_line(y) for y in crop.line_range], crop)

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        if self._room != width:  # the first frame comes before the event that tells the size
            self._room, self._lines = width, self._fold_lines(width)
            self._strips.clear()
        place = y + self.scroll_offset.y
        if place >= len(self._lines):
            return Strip.blank(width, self.rich_style)
        line = self._lines[place][:3]
        strip = self._strips.get(line)
        if strip is None:
            strip = self._strips[line] = self._draw_piece(*line)
        return strip

    def _draw_piece(self, lead: str, text: str, tone: str) -> Strip:
        style = self.rich_style
        segments = [
            Segment(" ", style),
            Segment(lead, style + self.tone("muted")),
            Segment(text, style + self.tone(f"{tone} away" if self._is_hit(text) else tone)),
        ]
        return Strip(segments).adjust_cell_length(self.size.width, style)


def _pieces(cell: Cell, width: int) -> list[tuple[bool, str]]:
    """The lines of a cell, cleaned and cut to `width`; whether each is the first."""
    text_width = max(10, width - len(cell.lead))
    text, more = cell.text[:MAX_CHARACTERS], len(cell.text) - MAX_CHARACTERS
    pieces = [piece for line in clean_lines(text) for piece in fold(line, text_width)]
    if more > 0:
        pieces.append(f"… {more:,} more characters")
    return [(index == 0, piece) for index, piece in enumerate(pieces)]
