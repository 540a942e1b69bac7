"""The Events screen: the whole journal, loaded in blocks on demand."""

from collections.abc import Collection, Iterable, Sequence

from textual.binding import Binding
from textual.containers import Vertical
from textual.timer import Timer
from textual.widget import Widget

from dashboard.frame.finding import RowFilter
from dashboard.frame.frame import Frame
from dashboard.reading.event_search import SearchQuery, search_after, search_before
from dashboard.reading.feed import entries_of
from dashboard.views.drawing.rows import Cell, fit_columns
from dashboard.views.event_log import BLOCK, GLYPH_WIDTH, SENTENCE, Entry, FilteredLog, Search, WholeLog
from dashboard.views.facts.event_pane import event_pane
from dashboard.views.folded_log import FoldedLog
from dashboard.views.view_state import ViewState
from dashboard.views.words.filters import parse_partial_filter
from dashboard.widgets.lines import Lines
from dashboard.widgets.table import Log, Table
from store import Reader, Record

SEARCH_EVERY_MS = 500
"""Minimum interval between two searches for new events, in milliseconds."""
BELOW_MIN_HEIGHT, FILL_STEP = 34, 5
"""Screen height from which the event under the cursor has a pane, and the rows after which the pane moves."""
TYPED_S = 0.15
"""Pause in typing after which a search starts, because it may read the whole file, in seconds."""


class SearchFilter(RowFilter):
    """A filter that is applied after a pause, because each begins a search of the journal."""

    _typed: Timer | None = None

    def seek(self, needle: str) -> None:
        if self._typed is not None:
            self._typed.stop()
        super().seek(needle.strip())

    def seek_typed(self, needle: str) -> None:
        if self._typed is not None:
            self._typed.stop()
        self._typed = self._screen.set_timer(TYPED_S, lambda: self.seek(needle))


