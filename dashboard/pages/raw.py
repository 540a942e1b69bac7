"""The page of an object as JSON: from the state, an event, or the last events about an object not in the state."""

from collections.abc import Iterable
from functools import partial

from textual.widget import Widget

from dashboard.frame.frame import Frame
from dashboard.reading.newest import HISTORY
from dashboard.views.drawing.raw import as_json, object_of, raw_lines
from dashboard.views.view_state import ViewState
from dashboard.views.words.names import pretty
from dashboard.views.words.place import parse_seq
from dashboard.widgets.lines import Lines
from dashboard.widgets.panel import Panel
from store import Reader

UPDATE_INTERVAL_MS = 1_000
"""Minimum interval of updates of an object, in milliseconds."""


class RawScreen(Frame):
    """An object as JSON."""

    FINDS = True
    KEYS = (("esc", "back"), ("Y", "copy"), ("↑↓", "scroll"))
    DEFAULT_CSS = """
    RawScreen #body { margin-top: 0; }
    """

    def __init__(self, subject_id: str) -> None:
        super().__init__(subject_id)
        self._text = ""
        self._next_ms = 0

    def body(self) -> Iterable[Widget]:
        yield Panel(id="body")

    def on_mount(self) -> None:
        if self.display:
            self.focus_body()
        if object_of(self.deck.view.state, self.subject_id) is None:
            self.deck.background.read(partial(self._from_journal, self.deck.feed.state.seq), self._show_text)

    def path_title(self, view: ViewState) -> str:
        return f"{super().path_title(view)} as JSON"

    def _from_journal(self, newest: int, reader: Reader) -> str:
        """Return an event, or the last events about an object; runs in a thread, which may outlive this page."""
        if (seq := parse_seq(self.subject_id)) is not None:
            return pretty(reader.record(seq).body)
        records = reader.records_before(newest + 1, HISTORY, value=self.subject_id)
        return pretty(b"[%b]" % b",".join(record.body for record in records))

    def _show_text(self, text: str) -> None:
        self._text = text
        self.update_now()

    def show(self, view: ViewState) -> None:
        subject = object_of(view.state, self.subject_id)
        if subject is not None and view.is_due(self._next_ms):
            self._text, self._next_ms = as_json(subject), view.wall_ms + UPDATE_INTERVAL_MS
        body = self.query_one("#body", Panel)
        where = "as the state has it" if subject is not None else "as the journal has it"
        seq = parse_seq(self.subject_id)
        title = self.subject_id if seq is None else f"event {seq:,}"
        body.fill(title, raw_lines(self._text, body.wide) if self._text else [], right=f"{where} · Y copies")

    def on_lines_resized(self, event: Lines.Resized) -> None:
        if isinstance(event.lines, Panel):
            self.update_view(self.deck.view)

    def copyable_text(self) -> tuple[str, str]:
        return f"{self.subject_id} as JSON", self._text


PAGE = RawScreen
