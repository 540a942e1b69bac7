"""What a page reads from the journal about its object, because the state does not have it; see `dashboard/pages`."""

from collections.abc import Callable
from typing import NamedTuple

from dashboard.deck.live_screen import LiveScreen
from dashboard.reading.feed import prompt_parts_of
from dashboard.reading.task_input import input_of
from dashboard.views.event_log import Entry
from dashboard.views.facts.pages import History
from dashboard.views.view_state import ViewState
from dashboard.views.words.names import JournalTexts
from dashboard.views.words.sentences import Sentence, sentence
from engine.core.events import Event
from engine.core.records.values import TextRef
from store import Reader

READ_EVERY_MS = 500
"""Shortest time between two reads of the journal, in milliseconds."""


class _ReadResult(NamedTuple):
    """Data that a page read from the journal."""

    bodies: dict[int, bytes]
    entries: list[Entry]
    parts: dict[str, str]
    inputs: dict[str, str]


class PageReading:
    """Reads in threads the events of an object, and the texts that a redraw asked for.

    Args:
        read: Returns the events of the object, the newest last; called in a thread.
        redraw: Draws the page again, with what was read.
        task_needing_input: Returns the task whose input must be read because the state has dropped it, if any.
    """

    def __init__(
        self,
        screen: LiveScreen,
        read: Callable[[Reader, ViewState], list[Entry]],
        redraw: Callable[[], None],
        task_needing_input: Callable[[ViewState], str | None] = lambda view: None,
    ) -> None:
        self._screen, self._read_events, self._redraw = screen, read, redraw
        self._task_needing_input = task_needing_input
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

    def begin(self, view: ViewState) -> None:
        """Prepare a redraw, after which `proceed` reads what it asked for from `texts`."""
        self.texts.begin_redraw()
        self.forget_later(view)

    def proceed(self, view: ViewState) -> None:
        """Read missing texts and inputs, and new events if that is due."""
        due = self._read_seq != view.state.seq and view.is_due(self._read_ms + READ_EVERY_MS)
        input_entry = self._first_input_entry(view)
        if not self._reading and (self.texts.missing or due or input_entry is not None):
            self.read(view, input_entry)

    @property
    def has_begun(self) -> bool:
        """Whether the events have been read once, or are being read."""
        return self._read_seq >= 0

    def is_due(self, view: ViewState) -> bool:
        """Return whether the events may be read again."""
        return not self._reading and view.is_due(self._read_ms + READ_EVERY_MS)

    def forget_later(self, view: ViewState) -> None:
        """Drop events that are later than the shown moment."""
        if self.entries and self.entries[-1].seq > view.state.seq:
            self.entries = [entry for entry in self.entries if entry.seq <= view.state.seq]

    def _first_input_entry(self, view: ViewState) -> Entry | None:
        """Return the first known event of the task whose input must be read."""
        task_id = self._task_needing_input(view)
        if task_id is None or task_id in self.inputs:
            return None
        return next((entry for entry in self.entries if getattr(entry.event, "task_id", None) == task_id), None)

    def read(self, view: ViewState, input_entry: Entry | None = None) -> None:
        """Read events, missing texts, and the input of the task that an event is about."""
        self._reading, self._read_seq, self._read_ms = True, view.state.seq, view.wall_ms
        missing: list[TextRef] = list(self.texts.missing)

        def read(reader: Reader) -> _ReadResult:
            entries = self._read_events(reader, view)
            parts = prompt_parts_of(reader, entries, known_hashes=self.parts)
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
            if is_news:  # else it waits for the next look, as all that moves
                self._redraw()

        self._screen.deck.background.read(read, receive, on_failure=self._handle_read_failure)

    def _handle_read_failure(self) -> None:
        """Let the next redraw read again."""
        self._reading, self._read_seq = False, -1


def _input_of(reader: Reader, entry: Entry) -> dict[str, str]:
    """Return the input of the task of an event by its id."""
    task_id, run_id = getattr(entry.event, "task_id", ""), getattr(entry.event, "run_id", "")
    return {task_id: input_of(reader, run_id, task_id, entry.seq)}
