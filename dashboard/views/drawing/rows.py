"""The content of tables, columns and cells, and their layout in a width; the choices of a dialog.

A `Listing` makes the cells of a row on demand, so that only visible rows cost anything.
"""

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

from dashboard.views.drawing.lines import Span
from dashboard.views.words.filters import FilterFields, parse_partial_filter

GAP = 2
"""Blank characters between two columns."""


class Cell(NamedTuple):
    """One value of a row."""

    text: str
    tone: str = ""
    """Style name, such as `error`; the widget knows the colour."""
    lead: str = ""
    """Muted text before it, such as the branches of a tree."""
    spans: tuple[Span, ...] = ()
    """Drawn in place of the text, for several styles in one cell."""
    rank: float | None = None
    """Sort key, the largest first; None sorts by the text."""


EMPTY = Cell("")


def labelled_cell(label: str, text: str, tone: str = "", *, wide: int = 12) -> Cell:
    """Return a line of a page or dialog: a label, padded to `wide` cells or followed by a blank, and its text."""
    return Cell(text, tone, f"{label:<{wide - 1}} ")


Row = TypeVar("Row")
"""What the cells of a row are made from."""
Rank = TypeVar("Rank", bound=Callable[..., Any])
"""Returns the sort key of a row."""


@dataclass(frozen=True, slots=True)
class Order(Generic[Rank]):
    """An order of the rows, which the heading of its column chooses."""

    name: str
    rank: Rank
    step: int = 99
    """Its place when a key steps through the orders, the lowest first; equal ones go from the left to the right."""


@dataclass(frozen=True, slots=True)
class Column(Generic[Row, Rank]):
    """A column of a table, on the screen and on the command line: its heading, its cells and how it sorts the rows."""

    title: str
    width: int = 0
    """In cells; the minimum if it grows; 0 for a column that only the command line has."""
    right: bool = False
    grow: int = 0
    """Its share of the surplus width; 0 keeps it fixed."""
    max_width: int = 1_000
    """Maximum in cells: a row is hard to follow across wide gaps."""
    drop: int = 0
    """Columns are dropped in a narrow window, the highest first; 0 is never dropped."""
    calm: bool = False
    """Changes by itself, such as a countdown, so that a change is not highlighted."""
    path: bool = False
    """Holds paths, which are cut in front, because their ends differ."""
    named: bool = False
    """Holds names, which are cut before a final number, because it differs."""
    heading: str = ""
    """Drawn in place of the title, such as a scale of time."""
    meaning: str = field(default="", compare=False)
    """Its sentence in the help."""
    cell: Callable[[Row], Cell] = field(default=lambda row: EMPTY, compare=False)
    """Returns its cell in a row."""
    order: Order[Rank] | None = field(default=None, compare=False)
    """The order that its heading chooses; None if the view does not sort by it."""
    shell_rank: int = 5
    """Place in the table of the command line, the lowest at the left; 0 leaves it out."""


AnyColumn: TypeAlias = Column[Any, Any]


def make_cells(columns: Sequence[Column[Row, Any]], row: Row) -> tuple[Cell, ...]:
    """Return the cells of a row, one for each column."""
    return tuple([column.cell(row) for column in columns])


def visible_columns(
    columns: Sequence[Column[Row, Rank]],
    widths: Mapping[str, tuple[int, int]] = MappingProxyType({}),
    *,
    without: Container[str] = (),
) -> tuple[Column[Row, Rank], ...]:
    """Return the columns of a screen.

    Args:
        columns: All columns of the list.
        widths: Other minimum and maximum widths, by title.
        without: Titles of columns that are empty in every row.
    """
    return tuple(
        [
            replace(column, width=widths[column.title][0], max_width=widths[column.title][1])
            if column.title in widths
            else column
            for column in columns
            if column.width and column.title not in without
        ]
    )


class Rows(Protocol):
    """The content of a table: a `Listing`, or rows that are read on demand."""

    @property
    def columns(self) -> Sequence[AnyColumn]:
        """The columns, from the left."""
        ...

    @property
    def keys(self) -> Sequence[str]:
        """The key of each row, in order."""
        ...

    @property
    def empty(self) -> Sequence[str]:
        """Text shown if there are no rows: what would be here, and the key that adds it."""
        ...

    def cells(self, index: int) -> Sequence[Cell]:
        """Return the cells of a row."""
        ...

    def index(self, key: str | None) -> int | None:
        """Return the index of a key, or None."""
        ...


@dataclass(slots=True)
class Listing:
    """Rows by key, in order."""

    columns: Sequence[AnyColumn]
    keys: Sequence[str]
    make: Callable[[str], Sequence[Cell]]
    """Returns the cells of a key, also of one that no longer exists."""
    empty: Sequence[str] = ()
    total: int | None = None
    """Number of rows without the filter."""
    first: str | None = None
    """Key of the row that a search is about, if it is not the first row."""
    _cells_by_key: dict[str, Sequence[Cell]] = field(default_factory=dict)
    _places: Mapping[str, int] | None = None

    def cells(self, index: int) -> Sequence[Cell]:
        """Return the cells of a row; cached."""
        key = self.keys[index]
        if key not in self._cells_by_key:
            self._cells_by_key[key] = self.make(key)
        return self._cells_by_key[key]

    def index(self, key: str | None) -> int | None:
        if key is None:
            return None
        if self._places is None:
            self._places = {key: index for index, key in enumerate(self.keys)}
        return self._places.get(key)


