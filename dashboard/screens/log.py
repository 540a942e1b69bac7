"""The Log screen: the end of the engine's log, a file beside the database."""

import os
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

from textual.widget import Widget

from dashboard.engines.process import log_of
from dashboard.frame.frame import Frame
from dashboard.frame.journal_reading import JournalReading
from dashboard.views.drawing.rows import Cell, empty_message
from dashboard.views.troubles import KINDS, troubles
from dashboard.views.view_state import ViewState
from dashboard.views.words.filters import FilterFields, parse_partial_filter
from dashboard.widgets.pane import Pane

TAIL_BYTES, TAIL_LINES = 200_000, 5_000
"""Limits of the part at the end of the log that is shown."""
READ_EVERY_MS = 1_000
MAX_TROUBLES = 100
"""How many of the newest events of the journal are read."""
TROUBLES_MIN_HEIGHT = 20
"""Minimum rows of the screen to show events of the journal below a short log."""


class LogScreen(Frame):
    """The lines of the log, the newest at the end; the view follows the end."""

    PLACE = "log"
    KEYS = (
        ("↑↓", "scroll"),
        ("G", "newest"),
        ("g", "oldest", "go to the oldest line"),
        ("/", "filter"),
    )

    def __init__(self) -> None:
        super().__init__()
        self._lines: Sequence[str] = ()
        self._read_ms = -READ_EVERY_MS
        self._reading = False
        self._troubles = JournalReading(self, KINDS, MAX_TROUBLES, lambda _is_first: self.update_now())

    def body(self) -> Iterable[Widget]:
        yield Pane(id="body")

    @property
    def pane(self) -> Pane:
        return self.query_one("#body", Pane)

    def show(self, view: ViewState) -> None:
        if not self._reading and view.has_passed(self._read_ms + READ_EVERY_MS):
            self._reading, self._read_ms = True, view.wall_ms
            self.deck.background.run_in_thread(partial(tail, log_of(self.deck.path)), self._show_tail, ())
        matching_lines = parse_partial_filter(self.finding.needle).apply(
            self._lines, lambda line: FilterFields((line,))
        )
        pane, at_end = self.pane, self.pane.scroll_offset.y >= self.pane.max_scroll_y
        cells = [Cell(line, _tone(line)) for line in matching_lines] or self._make_empty_cells()
        pane.show([*cells, *self._make_journal_cells(view, pane.size.height - len(cells) - 2)])
        if at_end:
            pane.scroll_end(animate=False)

    def _make_journal_cells(self, view: ViewState, room: int) -> list[Cell]:
        """Return events of the journal for the room below a short log."""
        if room <= 0 or self.finding.needle or self.size.height < TROUBLES_MIN_HEIGHT:
            return []
        self._troubles.update(view)
        head = [Cell(""), Cell("engines, failures, warnings and questions of the journal", "muted")]
        cells = troubles(self._troubles.entries, view.names, width=self.pane.size.width, height=room)
        return [*head, *cells] if cells else []

    def _make_empty_cells(self) -> list[Cell]:
        hint = f"a detached engine writes its errors to {log_of(self.deck.path)}"
        text, more = empty_message(self.finding.needle, "line", "the log is empty", hint)
        return [Cell(text), Cell(more, "muted")]

    def _show_tail(self, lines: Sequence[str]) -> None:
        is_news, self._reading, self._lines = lines != self._lines, False, lines
        if is_news:
            self.update_now()


def tail(log: Path) -> list[str]:
    """Return the last lines of a log; none if it cannot be read."""
    try:
        with log.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - TAIL_BYTES))
            lines = file.read(TAIL_BYTES).decode(errors="replace").splitlines()
    except OSError:
        return []
    return lines[1 if size > TAIL_BYTES else 0 :][-TAIL_LINES:]


def _tone(line: str) -> str:
    return "error" if "error" in line.casefold()[:200] else ""


SCREEN = LogScreen
