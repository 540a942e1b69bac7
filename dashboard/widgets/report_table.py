"""A table of a report, drawn as lines by one widget: Textual has one for each cell, hundreds in a long report.

Every widget of a page costs time whenever the page is laid out or gets a class.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from textual.app import ComposeResult
from textual.content import Content
from textual.css.styles import RulesMap
from textual.strip import Strip
from textual.style import Style
from textual.visual import RenderOptions, Visual
from textual.widgets.markdown import Markdown, MarkdownBlock

from dashboard.widgets.textual_seams import blocks_in, token_style

GAP = 2
"""Cells between two columns; half of them stand at the edges."""
MIN_COLUMN_WIDTH = 4
"""Cells of a column that is cut to fit."""
HEADING, RULE = "$tone-muted", "$tone-line"


class Cells(NamedTuple):
    """What a table is made of."""

    heads: Sequence[Content]
    rows: Sequence[Sequence[Content]]
    is_right: Sequence[bool]
    """Of each column, whether it is aligned at the right."""


class TableLines(Visual):
    """The lines of a table at any width: columns are as wide as they need, the widest give way."""

    def __init__(self, cells: Cells) -> None:
        self._cells = cells
        self._needs = [
            max([head.cell_length, *(row[at].cell_length for row in cells.rows if at < len(row))])
            for at, head in enumerate(cells.heads)
        ]
        self.lay_out = lru_cache(4)(self._lay_out)

    def _lay_out(self, width: int) -> Content:
        widths = fit_widths(self._needs, width - GAP * len(self._needs))
        heads = [head.stylize(HEADING) for head in self._cells.heads]
        rule = Content.styled("─" * min(width, sum(widths) + GAP * len(widths)), RULE)
        rows = [line for row in self._cells.rows for line in self._row(row, widths)]
        return Content("\n").join([*self._row(heads, widths), rule, *rows])

    def _row(self, row: Sequence[Content], widths: Sequence[int]) -> list[Content]:
        """Return the lines of a row: as many as its longest cell needs."""
        wrapped = [cell.wrap(width) for cell, width in zip(row, widths, strict=False)]
        return [
            Content.assemble(
                *(
                    self._align(lines[at] if at < len(lines) else Content(), widths[column], column)
                    for column, lines in enumerate(wrapped)
                )
            )
            for at in range(max(map(len, wrapped), default=0))
        ]

    def _align(self, text: Content, width: int, column: int) -> Content:
        text = text.rstrip()
        rest = max(0, width - text.cell_length)
        is_right = self._cells.is_right[column]
        return text.pad(GAP // 2 + rest * is_right, GAP // 2 + rest * (not is_right))

    def render_strips(self, width: int, height: int | None, style: Style, options: RenderOptions) -> list[Strip]:
        return self.lay_out(width).render_strips(width, height, style, options)

    def get_optimal_width(self, rules: RulesMap, container_width: int) -> int:
        return sum(self._needs) + GAP * len(self._needs)

    def get_minimal_width(self, rules: RulesMap) -> int:
        return (MIN_COLUMN_WIDTH + GAP) * len(self._needs)

    def get_height(self, rules: RulesMap, width: int) -> int:
        return self.lay_out(width).get_height(rules, width)


class ReportTable(MarkdownBlock):
    """A table that has no widgets in it."""

    DEFAULT_CSS = """
    ReportTable {
        width: 1fr;
        margin-bottom: 1;
        &:light { background: white 30%; }
    }
    """

    def compose(self) -> ComposeResult:
        self.update(TableLines(cells_of(self)))
        blocks_in(self).clear()
        yield from ()


def cells_of(table: MarkdownBlock) -> Cells:
    """Return what the parser has put into a table."""
    head, row, cell = (Markdown.BLOCKS[f"{name}_open"] for name in ("th", "tr", "td"))
    heads: list[Content] = []
    rows: list[list[Content]] = []
    is_right: list[bool] = []
    for block in _nested_blocks(table):
        content = block.content if isinstance(block.content, Content) else Content()  # a text where a cell is empty
        if isinstance(block, head):
            heads.append(content)
            is_right.append("right" in token_style(block))
        elif isinstance(block, row):
            rows.append([])
        elif isinstance(block, cell):
            rows[-1].append(content)
    return Cells(heads, [row for row in rows if row], is_right)


def _nested_blocks(block: MarkdownBlock) -> Iterator[MarkdownBlock]:
    for inner in blocks_in(block):
        yield inner
        yield from _nested_blocks(inner)


def fit_widths(needs: Sequence[int], available: int) -> list[int]:
    """Return widths of columns that need so much and have so much room together: the widest give way."""
    widths = list(needs)
    while sum(widths) > available and max(widths) > MIN_COLUMN_WIDTH:
        widest = max(widths)
        among = [at for at, width in enumerate(widths) if width == widest]
        below = max([MIN_COLUMN_WIDTH, *(width for width in widths if width < widest)])
        fall = min(widest - below, -(-(sum(widths) - available) // len(among)))
        for at in among:
            widths[at] -= fall
    return widths
