"""An event as it stands in the journal; it does not change."""

from collections.abc import Sequence

from dashboard.feed import entries_of
from dashboard.frame.page_screen import PageScreen
from dashboard.views.event_log import Entry
from dashboard.views.header import Glimpse
from dashboard.views.names import Texts
from dashboard.views.pages import History, event_page
from dashboard.views.rows import Cell
from dashboard.views.sentences import sentence
from store import Reader, Record


class EventScreen(PageScreen):
    """The event with a seq."""

    KEYS = (("esc", "back"), ("↑↓", "scroll"), "back here", ("y", "JSON"), ("Y", "copy"))

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self._cells: Sequence[Cell] = (Cell("…", "muted"),)

    def on_mount(self) -> None:
        super().on_mount()
        names = self.deck.feed.names

        def read(reader: Reader) -> tuple[Record, Entry]:
            record = reader.record(int(self._key))
            return record, entries_of(reader, [record], names)[0]

        def then(found: tuple[Record, Entry]) -> None:
            record, entry = found
            told, now_ms = sentence(entry.event, names), self.deck.glimpse.now_ms
            self._cells = event_page(record.seq, record.at_ms, record.kind, record.body, told, now_ms=now_ms)
            self.look(self.deck.glimpse)

        self.deck.read(read, then)

    def show(self, glimpse: Glimpse) -> None:
        self.pane.show(self._cells)

    def page(self, glimpse: Glimpse, texts: Texts, history: History) -> Sequence[Cell]:
        return self._cells


PAGE = EventScreen
