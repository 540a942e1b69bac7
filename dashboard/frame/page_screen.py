"""A screen about one object, which reads from the journal what the state does not have; see `dashboard/pages`."""

from collections.abc import Iterable, Sequence
from typing import ClassVar, NamedTuple

from textual.widget import Widget

from dashboard.frame.frame import Frame, OwnKey
from dashboard.reading.feed import parts_of
from dashboard.reading.task_input import input_of
from dashboard.views.changes.targets import Target, target_of
from dashboard.views.drawing.raw import object_of
from dashboard.views.drawing.rows import Cell
from dashboard.views.event_log import Entry
from dashboard.views.facts.pages import History
from dashboard.views.view_state import ViewState
from dashboard.views.words.names import JournalTexts
from dashboard.views.words.sentences import Sentence, sentence
from dashboard.widgets.pane import Pane
from dashboard.widgets.panel import Panel
from engine.core.events import Event
from engine.core.records.values import TextRef
from store import Reader

HISTORY = 100
"""Number of events of an object that are shown."""
READ_EVERY_MS = 500
"""Shortest time between two reads of the journal, in milliseconds."""


class _ReadResult(NamedTuple):
    """Data that a page read from the journal."""

    bodies: dict[int, bytes]
    entries: list[Entry]
    parts: dict[str, str]
    inputs: dict[str, str]


class PageScreen(Frame):
    """Shows one object as paragraphs to scroll through; a subclass may draw panes of its own instead."""

    KEYS: ClassVar[tuple[OwnKey, ...]] = (
        ("esc", "back"),
        "priority",
        "deadline",
        "reassign",
        "cancel",
        "retry",
        ("↑↓", "scroll"),
    )

    def __init__(self, key: str) -> None:
        super().__init__()
        self._key = key
        self.texts = JournalTexts()
        """Texts of the journal that have been read."""
        self.entries: list[Entry] = []
        """Events of the object, the oldest first."""
        self.parts: dict[str, str] = {}
        """Parts of requests to models beside messages, by hash."""
        self.inputs: dict[str, str] = {}
        """Inputs of tasks that the state has dropped, by task."""
        self._read_seq, self._read_ms = -1, -READ_EVERY_MS
        self._reading = False
        self._sentences: dict[int, tuple[int, int, Sentence]] = {}
        self._called: object = None
        """Names of members for which the sentences were made."""

    @property
    def events(self) -> list[Event]:
        return [entry.event for entry in self.entries]

    def page(self, view: ViewState, texts: JournalTexts, history: History) -> Sequence[Cell]:
        """Return the paragraphs of the page."""
        raise NotImplementedError

    def task_needing_input(self, view: ViewState) -> str | None:
        """Return the task whose input must be read from the journal because the state has dropped it, if any."""
        return None

    def read(self, reader: Reader, view: ViewState) -> list[Entry]:
        """Read the events of the object, the newest last."""
        return []

    def body(self) -> Iterable[Widget]:
        yield Pane(id="body")

    @property
    def pane(self) -> Pane:
        return self.query_one("#body", Pane)

    def draw(self, view: ViewState) -> None:
        """Redraw with the available data; missing texts that were requested from `texts` are read next."""
        self.pane.show(self.page(view, self.texts, self.sentences(view)))

    def sentences(self, view: ViewState) -> History:
        """Return the events as sentences, the newest first; sentences are cached until a member is renamed."""
        called = view.names, view.names.renames
        sentences = self._sentences if called == self._called else {}
        self._called = called
        self._sentences = {
            entry.seq: sentences.get(entry.seq) or (entry.seq, entry.at_ms, sentence(entry.event, view.names))
            for entry in reversed(self.entries)
        }
        return list(self._sentences.values())

    def show(self, view: ViewState) -> None:
        self.texts.begin_redraw()
        self.forget_later(view)
        self.draw(view)
        due = self._read_seq != view.state.seq and view.is_due(self._read_ms + READ_EVERY_MS)
        input_entry = self._first_input_entry(view)
        if not self._reading and (self.texts.missing or due or input_entry is not None):
            self._read(view, list(self.texts.missing), input_entry)

    def forget_later(self, view: ViewState) -> None:
        """Drop events that are later than the shown moment."""
        if self.entries and self.entries[-1].seq > view.state.seq:
            self.entries = [entry for entry in self.entries if entry.seq <= view.state.seq]

    def _first_input_entry(self, view: ViewState) -> Entry | None:
        """Return the first known event of the task whose input must be read."""
        task_id = self.task_needing_input(view)
        if task_id is None or task_id in self.inputs:
            return None
        return next((entry for entry in self.entries if getattr(entry.event, "task_id", None) == task_id), None)

    def _read(self, view: ViewState, missing: list[TextRef], input_entry: Entry | None = None) -> None:
        self._reading, self._read_seq, self._read_ms = True, view.state.seq, view.wall_ms

        def read(reader: Reader) -> _ReadResult:
            entries = self.read(reader, view)
            parts = parts_of(reader, entries, known_hashes=self.parts)
            inputs = _input_of(reader, input_entry) if input_entry is not None else {}
            return _ReadResult(reader.bodies({ref.seq for ref in missing}), entries, parts, inputs)

        def receive(result: _ReadResult) -> None:
            self._reading = False
            is_news = bool(missing or result.parts or result.inputs)
            is_news = is_news or [entry.seq for entry in result.entries] != [entry.seq for entry in self.entries]
            self.entries = result.entries
            self.parts |= result.parts
            self.inputs |= result.inputs
            for ref in missing:
                self.texts.add(ref, result.bodies.get(ref.seq))
            if self.is_there and is_news:  # else it waits for the next look, as all that moves
                self.show(self.deck.view)

        self.deck.background.read(read, receive, failed=self._not_read)

    def _not_read(self) -> None:
        """Let the next redraw read again."""
        self._reading, self._read_seq = False, -1

    def path_title(self, view: ViewState) -> str:
        if self._key.isdigit():
            return f"event {self._key}"
        name = view.names.of(self._key)
        is_member = self._key in view.state.agents or self._key in view.state.supervisors
        return name if is_member or name == self._key else f"{self._key} {name}"

    @property
    def subject_id(self) -> str:
        return self._key

    def id_at_cursor(self, *, whole: bool = False) -> str:
        pane = self.focused
        chosen = pane.selected if isinstance(pane, Panel) and not whole else ""
        return chosen if chosen.isdigit() or object_of(self.state, chosen) is not None else self._key

    def target(self) -> Target | None:
        return target_of(self.state, self._key)


def _input_of(reader: Reader, entry: Entry) -> dict[str, str]:
    """Return the input of the task of an event by its id."""
    task_id, run_id = getattr(entry.event, "task_id", ""), getattr(entry.event, "run_id", "")
    return {task_id: input_of(reader, run_id, task_id, entry.seq)}
