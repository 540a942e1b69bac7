"""Lists as text tables, from the columns that the screen has."""

from collections.abc import Iterable, Sequence
from typing import Any

from dashboard.cli.printing.output import TextTable
from dashboard.views.drawing.rows import Column, Row, make_cells


def make_table(columns: Sequence[Column[Row, Any]], rows: Iterable[Row], *, empty: str) -> TextTable:
    """Return the text table of a list, always with the same columns; `empty` is printed for no rows."""
    shown = sorted((column for column in columns if column.shell_rank), key=lambda column: column.shell_rank)
    return TextTable(
        [column.title for column in shown],
        [[cell.text for cell in make_cells(shown, row)] for row in rows],
        empty=empty,
        right=frozenset(column.title for column in shown if column.right),
    )
