"""What a table shows: columns, cells, and how both fit into a width; what can be chosen in a dialog.

A `Listing` makes the cells of a row when they are asked for, so that a thousand rows cost as much as are on the screen.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from dashboard.views.drawing.lines import Span
from dashboard.views.words.filters import FilterFields, parse_partial_filter

GAP = 2
"""Blank characters between two columns."""


class Cell(NamedTuple):
    """One value of a row."""

    text: str
    tone: str = ""
    """What it means, such as `error`; the widget knows the colour."""
    lead: str = ""
    """Quiet text before it: the branches of a tree."""
    spans: tuple[Span, ...] = ()
    """What is drawn in place of the text, where a table shows it in several styles."""
    rank: float | None = None
    """What it is sorted by where its text does not say so, such as a time; the largest first."""


EMPTY = Cell("")


def labelled(label: str, text: str, tone: str = "", *, wide: int = 12) -> Cell:
    """Return a line of a page or a dialog: a label, in `wide` cells with its gap, then what it is."""
    return Cell(text, tone, f"{label:<{wide}}")


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    title: str
    width: int
    """In characters; the least it needs where it grows."""
    right: bool = False
    grow: int = 0
    """Its part of the width that is left over."""
    max_width: int = 1_000
    """It grows no wider: a row whose ends are far apart is hard to read across."""
    drop: int = 0
    """Falls away when there is no room, the highest first; 0 never does."""
    calm: bool = False
    """Changes by itself, such as a countdown: a change is no news."""
    path: bool = False
    """Holds paths, which are cut in front: their ends tell them apart."""
    named: bool = False
    """Holds names, which are cut before the number at their end: it tells them apart."""
    means: str = ""
    """What the help says of it; without, what `views/words/help.py` says of its title, which several tables share."""


class Rows(Protocol):
    """What a table shows; a `Listing`, or rows that are read when they are looked at."""

    @property
    def columns(self) -> Sequence[Column]:
        """The columns, from the left."""
        ...

    @property
    def keys(self) -> Sequence[str]:
        """What stands for each row, in order."""
        ...

    @property
    def empty(self) -> Sequence[str]:
        """What stands there instead of no rows: what would be here, and the key that makes it so."""
        ...

    def cells(self, index: int) -> Sequence[Cell]:
        """Return the cells of a row."""
        ...

    def index(self, key: str | None) -> int | None:
        """Return where a key stands; None when it does not."""
        ...


@dataclass(slots=True)
class Listing:
    """Rows by key, in order."""

    columns: Sequence[Column]
    keys: Sequence[str]
    make: Callable[[str], Sequence[Cell]]
    """Returns the cells of a key; of one that is gone too."""
    empty: Sequence[str] = ()
    total: int | None = None
    """How many there are without the filter."""
    first: str | None = None
    """The row that was looked for, where others stand before it."""
    _cells_by_key: dict[str, Sequence[Cell]] = field(default_factory=dict)
    _places: Mapping[str, int] | None = None

    def cells(self, index: int) -> Sequence[Cell]:
        """Return the cells of a row; made once."""
        key = self.keys[index]
        if key not in self._cells_by_key:
            self._cells_by_key[key] = self.make(key)
        return self._cells_by_key[key]

    def index(self, key: str | None) -> int | None:
        """Return where a key stands; None when it does not."""
        if key is None:
            return None
        if self._places is None:
            self._places = {key: index for index, key in enumerate(self.keys)}
        return self._places.get(key)


def reorder(listing: Listing, keys: Sequence[str]) -> Listing:
    """Return the same rows in the order of `keys`; rows that are not among them come last, in their own order."""
    row_keys = set(listing.keys)
    leading_keys = [key for key in keys if key in row_keys]
    leading_set = set(leading_keys)
    ordered = [*leading_keys, *(key for key in listing.keys if key not in leading_set)]
    return Listing(listing.columns, ordered, listing.make, listing.empty, listing.total)


MIN_GROWING_WIDTH = 8
"""Columns of a growing column that gives way in a narrow window."""


def fit_columns(columns: Sequence[Column], width: int, gap: int = GAP) -> list[tuple[int, int]]:
    """Return the columns that fit into `width` characters: their places in `columns` and their widths.

    Those with the highest `drop` fall away first; what is left over goes to those that grow. Where not even those fit
    that never fall away, those that grow most give way: a cell that the edge of the window cuts has no sign of it.
    """
    visible = list(range(len(columns)))
    while len(visible) > 1 and _total_width(columns, visible, gap) > width:
        victim = max(visible, key=lambda index: (columns[index].drop, index))
        if columns[victim].drop == 0:
            break
        visible.remove(victim)
    rooms = {index: columns[index].width for index in visible}
    over = _total_width(columns, visible, gap) - width
    while over > 0 and (
        giving := [index for index in visible if columns[index].grow and rooms[index] > MIN_GROWING_WIDTH]
    ):
        rooms[max(giving, key=lambda index: (columns[index].grow, rooms[index]))] -= 1
        over -= 1
    spare, growing = width - _total_width(columns, visible, gap), [index for index in visible if columns[index].grow]
    while spare > 0 and growing:  # what one cannot take goes to the others
        parts = sum(columns[index].grow for index in growing)
        wished = {index: rooms[index] + spare * columns[index].grow // parts for index in growing}
        full = [index for index in growing if wished[index] >= columns[index].max_width]
        for index in full or growing:
            room = max(rooms[index], min(wished[index], columns[index].max_width))
            spare -= room - rooms[index]
            rooms[index] = room
        growing = [index for index in growing if index not in full] if full else []
    for index in sorted((index for index in visible if columns[index].grow), key=lambda index: -columns[index].grow):
        more = min(max(0, spare), columns[index].max_width - rooms[index])  # what did not divide
        rooms[index], spare = rooms[index] + more, spare - more
    return [*rooms.items()]


def _total_width(columns: Sequence[Column], visible: list[int], gap: int) -> int:
    return sum(columns[index].width for index in visible) + gap * (len(visible) - 1)


def matches(needle: str, *texts: str | None, **values: str | None) -> bool:
    """Tell whether a row that is no more than its texts passes a filter.

    Args:
        needle: The filter, as it is being typed.
        texts: What words and expressions are looked for in.
        values: What stands under keys, such as `agent` or `status`.
    """
    return not needle or bool(parse_partial_filter(needle).apply([FilterFields(texts, values)], lambda row: row))


OFFER = "  "
"""Two blanks stand in a line of an empty table that says how to make it so that it is not, such as `n  gives it one`;
who only looks is not told.
"""


def empty_message(needle: str, noun: str, *otherwise: str) -> tuple[str, ...]:
    """Return what an empty table says: what is wrong with its filter, that nothing passes it, or `otherwise`."""
    row_filter = parse_partial_filter(needle)
    if row_filter.fault:
        return (row_filter.fault, "esc shows all")
    return (f"{f'no {noun}' if noun else 'nothing'} matches {needle!r}", "esc shows all") if row_filter else otherwise


class Choice(NamedTuple):
    """Something that can be chosen in a dialog."""

    id: str
    name: str
    about: str = ""
    """What it would do."""
    tone: str = ""
