"""A screen whose body is one page to scroll through, about one object; the pages are in `dashboard/pages`."""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual.widget import Widget

from dashboard.feed import entries_of, parts_of
from dashboard.frame.frame import Frame
from dashboard.views.event_log import Entry
from dashboard.views.header import Glimpse
from dashboard.views.names import Texts
from dashboard.views.pages import History
from dashboard.views.rows import Cell
from dashboard.views.sentences import sentence
from dashboard.views.targets import Target, target_of
from dashboard.widgets.pane import Pane
from engine.core.events import Event
from engine.core.values import TextRef
from store import Reader, Record

HISTORY = 100
"""Events of one object that are shown."""
READ_EVERY_MS = 500
"""They are read again at most this often while it works."""
NEWEST = 2**62
"""Above every seq."""


class PageScreen(Frame):
    """Shows one object, and reads from the journal what the state does not hold."""

    KEYS: ClassVar[tuple[str | tuple[str, str], ...]] = (
        ("esc", "back"), "priority", "deadline", "reassign", "cancel", "retry", ("↑↓", "scroll")
    )  # fmt: skip

    def __init__(self, key: str) -> None:
        super().__init__()
        self._key = key
        self._texts = Texts()
        self._history: History = ()
        self.events: list[Event] = []
        """Its events, the oldest first."""
        self.parts: dict[str, str] = {}
        """What models were told besides messages, by hash."""
        self._read_seq, self._read_ms = -1, -READ_EVERY_MS
        self._reading = False

    def page(self, glimpse: Glimpse, texts: Texts, history: History) -> Sequence[Cell]:
        """Return its paragraphs."""
        raise NotImplementedError

    def records(self, reader: Reader, glimpse: Glimpse) -> list[Record]:
        """Read its events, the newest last."""
        return []

    def body(self) -> Iterable[Widget]:
        yield Pane(id="body")

    @property
    def pane(self) -> Pane:
        """What is scrolled."""
        return self.query_one("#body", Pane)

    def show(self, glimpse: Glimpse) -> None:
        self._texts.missing.clear()
        self.pane.show(self.page(glimpse, self._texts, self._history))
        due = self._read_seq != glimpse.state.seq and glimpse.now_ms - self._read_ms >= READ_EVERY_MS
        if not self._reading and (self._texts.missing or due):
            self._read(glimpse, list(self._texts.missing))

    def _read(self, glimpse: Glimpse, missing: list[TextRef]) -> None:
        self._reading, self._read_seq, self._read_ms = True, glimpse.state.seq, glimpse.now_ms

        def read(reader: Reader) -> tuple[dict[int, bytes], list[Entry], dict[str, str]]:
            entries = entries_of(reader, self.records(reader, glimpse), glimpse.names)
            return reader.bodies({ref.seq for ref in missing}), entries, parts_of(reader, entries, known=self.parts)

        def then(found: tuple[dict[int, bytes], list[Entry], dict[str, str]]) -> None:
            self._reading = False
            bodies, entries, parts = found
            self.parts |= parts
            self.events = [one.event for one in entries]
            for ref in missing:
                self._texts.add(ref, bodies.get(ref.seq))
            if self.is_attached:  # else the page was left meanwhile
                self._history = told(entries, self.deck.glimpse)
                self.show(self.deck.glimpse)

        self.deck.read(read, then)

    @property
    def subject_id(self) -> str:
        """Id of the object that it shows."""
        return self._key

    def target(self) -> Target | None:
        return target_of(self.state, self._key)


def told(entries: list[Entry], glimpse: Glimpse) -> History:
    """Return events as sentences, the newest first."""
    return [(one.seq, one.at_ms, sentence(one.event, glimpse.names)) for one in reversed(entries)]
