"""Which engines lead, stand by, and led before."""

from collections.abc import Sequence
from pathlib import Path

from dashboard.frame.journal_screen import JournalScreen
from dashboard.frame.table_screen import BELOW
from dashboard.reading.feed import entries_of
from dashboard.views.drawing.row_pane import More
from dashboard.views.drawing.rows import Listing
from dashboard.views.engines import KINDS, LAST_FROM, ends_before, engines, of_engine
from dashboard.views.event_log import Entry
from dashboard.views.tail import Told, newest
from dashboard.views.view_state import ViewState
from dashboard.views.words.names import Names
from engine.core.errors import CoreError
from store import Reader, StoreError


def _events_before(path: Path, seq: int, most: int, names: Names) -> list[Entry]:
    """Runs in a thread: return so many events that lie before one."""
    try:
        with Reader(path) as reader:
            return entries_of(reader, reader.records_before(seq, most), names)
    except (StoreError, CoreError):
        return []


class EnginesScreen(JournalScreen):
    """Leader, standby engines and takeovers."""

    PLACE = "engines"
    KINDS = KINDS
    GRIPS = (BELOW,)
    BELOW_FROM, FILLS = 34, True
    KEYS = (
        ("enter", "open"),
        ("E", "start, hand over", "start an engine where none runs, or let another one lead"),
        ("/", "filter"),
    )

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[int, Told] = {}

    def listing(self, view: ViewState) -> Listing:
        past = view.past is not None
        return engines(self.entries, view.situation, needle=self.needle, looked=self.looked, past=past)

    def more(self, view: ViewState, key: str, width: int, height: int) -> More | None:
        last = self._last(view, key, height) if height >= LAST_FROM else None
        past = view.past is not None
        return of_engine(self.entries, view.situation, view.state, key, width, height, last, past=past)

    def _last(self, view: ViewState, key: str, most: int) -> Sequence[Told] | None:
        """Return what an engine did last: of the leader the newest events, of one before those up to its successor."""
        names, path, next_seq = view.names, self.deck.path, ends_before(self.entries, key)
        seq = view.state.seq
        if not next_seq:
            recent = (one for one in reversed(view.recent) if one.seq <= seq)
            return newest(recent, names, most, joins=False, known=self._known)
        found = self.looked_up(f"{key} {most}", lambda: _events_before(path, min(next_seq, seq + 1), most, names))
        return None if found is None else newest(reversed(found), names, most, joins=False)

    def open_row(self, key: str) -> None:
        if key.isdigit():  # else an engine of now, whose events have not been read
            super().open_row(key)


SCREEN = EnginesScreen