class EventsScreen(Frame):
    """Follows the newest event; scrolls back to the first."""

    PLACE = "events"
    KEYS = (
        ("enter", "open", "open the event; show the routine events of a row one by one"),
        (".", "fold", "fold the routine events around the cursor to one row, or show them one by one"),
        ("A", "all", "show all events one by one, or fold routine ones"),
        ("G", "newest"),
        ("g", "first", "go to the first event"),
        ("/", "filter"),
        "back here",
    )
    BINDINGS = [
        Binding("f", "follow", "follow", show=False),
        Binding("full_stop", "fold", "fold", show=False),
        Binding("A", "fold_all", "all", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.finding = SearchFilter(self, self.show_filtered)
        self._whole: WholeLog | None = None
        self._folded: FoldedLog | None = None
        self._folds = True
        """Whether routine events are folded."""
        self._search_log: FilteredLog | None = None
        self._ended_ids: dict[str, Collection[str] | None] = {}
        """Cache of the search about ended runs."""
        self._reading = False
        self._search_ms = 0

    def body(self) -> Iterable[Widget]:
        yield Vertical(Log(id="body"), Lines(id="below"))

    @property
    def log_table(self) -> Log:
        return self.query_one("#body", Log)

    def show(self, view: ViewState) -> None:
        whole = self._whole_log()
        self._search_again_in_past(view)
        newest_seq = self._find_newest_seq(view)
        whole.grow(newest_seq, view.recent)
        log = self._search_log or self._folded_log() or whole
        if isinstance(log, FoldedLog):
            log.grow(min(newest_seq, view.state.seq), view.recent)
        log.now_ms = view.now_ms
        if isinstance(log, FilteredLog):
            log.width = dict(fit_columns(log.columns, self.log_table.wide - 2)).get(SENTENCE, log.width) - GLYPH_WIDTH
        self.log_table.show(log, view.wall_ms)
        self._show_below()
        if self._reading:
            return
        if isinstance(log, FilteredLog):
            self._search(log, view)
        elif isinstance(log, FoldedLog):
            self._read_older(log, whole.first_seq)
        else:
            self._read_blocks(whole)

    def _show_below(self) -> None:
        """Show the event under the cursor in the lines that the rows leave free, at least a quarter of all."""
        below, table = self.query_one("#below", Lines), self.log_table
        assert isinstance(below.parent, Widget)
        room, rows = below.parent.size.height, len(table.rows.keys)
        below.display = self.size.height >= BELOW_MIN_HEIGHT and rows > 0
        if not (below.display and room):
            return
        # In steps, so that the pane does not move with every event.
        height = max(room // 4, room - -(-rows // FILL_STEP) * FILL_STEP - 2)
        if below.styles.height is None or below.styles.height.value != height:
            below.styles.height = height
        index, log = table.rows.index(table.selected), table.rows
        if below.size.width and index is not None and isinstance(log, FoldedLog | FilteredLog | WholeLog):
            below.show(event_pane(log.entries_at(index), self.deck.feed.names, below.size.width, height))

    def on_table_moved(self, event: Table.Moved) -> None:
        self.key_frames.call_after(self._show_below_now)

    def on_lines_resized(self, event: Lines.Resized) -> None:
        if event.lines.id == "below":
            self._show_below_now()

    def _show_below_now(self) -> None:
        if self.is_there:
            self._show_below()

    def _find_newest_seq(self, view: ViewState) -> int:
        """Return the seq of the newest event at the moment shown."""
        return view.state.seq if view.past is not None else max(view.state.seq, self.deck.feed.file_seq)

    def _search_again_in_past(self, view: ViewState) -> None:
        """Restart a search that reaches beyond the moment shown."""
        log = self._search_log
        if log is not None and log.to_seq > self._find_newest_seq(view):
            self._search_log, self._ended_ids = FilteredLog(view.names, self.finding.needle, log.event_filter), {}

    def _whole_log(self) -> WholeLog:
        if self._whole is None:
            self._whole = WholeLog(self.deck.feed.names)
            self.deck.background.read(lambda reader: reader.records(0, 1), self._receive_first)
        return self._whole

    def _folded_log(self) -> FoldedLog | None:
        if self._folds and self._folded is None:
            self._folded = FoldedLog(self.deck.feed.names)
        return self._folded if self._folds else None

    def _read_older(self, log: FoldedLog, first_seq: int) -> None:
        """Read the events before those that are loaded, when the first of them is visible."""
        seq = log.oldest_seq
        if seq <= first_seq or (self.log_table.top > 0 and len(log.keys) > self.log_table.room):
            return
        self._reading = True
        names = self.deck.feed.names

        def read(reader: Reader) -> list[Entry]:
            return entries_of(reader, reader.records_before(seq, BLOCK), names)

        def receive(entries: list[Entry]) -> None:
            self._reading = False
            log.add_older(entries)
            self.show_body()

        self.deck.background.read(read, receive, on_failure=self._handle_read_failure)

    def _receive_first(self, first: Sequence[Record]) -> None:
        for record in first:
            whole = self._whole_log()
            whole.first_seq, whole.oldest_ms = record.seq, record.at_ms

    def _read_blocks(self, whole: WholeLog) -> None:
        # Only the last ones: blocks that were scrolled past are requested again when they are visible.
        block_numbers, whole.missing_blocks = sorted(whole.missing_blocks)[-4:], set()
        if not block_numbers:
            return
        self._reading = True

        names = self.deck.feed.names

        def read(reader: Reader) -> list[tuple[int, list[Entry]]]:
            blocks = [(block, reader.records(block * BLOCK - 1, BLOCK)) for block in block_numbers]
            return [(block, entries_of(reader, records, names)) for block, records in blocks]

        def receive(blocks: list[tuple[int, list[Entry]]]) -> None:
            self._reading = False
            for block, entries in blocks:
                whole.put(block, entries)
            self.show_body()

        self.deck.background.read(read, receive, on_failure=self._handle_read_failure)

    def _handle_read_failure(self) -> None:
        """Allow another read at the next redraw."""
        self._reading = False

    def _search(self, log: FilteredLog, view: ViewState) -> None:
        from_seq, to_seq, newest = log.from_seq, log.to_seq, self._find_newest_seq(view)
        back = from_seq is None or (not log.complete and (self.log_table.top == 0 or len(log.keys) < BLOCK))
        if not back and (not view.is_due(self._search_ms + SEARCH_EVERY_MS) or view.state.seq == to_seq):
            return
        self._reading, self._search_ms = True, view.wall_ms
        query = SearchQuery(log.event_filter, view.names, view.state, self._ended_ids)

        def read(reader: Reader) -> tuple[int, Search]:
            last_seq = min(reader.last_seq(), newest)
            if back:
                return last_seq, search_before(reader, last_seq + 1 if from_seq is None else from_seq, query)
            search = search_after(reader, to_seq, query)
            entries = [entry for entry in search.entries if entry.seq <= last_seq]
            return last_seq, search._replace(entries=entries, seq=min(search.seq, last_seq))

        def receive(result: tuple[int, Search]) -> None:
            self._reading = False
            if back:
                log.add_older(result[1], result[0])
            else:
                log.add_newer(result[1])
            self.show_body()  # starts the search of a filter that was typed meanwhile

        self.deck.background.read(read, receive, on_failure=self._handle_read_failure)

    def show_filtered(self, is_new: bool) -> None:
        needle = self.finding.needle
        if is_new or not needle:
            text_filter = parse_partial_filter(needle)
            self._search_log = FilteredLog(self.deck.feed.names, needle, text_filter) if text_filter else None
            self._ended_ids = {}
            self.log_table.following = True
        super().show_filtered(is_new)

    def facts(self) -> list[Cell]:
        following = Cell("● following", "busy") if self.log_table.following else Cell("G follows again", "draining")
        facts = [following]
        if self._search_log is not None:
            more = "" if self._search_log.complete else "+"
            facts.append(Cell(f"{len(self._search_log.keys):,}{more} found", "muted"))
        elif self._folds and self._folded is not None and self._folded.folded_count:
            facts.append(Cell(f"{self._folded.folded_count:,} folded", "muted"))
        return facts

    def on_table_opened(self, event: Table.Opened) -> None:
        log = self.log_table.rows
        if isinstance(log, FoldedLog) and log.is_folded(event.key):
            self.action_fold()
        else:
            self.deck.open("event", event.key)

    def action_fold(self) -> None:
        """Show the routine events of the row under the cursor one by one, or fold those around it."""
        log, key = self.log_table.rows, self.log_table.selected
        if isinstance(log, FoldedLog) and log.toggle(key):
            self.log_table.following = False
            self.update_view(self.deck.view)
            self.log_table.select(key or "")

    def action_fold_all(self) -> None:
        """Show all events one by one, or fold routine ones; the cursor stays at its event."""
        self._folds, key = not self._folds, self.log_table.selected
        self.update_view(self.deck.view)
        if not self.log_table.following and key is not None:
            self.log_table.select(key)

    def on_log_reached_first(self, event: Log.ReachedFirst) -> None:
        """Go to the first event of the journal, in the list of all events, which has it at hand."""
        log = self.log_table.rows
        if isinstance(log, FoldedLog) and log.oldest_seq > self._whole_log().first_seq:
            self.action_fold_all()
            self.log_table.place(0)

    def action_follow(self) -> None:
        """Go to the newest event and stay there."""
        self.log_table.to_end()
        self.update_view(self.deck.view)


SCREEN = EventsScreen
