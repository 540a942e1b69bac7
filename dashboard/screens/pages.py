"""Pages to scroll through: an agent, a task, a run with its output, an event."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from textual.widget import Widget

from dashboard.feed import entries_of
from dashboard.screens.frame import Frame
from dashboard.views.event_log import Entry
from dashboard.views.header import Glimpse
from dashboard.views.names import Texts
from dashboard.views.pages import History, agent_page, run_page, task_page
from dashboard.views.rows import Cell
from dashboard.views.sentences import sentence
from dashboard.views.targets import Target, target_of
from dashboard.widgets.pane import Pane
from engine.core.values import TextRef
from store import Reader, Record

HISTORY = 100
"""Events of one object that are shown."""


class Page(Protocol):
    """What a `TextScreen` shows."""

    key: str

    def cells(self, glimpse: Glimpse, texts: Texts, history: History) -> list[Cell]:
        """Return its paragraphs."""
        ...

    def records(self, reader: Reader, glimpse: Glimpse) -> list[Record]:
        """Read its events, the newest last."""
        ...


class TaskText:
    """A task."""

    def __init__(self, task_id: str) -> None:
        self.key = task_id
        self._run_id: str | None = None

    def cells(self, glimpse: Glimpse, texts: Texts, history: History) -> list[Cell]:
        return task_page(glimpse.state, self.key, glimpse.counts, glimpse.live, texts, history, now_ms=glimpse.now_ms)

    def records(self, reader: Reader, glimpse: Glimpse) -> list[Record]:
        task = glimpse.state.tasks.get(self.key)
        self._run_id = task.run_id if task is not None else self._run_id
        return reader.records_before(_END, HISTORY, run_id=self._run_id, task_id=self.key)


class RunText:
    """A run with its output."""

    def __init__(self, run_id: str) -> None:
        self.key = run_id

    def cells(self, glimpse: Glimpse, texts: Texts, history: History) -> list[Cell]:
        return run_page(glimpse.state, self.key, texts, now_ms=glimpse.now_ms, working=glimpse.working)

    def records(self, reader: Reader, glimpse: Glimpse) -> list[Record]:
        return []


class FixedText:
    """What does not change, such as an event."""

    def __init__(self, key: str, cells: Sequence[Cell]) -> None:
        self.key = key
        self._cells = list(cells)

    def cells(self, glimpse: Glimpse, texts: Texts, history: History) -> list[Cell]:
        return self._cells

    def records(self, reader: Reader, glimpse: Glimpse) -> list[Record]:
        return []


_END = 2**62


class TextScreen(Frame):
    """Shows a page, and reads from the journal what the state does not hold."""

    KEYS = (("esc", "back"), "priority", "deadline", "reassign", "cancel", "retry", ("↑↓", "scroll"))

    def __init__(self, page: Page) -> None:
        super().__init__()
        self._page = page
        self._texts = Texts()
        self._history: History = ()
        self._read_seq = -1
        self._reading = False

    def body(self) -> Iterable[Widget]:
        yield Pane(id="body")

    def show(self, glimpse: Glimpse) -> None:
        self._texts.missing.clear()
        self.query_one("#body", Pane).show(self._page.cells(glimpse, self._texts, self._history))
        if not self._reading and (self._texts.missing or self._read_seq != glimpse.state.seq):
            self._read(glimpse, list(self._texts.missing))

    def _read(self, glimpse: Glimpse, missing: list[TextRef]) -> None:
        self._reading, self._read_seq = True, glimpse.state.seq

        def read(reader: Reader) -> tuple[dict[int, bytes], list[Entry]]:
            records = self._page.records(reader, glimpse)
            return reader.bodies({ref.seq for ref in missing}), entries_of(reader, records, glimpse.names)

        def then(found: tuple[dict[int, bytes], list[Entry]]) -> None:
            self._reading = False
            bodies, entries = found
            for ref in missing:
                self._texts.add(ref, bodies.get(ref.seq))
            if self.is_attached:  # else the page was left meanwhile
                self._history = told(entries, self.deck.glimpse)
                self.show(self.deck.glimpse)

        self.deck.read(read, then)

    def target(self) -> Target | None:
        return target_of(self.state, self._page.key)


def told(entries: list[Entry], glimpse: Glimpse) -> History:
    """Return events as sentences, the newest first."""
    return [(one.seq, one.at_ms, sentence(one.event, glimpse.names)) for one in reversed(entries)]


READ_EVERY_MS = 500
"""Its events are read again at most this often while it works."""


class AgentScreen(Frame):
    """The page of an agent, with the keys that change it."""

    KEYS = (("esc", "back"), "swap", "rollback", "pause or resume", "capability", "move", "remove", ("↑↓", "scroll"))

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

        def read(reader: Reader) -> list[Entry]:
            return entries_of(reader, reader.records_before(_END, HISTORY, agent_id=self._agent_id), glimpse.names)

        def then(entries: list[Entry]) -> None:
            self._reading = False
            if self.is_attached:  # else the page was left meanwhile
                self._history = told(entries, self.deck.glimpse)
                self.show(self.deck.glimpse)

        self.deck.read(read, then)

    def target(self) -> Target | None:
        return target_of(self.state, self._agent_id)
