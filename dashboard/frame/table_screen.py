"""A screen whose body is one table."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import ClassVar, TypeVar, cast

from textual.binding import Binding
from textual.containers import Vertical
from textual.widget import Widget

from dashboard.frame.frame import Frame
from dashboard.frame.journal_reading import JournalReading
from dashboard.frame.sizing import MIN_HEIGHT, Grip, PaneSizes
from dashboard.views.changes.targets import Target, target_of
from dashboard.views.drawing.row_pane import RowDetails, draw_details
from dashboard.views.drawing.rows import OFFER, Cell, Listing, reorder
from dashboard.views.drawing.sorting import DOWN, UP, Sorting, reverse_rows, sort_by_cells, title_of
from dashboard.views.header import reading_message
from dashboard.views.past import empty_in_past
from dashboard.views.view_state import ViewState
from dashboard.views.words.keyed import fill_keys
from dashboard.widgets.lines import Lines
from dashboard.widgets.table import Table

T = TypeVar("T")
MARKS = (Binding("space", "mark", "mark", show=False), Binding("asterisk", "mark_all", "mark all", show=False))
"""Keys of screens whose rows can be marked."""
SORTS = (
    Binding("less_than_sign", "sort(-1)", "sort by the previous order", show=False),
    Binding("greater_than_sign", "sort(1)", "sort by the next order", show=False),
)
"""Keys of screens whose rows can be sorted."""
BELOW = Grip("below", "below", "top")
"""The pane below the table, on screens that have one."""
BELOW_LINES = 6
"""Free lines that the pane needs below the rows on a low screen."""
LONG_LISTING_ROWS, ROWS_PER_MS = 1_000, 10
"""A listing of more than LONG rows is made again only after one millisecond per ROWS_PER_MS rows."""


class TableSizes(PaneSizes):
    """The sizes of the panes of a table; that below it is closed while it is hidden."""

    def is_open(self, grip: Grip) -> bool:
        return self._screen.query_one(f"#{grip.at}").display if grip is BELOW else super().is_open(grip)


class DetailsPane:
    """The pane below a table, with details of the row under the cursor."""

    def __init__(self, screen: "TableScreen") -> None:
        self._screen = screen
        self._result: tuple[str, object] = ("", None)
        """What a thread has found, with the key that it was asked about."""
        self._reading = False

    def show(self, view: ViewState) -> None:
        """Show details of the row under the cursor, if there is room."""
        screen = self._screen
        if not screen.BELOW_MIN_HEIGHT:
            return
        self._fill()
        below, key = screen.query_one("#below", Lines), screen.table.selected
        width, height = below.size
        if below.display and width:
            more = screen.describe_row(view, key, width, height - 1) if key is not None else None
            below.show(draw_details(more, width) if more is not None else ())

    def show_now(self) -> None:
        """Show the details as of the current view, if the screen is there."""
        if self._screen.is_there:
            self.show(self._screen.deck.view)

    def _fill(self) -> None:
        """Set the height of the pane below to what the rows leave free, unless the user has resized it."""
        below = self._screen.query_one("#below")
        assert isinstance(below.parent, Widget)
        room = below.parent.size.height
        if not room:
            return
        tall = self._screen.size.height >= self._screen.BELOW_MIN_HEIGHT
        # A table without rows says why: it keeps its share, and on a low screen all.
        step = self._screen.FILL_STEP
        free = room - (-(-len(self._screen.table.rows.keys) // step) * step or room) - 2
        below.display = tall or free >= BELOW_LINES
        if below.display:
            wished = self._screen.sizes.chosen_size(BELOW)
            least = room * self._screen.BELOW_MIN_PERCENT // 100 if tall else BELOW_LINES
            height = max(least, free) if wished is None else min(wished, room - MIN_HEIGHT)
            old_height = below.styles.inline.height  # that of the style sheet is a share
            if old_height is None or old_height.value != height:
                below.styles.height = height

    def look_up(self, key: str, look: Callable[[], T]) -> T | None:
        """Return what a thread has found about a row; None while it is looking, once for each row under the cursor.

        Args:
            key: Of the row, and of what it depends on besides.
            look: Called in the thread; deals with its errors itself.
        """

        def receive(result: T) -> None:
            self._reading, self._result = False, (key, result)
            self.show_now()

        known_key, result = self._result
        if known_key == key:
            return cast(T, result)
        if not self._reading:
            self._reading = True
            self._screen.deck.background.run_in_thread(look, receive, ())
        return None


class TableScreen(Frame):
    """Shows the rows that `listing` returns."""

    SORTED: ClassVar[bool] = True
    """Whether rows can change places; their order is then held while the operator has the cursor on a row."""

    MARKED: ClassVar[str] = (
        "<swap:h> swaps them, <pause or resume:z> pauses or resumes, <cancel:ctrl+d> stops or removes"
    )
    """Sentence of the help about actions on marked rows."""
    OPENS: ClassVar[str] = ""
    """Kind of the page that a row opens, with the key of the row as id."""
    ORDERS: ClassVar[tuple[str, ...]] = ()
    """Names of the orders, as a key cycles through them; if empty, rows are sorted by their cells."""
    HEADS: ClassVar[Mapping[str, str]] = {}
    """The order that a click on each heading chooses."""
    BELOW_MIN_HEIGHT: ClassVar[int] = 0
    """Screen height from which a pane below always shows details of the row under the cursor; 0 for no pane.

    The pane takes all lines that the rows leave free, on low screens too.
    """
    BELOW_MIN_PERCENT: ClassVar[int] = 45
    """Smallest share of the body that the pane takes, in percent."""
    FILL_STEP: ClassVar[int] = 1
    """Number of rows that may come or go before the pane moves."""
    KINDS: ClassVar[tuple[str, ...]] = ()
    """Kinds of the events that are read from the journal."""
    MAX_ENTRIES: ClassVar[int] = 2_000
    """How many of the newest events are read."""
    DEFAULT_CSS = """
    TableScreen #below { height: 45%; display: none; }
    """
    BINDINGS = [*SORTS]

    def __init__(self) -> None:
        super().__init__()
        self.sizes = TableSizes(self, self.GRIPS, self.update_now)
        self.reading = JournalReading(self, self.KINDS, self.MAX_ENTRIES, partial(_show_read, self))
        self.sorting = Sorting(_first_order(self))
        """How the rows are sorted."""
        self.due_ms = 0
        """Time of the next redraw, in UTC milliseconds; 0 for the next look."""
        self.details = DetailsPane(self)
        self._shown_count = 0
        self._total = 0

    def body(self) -> Iterable[Widget]:
        table = Table(id="body", sorts=self.SORTED)
        yield Vertical(table, Lines(id="below")) if self.BELOW_MIN_HEIGHT else table

    def describe_row(self, view: ViewState, key: str, width: int, height: int) -> RowDetails | None:
        """Return the details of a row for the pane below."""
        return None

    def listing(self, view: ViewState) -> Listing:
        """Return the rows."""
        raise NotImplementedError

    def sort_listing(self, listing: Listing) -> Listing:
        """Return rows of one of `ORDERS` in the direction that the operator chose."""
        if self.ORDERS:
            return reverse_rows(listing) if self.sorting.is_reversed else listing
        return sort_by_cells(listing, self.sorting) if self.sorting.order else listing

    @property
    def table(self) -> Table:
        return self.query_one("#body", Table)

    def select_row(self, key: str) -> bool:
        """Move the cursor to a row; return False if no row has that key."""
        return self.table.select(key)

    def show(self, view: ViewState) -> None:
        if self.KINDS:
            self.reading.update(view)
        if not view.is_due(self.due_ms):
            return
        listing = self.sort_listing(self.listing(view))
        if self.deck.access.readonly:
            listing = replace(listing, empty=tuple(line for line in listing.empty if OFFER not in line))
        if view.situation.opening:
            listing = replace(listing, empty=reading_message(view.situation))
        elif view.past is not None and not self.finding.needle and listing.empty:
            listing = replace(listing, empty=empty_in_past(listing.empty, view.past))
        elif self.is_held:
            listing = reorder(listing, self.table.rows.keys)
        self._shown_count, self._total = (
            len(listing.keys),
            listing.total if listing.total is not None else len(listing.keys),
        )
        self.table.head(title_of(self.sorting.order, self.HEADS), UP if self.sorting.is_reversed else DOWN)
        self.table.show(listing, view.wall_ms)
        self.due_ms = view.wall_ms + (self._total // ROWS_PER_MS if self._total > LONG_LISTING_ROWS else 0)
        if self.finding.is_typing:
            self.key_frames.call_after(self.details.show_now)
        else:
            self.details.show(view)

    def on_table_moved(self, event: Table.Moved) -> None:
        self.key_frames.call_after(self.details.show_now)

    def on_table_opened(self, event: Table.Opened) -> None:
        self.open_row(event.key)

    def open_row(self, key: str) -> None:
        """Open the page of a row. A method to override, because Textual calls the handlers of every base class."""
        self.deck.open(self.OPENS, key)

    def on_table_resized(self) -> None:
        self.due_ms = 0  # the frame has it looked at

    def on_lines_resized(self, event: Lines.Resized) -> None:
        # Not by `call_after_refresh` in `_fill`: that has the screen painted before the frame around it is drawn.
        if event.lines.id == "below":
            self.details.show_now()

    def on_lines_clicked(self, event: Lines.Clicked) -> None:
        if event.lines.id == "below":
            self.deck.open_key(event.key)

    @property
    def is_held(self) -> bool:
        """Whether the order of the rows is held, because the operator has put the cursor on one."""
        return self.SORTED and self.table.placed

    def release(self) -> None:
        """Release the held order; the cursor goes to the first row."""
        self.due_ms = 0
        self.table.placed = False

    def show_filtered(self, is_new: bool) -> None:
        if is_new:
            self.table.placed = False
        self.due_ms = 0
        super().show_filtered(is_new)

    def action_back(self) -> None:
        """Clear the marks, else the filter, else the held order, else do as every screen."""
        if not self.marked_keys() and not self.finding.needle and self.is_held:
            self.release()
            self.update_view(self.deck.view)
        else:
            super().action_back()

    def facts(self) -> list[Cell]:
        marked = len(self.marked_keys())
        facts = [Cell(f"▪ {marked:,} marked", "accent")] if marked else []
        facts += [Cell("order held, esc releases it", "muted")] if self.is_held else []
        facts += [Cell(f"{self._shown_count:,} of {self._total:,}", "muted")] if self.finding.needle else []
        facts += [Cell(f"sorted: {self.sorting.label}", "muted")] if self.sorting.order else []
        read = f"{len(self.reading.entries):,}{'+' if self.reading.is_full else ''} read"
        return [*facts, Cell(read, "muted")] if self.KINDS else facts

    def action_sort(self, by: int) -> None:
        """Sort by the next or previous order; without `ORDERS`, by the next or previous column.

        Columns that there is no room for are passed over: nobody would see what the rows are sorted by.
        """
        titles = ["", *self.table.titles]
        orders = [order for order in self.ORDERS if title_of(order, self.HEADS) in titles]
        _sort(self, self.sorting.after_step(orders or titles, by))

    def on_table_headed(self, event: Table.Headed) -> None:
        """Sort by the column, then reversed, then in the default order again."""
        order = self.HEADS.get(event.title, "") if self.ORDERS else event.title
        if order:
            _sort(self, self.sorting.after_click(order, _first_order(self)))
        elif event.title:
            self.deck.messages.say(f"rows cannot be sorted by {event.title}; {', '.join(self.HEADS)} can", "muted")

    def marked_keys(self) -> list[str]:
        """Return the keys of marked rows whose objects still exist."""
        return [key for key in self.table.marked if self.can_be_marked(key)] if self.is_mounted else []

    def can_be_marked(self, key: str) -> bool:
        """Return whether the object of a row can be changed."""
        return target_of(self.state, key) is not None

    def unmark(self) -> None:
        self.table.unmark()
        self.update_view(self.deck.view)

    def action_mark(self) -> None:
        """Mark or unmark the row under the cursor, and move to the next row."""
        key = self.table.selected
        if key is None:
            return
        if not self.can_be_marked(key):
            self.deck.messages.warn("it has ended, and its run with it; nothing can be done with it")
            return
        self.table.mark(key)
        self.table.action_move(1)
        _say_marked(self)

    def action_mark_all(self) -> None:
        """Mark all matching rows that can be changed; if all are marked, unmark them."""
        keys = [key for key in self.table.rows.keys if self.can_be_marked(key)]
        if not keys:
            self.deck.messages.warn("nothing here can be marked")
            return
        self.table.mark_all([] if set(keys) <= self.table.marked.keys() else keys)
        _say_marked(self)

    def target(self) -> Target | None:
        return target_of(self.state, self.table.selected)


def _first_order(screen: TableScreen) -> str:
    """Return the order until the user chooses one."""
    return next(iter(screen.ORDERS), "")


def _show_read(screen: TableScreen, is_first: bool) -> None:
    """Show events that have been read; a long listing waits until it is due."""
    if is_first or len(screen.reading.entries) < LONG_LISTING_ROWS:
        screen.due_ms = 0
        screen.update_now()


def _say_marked(screen: TableScreen) -> None:
    if marked := len(screen.marked_keys()):
        text = f" · {fill_keys(screen.MARKED)}" if screen.deck.view.can_write else ""
        screen.deck.messages.say(f"{marked:,} marked{text} · esc unmarks", "muted")
    screen.update_now()


def _sort(screen: TableScreen, sorting: Sorting) -> None:
    """Sort the rows and release a held order."""
    screen.sorting = sorting
    screen.release()
    screen.update_now()