def reorder(listing: Listing, keys: Sequence[str]) -> Listing:
    """Return the rows in the order of `keys`, then the other rows in their own order."""
    row_keys = set(listing.keys)
    leading_keys = [key for key in keys if key in row_keys]
    leading_set = set(leading_keys)
    ordered = [*leading_keys, *(key for key in listing.keys if key not in leading_set)]
    return Listing(listing.columns, ordered, listing.make, listing.empty, listing.total)


MIN_GROWING_WIDTH = 8
"""Minimum width in cells to which a growing column shrinks in a narrow window."""


def fit_columns(
    columns: Sequence[AnyColumn], width: int, gap: int = GAP, *, needs: Mapping[str, int] = MappingProxyType({})
) -> list[tuple[int, int]]:
    """Return the columns that fit into `width` cells, as pairs of index and width.

    Columns with the highest `drop` are dropped first; growing columns share the surplus. If even the columns that are
    never dropped do not fit, growing ones shrink, because a cell cut by the edge of the window has no `…`.

    Args:
        columns: All columns, from the left.
        width: In cells.
        gap: Blank cells between two columns.
        needs: Width of the widest text of growing columns, by title; they get that before any gets more.
    """
    visible = list(range(len(columns)))
    while len(visible) > 1 and _total_width(columns, visible, gap) > width:
        victim = max(visible, key=lambda index: (columns[index].drop, index))
        if columns[victim].drop == 0:
            break
        visible.remove(victim)
    widths = {index: columns[index].width for index in visible}
    growing = [index for index in visible if columns[index].grow]
    over = _total_width(columns, visible, gap) - width
    while over > 0 and (shrinkable := [index for index in growing if widths[index] > MIN_GROWING_WIDTH]):
        widths[max(shrinkable, key=lambda index: (columns[index].grow, widths[index]))] -= 1
        over -= 1
    surplus = width - _total_width(columns, visible, gap)
    max_widths = {index: columns[index].max_width for index in growing}
    if needs:
        needed = {index: min(max_width, needs.get(columns[index].title, 0)) for index, max_width in max_widths.items()}
        surplus = _share_surplus(columns, widths, needed, surplus)
    _share_surplus(columns, widths, max_widths, surplus)
    return [*widths.items()]


def _share_surplus(
    columns: Sequence[AnyColumn], widths: dict[int, int], max_widths: Mapping[int, int], surplus: int
) -> int:
    """Add a surplus to the widths of growing columns and return what is left of it.

    What exceeds the maximum of one column goes to the others.
    """
    growing = [*max_widths]
    by_growth = sorted(growing, key=lambda index: -columns[index].grow)
    while surplus > 0 and growing:
        shares = sum(columns[index].grow for index in growing)
        wished = {index: widths[index] + surplus * columns[index].grow // shares for index in growing}
        full = [index for index in growing if wished[index] >= max_widths[index]]
        for index in full or growing:
            new_width = max(widths[index], min(wished[index], max_widths[index]))
            surplus -= new_width - widths[index]
            widths[index] = new_width
        growing = [index for index in growing if index not in full] if full else []
    for index in by_growth:  # the remainder of the division
        more = max(0, min(surplus, max_widths[index] - widths[index]))
        widths[index], surplus = widths[index] + more, surplus - more
    return surplus


def _total_width(columns: Sequence[AnyColumn], visible: list[int], gap: int) -> int:
    return sum(columns[index].width for index in visible) + gap * (len(visible) - 1)


def matches(needle: str, *texts: str | None, **values: str | None) -> bool:
    """Return whether a row of texts passes a filter.

    Args:
        needle: The filter, as it is being typed.
        texts: Texts for words and expressions.
        values: Values under keys, such as `agent` or `status`.
    """
    return not needle or bool(parse_partial_filter(needle).apply([FilterFields(texts, values)], lambda row: row))


OFFER = "  "
"""Marks a line of an empty table as an offer, such as `n  gives it one`, which a viewer does not see."""


def empty_message(needle: str, noun: str, *default_lines: str) -> tuple[str, ...]:
    """Return the text of an empty table: the error of its filter, that nothing matches, or `default_lines`."""
    row_filter = parse_partial_filter(needle)
    if row_filter.fault:
        return (row_filter.fault, "esc shows all")
    return (
        (f"{f'no {noun}' if noun else 'nothing'} matches {needle!r}", "esc shows all") if row_filter else default_lines
    )


class Choice(NamedTuple):
    """A choice of a dialog."""

    id: str
    name: str
    about: str = ""
    """Its effect."""
    tone: str = ""
