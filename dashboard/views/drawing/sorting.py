"""Sorting of a table by one of its columns, and the sign in the heading of that column.

Large views sort by the orders of their columns; tables of a few rows are sorted here by the texts of their cells.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from dashboard.views.drawing.rows import Cell, Column, Listing, Order, Rank

DOWN, UP = "▾", "▴"
"""Signs: the largest, newest or most urgent row is on top, or the reverse."""
_NUMBER = re.compile(r"[-+]?\d[\d,]*(\.\d+)?")
_UNKNOWN = frozenset({"", "–", "·"})


class Sorting(NamedTuple):
    """The current order of a table."""

    order: str = ""
    """One of the view's orders, or a heading; empty for the natural order."""
    is_reversed: bool = False
    """Whether the order is reversed."""

    def after_click(self, order: str, first: str) -> "Sorting":
        """Return the order after a click on a heading: sorted by it, then reversed, then `first` again."""
        if order != self.order:
            return Sorting(order)
        return Sorting(first) if self.is_reversed else Sorting(order, is_reversed=True)

    def after_step(self, orders: Sequence[str], by: int) -> "Sorting":
        """Return the next of a view's orders; the first one if a heading was chosen before."""
        place = orders.index(self.order) + by if self.order in orders else 0
        return Sorting(orders[place % len(orders)])

    @property
    def label(self) -> str:
        """In a few words."""
        return f"{self.order}, turned round" if self.is_reversed else self.order


def orders_of(columns: Sequence[Column[Any, Rank]], *others: Order[Rank]) -> dict[str, Rank]:
    """Return the sort keys of a list by the names of its orders, as a key steps through them.

    Args:
        columns: The columns, each with its order if it has one.
        others: Orders that no column chooses.
    """
    orders = [*others, *(column.order for column in columns if column.order is not None)]
    return {order.name: order.rank for order in sorted(orders, key=lambda order: order.step)}


def heads_of(columns: Sequence[Column[Any, Any]]) -> dict[str, str]:
    """Return the order that each heading chooses."""
    return {column.title: column.order.name for column in columns if column.order is not None}


def title_of(order: str, heads: Mapping[str, str]) -> str:
    """Return the heading of the column that an order sorts by; without `heads` the order is the heading."""
    return next((title for title, heading_order in heads.items() if heading_order == order), "" if heads else order)


def sort_by_cells(listing: Listing, sorting: Sorting) -> Listing:
    """Return the rows sorted by the cells of one column: numbers from the largest down, words from a to z.

    Empty cells are last in either direction.
    """
    titles = [column.title for column in listing.columns]
    if sorting.order not in titles:
        return listing
    place = titles.index(sorting.order)
    cells = {key: _cell(listing, index, place) for index, key in enumerate(listing.keys)}
    sortable_keys = [key for key in listing.keys if _is_known(cells[key])]
    ordered = sorted(sortable_keys, key=lambda key: _rank(cells[key]), reverse=sorting.is_reversed)
    return replace(listing, keys=[*ordered, *(key for key in listing.keys if not _is_known(cells[key]))], _places=None)


def reverse_rows(listing: Listing) -> Listing:
    """Return the rows with the last one on top."""
    return replace(listing, keys=[*reversed(listing.keys)], _places=None)


def _cell(listing: Listing, index: int, place: int) -> Cell:
    cells = listing.cells(index)
    return cells[place] if place < len(cells) else Cell("")


def _is_known(cell: Cell) -> bool:
    return cell.rank is not None or cell.text.strip() not in _UNKNOWN


def _rank(cell: Cell) -> tuple[int, float, str]:
    text = cell.text.strip()
    if cell.rank is not None:
        return 0, -cell.rank, ""
    if _NUMBER.fullmatch(text):
        return 0, -float(text.replace(",", "")), ""
    return 1, 0.0, text.casefold()
