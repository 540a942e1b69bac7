"""The journal: every event as a sentence, a million of them as quickly as ten."""

from collections.abc import Collection, Iterable, Sequence

from textual.binding import Binding
from textual.timer import Timer
from textual.widget import Widget

from dashboard.frame.frame import Frame
from dashboard.reading.event_search import Asked, after, before
from dashboard.reading.feed import entries_of
from dashboard.views.drawing.rows import Cell
from dashboard.views.event_log import BLOCK, Entry, FoundLog, Search, WholeLog
from dashboard.views.view_state import ViewState
from dashboard.views.words.filters import filter_typed
from dashboard.widgets.table import Log, Table
from store import Reader, Record

SEARCH_EVERY_MS = 500
"""A filter looks for new events at most this often."""
TYPED_S = 0.15
"""Pause in typing after which a search begins: it reads the whole file."""


class EventsScreen(Frame):
    """Follows the newest event; scrolls back to the first."""

    PLACE = "events"
    KEYS = (
        ("enter", "open"),
        ("↑↓", "scroll"),
        ("G", "newest"),
        ("g", "first", "go to the first event"),
        ("/", "filter"),
        "back here",
    )
    BINDINGS = [Binding("f", "follow", "follow", show=False)]

    def __init__(self) -> None:
        super().__init__()
        self._whole: WholeLog | None = None
        self._found: FoundLog | None = None
        self._ended: dict[str, Collection[str] | None] = {}
        """What its filter has found out about ended runs."""
        self._reading = False
        self._search_ms = 0
        self._typed: Timer | None = None

    def body(self) -> Iterable[Widget]:
        yield Log(id="body")

    @property
    def log_table(self) -> Log:
        return self.query_one("#body", Log)

    def show(self, view: ViewState) -> None:
        whole = self._whole_log()
        self._to_moment(view)
        whole.grow(self._newest(view), view.recent)
        shown = self._found or whole
        shown.now_ms = view.now_ms
        self.log_table.show(shown, view.wall_ms)
        if self._reading:
            return
        if self._found is None:
            self._read_blocks(whole)
        else:
            self._search(self._found, view)

    def _newest(self, view: ViewState) -> int:
        """Return the newest event that there is at the moment shown."""
        return view.state.seq if view.past is not None else max(view.state.seq, self.deck.feed.file_seq)

    def _to_moment(self, view: ViewState) -> None:
        """Search again where what was found is of later than the moment shown."""
        found = self._found
        if found is not None and found.to_seq > self._newest(view):
            self._found, self._ended = FoundLog(view.names, self.needle, found.wanted), {}

    def _whole_log(self) -> WholeLog:
        if self._whole is None:
            self._whole = WholeLog(self.deck.feed.names)
            self.deck.read(lambda reader: reader.records(0, 1), self._begins)
        return self._whole

    def _begins(self, first: Sequence[Record]) -> None:
        for record in first:
            whole = self._whole_log()
            whole.first_seq, whole.oldest_ms = record.seq, record.at_ms

    def _read_blocks(self, whole: WholeLog) -> None:
        # Only what is visible now: blocks that flew by are asked for again when they are looked at.
        wanted, whole.wanted = sorted(whole.wanted)[-4:], set()
        if not wanted:
            return
        self._reading = True

        names = self.deck.feed.names

        def read(reader: Reader) -> list[tuple[int, list[Entry]]]:
            blocks = [(block, reader.records(block * BLOCK - 1, BLOCK)) for block in wanted]
            return [(block, entries_of(reader, records, names)) for block, records in blocks]

        def then(found: list[tuple[int, list[Entry]]]) -> None:
            self._reading = False
            for block, entries in found:
                whole.put(block, entries)
            self.show(self.deck.view)

        self.deck.read(read, then, failed=self._not_read)

    def _not_read(self) -> None:
        """What is visible is asked for again at the next look."""
        self._reading = False

    def _search(self, log: FoundLog, view: ViewState) -> None:
        from_seq, to_seq, newest = log.from_seq, log.to_seq, self._newest(view)
        back = from_seq is None or (not log.complete and (self.log_table.top == 0 or len(log.keys) < BLOCK))
        if not back and (not view.due(self._search_ms + SEARCH_EVERY_MS) or view.state.seq == to_seq):
            return
        self._reading, self._search_ms = True, view.wall_ms
        asked = Asked(log.wanted, view.names, view.state, self._ended)

        def read(reader: Reader) -> tuple[int, Search]:
            last_seq = min(reader.last_seq(), newest)
            if back:
                return last_seq, before(reader, last_seq + 1 if from_seq is None else from_seq, asked)
            found = after(reader, to_seq, asked)
            entries = [one for one in found.entries if one.seq <= last_seq]
            return last_seq, found._replace(entries=entries, seq=min(found.seq, last_seq))

        def then(found: tuple[int, Search]) -> None:
            self._reading = False
            if back:
                log.older(found[1], found[0])
            else:
                log.newer(found[1])
            self.show(self.deck.view)  # where another filter was typed meanwhile, its search begins here

        self.deck.read(read, then, failed=self._not_read)

    def filter_typed(self, needle: str) -> None:
        if self._typed is not None:
            self._typed.stop()
        self._typed = self.set_timer(TYPED_S, lambda: self.filter(needle))

    def filter(self, needle: str) -> None:
        if self._typed is not None:
            self._typed.stop()
        needle = needle.strip()
        if needle != self.needle or not needle:
            wanted = filter_typed(needle)
            self._found = FoundLog(self.deck.feed.names, needle, wanted) if wanted else None
            self._ended = {}
            self.log_table.following = True
        super().filter(needle)

    def facts(self) -> list[Cell]:
        following = Cell("● following", "busy") if self.log_table.following else Cell("G follows again", "draining")
        facts = [following]
        if self._found is not None:
            more = "" if self._found.complete else "+"
            facts.append(Cell(f"{len(self._found.keys):,}{more} found", "muted"))
        return facts

    def on_table_opened(self, event: Table.Opened) -> None:
        self.deck.open("event", event.key)

    def action_follow(self) -> None:
        """Go to the newest event and stay there."""
        self.log_table.to_end()
        self.look(self.deck.view)


SCREEN = EventsScreen
