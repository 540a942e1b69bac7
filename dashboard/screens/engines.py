"""The Engines screen: the leader, standbys, and previous leaders."""

from collections.abc import Sequence
from pathlib import Path

from dashboard.frame.table_screen import BELOW, TableScreen
from dashboard.reading.feed import entries_of
from dashboard.views.drawing.row_pane import RowDetails
from dashboard.views.drawing.rows import Listing
from dashboard.views.engines import KINDS, LAST_EVENTS_MIN_ROWS, describe_engine, engines, next_start_seq
from dashboard.views.event_log import Entry
from dashboard.views.tail import TailLine, newest_lines
from dashboard.views.view_state import ViewState
from dashboard.views.words.names import Names
from engine.core.errors import CoreError
from store import Reader, StoreError


def _events_before(path: Path, seq: int, limit: int, names: Names) -> list[Entry]:
    """Return the last `limit` events before a seq; runs in a thread."""
    try:
        with Reader(path) as reader:
            return entries_of(reader, reader.records_before(seq, limit), names)
    except (StoreError, CoreError):
        return []


class EnginesScreen(TableScreen):
    """Leader, standby engines and takeovers."""

    PLACE = "engines"
    SORTED, OPENS, KINDS = False, "event", KINDS
    GRIPS = (BELOW,)
    BELOW_MIN_HEIGHT = 34
    KEYS = (
        ("enter", "open"),
        ("E", "start, hand over", "start an engine where none runs, or let another one lead"),
        ("/", "filter"),
    )

    def __init__(self) -> None:
        super().__init__()
        self._line_cache: dict[int, TailLine] = {}

    def listing(self, view: ViewState) -> Listing:
        past = view.past is not None
        return engines(
            self.reading.entries, view.situation, needle=self.finding.needle, is_loaded=self.reading.has_read, past=past
        )

    def describe_row(self, view: ViewState, key: str, width: int, height: int) -> RowDetails | None:
        last = self._last_events(view, key, height) if height >= LAST_EVENTS_MIN_ROWS else None
        past = view.past is not None
        return describe_engine(self.reading.entries, view.situation, view.state, key, width, height, last, past=past)

    def _last_events(self, view: ViewState, key: str, limit: int) -> Sequence[TailLine] | None:
        """Return the last events of an engine: the newest ones, or for a previous leader those before its successor."""
        names, path, next_seq = view.names, self.deck.path, next_start_seq(self.reading.entries, key)
        seq = view.state.seq
        if not next_seq:
            recent = (entry for entry in reversed(view.recent) if entry.seq <= seq)
            return newest_lines(recent, names, limit, joins=False, cache=self._line_cache)
        entries = self.details.look_up(
            f"{key} {limit}", lambda: _events_before(path, min(next_seq, seq + 1), limit, names)
        )
        return None if entries is None else newest_lines(reversed(entries), names, limit, joins=False)

    def open_row(self, key: str) -> None:
        if key.isdigit():  # else a current engine whose events have not been read
            super().open_row(key)


SCREEN = EnginesScreen
