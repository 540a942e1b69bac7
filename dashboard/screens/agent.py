"""One agent: who it is, what it is at, what it did last."""

from collections.abc import Iterable

from textual.widget import Widget

from dashboard.screens.frame import Frame
from dashboard.screens.text import HISTORY, told
from dashboard.views.header import Glimpse
from dashboard.views.pages import History, agent_page
from dashboard.views.targets import Target, target_of
from dashboard.widgets.pane import Pane
from store import Reader, Record

READ_EVERY_MS = 500
"""Its events are read again at most this often while it works."""


class AgentScreen(Frame):
    """The page of an agent, with the keys that change it."""

    KEYS = (
        ("esc", "back"),
        ("h", "swap"),
        ("B", "roll back"),
        ("z", "pause"),
        ("c", "capability"),
        ("m", "move"),
        ("R", "remove"),
        ("↑↓", "scroll"),
    )

    def __init__(self, agent_id: str) -> None:
        super().__init__()
        self._agent_id = agent_id
        self._history: History = ()
        self._read_seq = -1
        self._read_ms = -READ_EVERY_MS
        self._reading = False

    def body(self) -> Iterable[Widget]:
        yield Pane(id="body")

    def show(self, glimpse: Glimpse) -> None:
        page = agent_page(
            glimpse.state, self._agent_id, glimpse.counts, glimpse.live, self._history, now_ms=glimpse.now_ms
        )
        self.query_one("#body", Pane).show(page)
        due = glimpse.now_ms - self._read_ms >= READ_EVERY_MS
        if due and not self._reading and self._read_seq != glimpse.state.seq:
            self._read(glimpse)

    def _read(self, glimpse: Glimpse) -> None:
        self._reading, self._read_seq, self._read_ms = True, glimpse.state.seq, glimpse.now_ms

        def read(reader: Reader) -> list[Record]:
            return reader.records_before(2**62, HISTORY, agent_id=self._agent_id)

        def then(records: list[Record]) -> None:
            self._reading = False
            if self.is_attached:  # else the page was left meanwhile
                self._history = told(records, self.deck.glimpse)
                self.show(self.deck.glimpse)

        self.deck.read(read, then)

    def target(self) -> Target | None:
        return target_of(self.state, self._agent_id)
