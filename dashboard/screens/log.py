"""The end of the engine's log, which lies beside the database."""

import os
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

from textual.widget import Widget

from dashboard.deck import Deck
from dashboard.frame.frame import Frame
from dashboard.process import log_of
from dashboard.views.header import ViewState
from dashboard.views.rows import Cell
from dashboard.widgets.pane import Pane

TAIL_BYTES = 200_000
READ_EVERY_MS = 1_000


class LogScreen(Frame):
    """What the engine wrote, the newest at the end; the view stays there while it grows."""

    PLACE = "log"
    KEYS = (("↑↓", "scroll"), ("G", "newest"), ("g", "oldest"), ("/", "filter"))

    def __init__(self) -> None:
        super().__init__()
        self._lines: Sequence[str] = ()
        self._read_ms = -READ_EVERY_MS
        self._reading = False

    def body(self) -> Iterable[Widget]:
        yield Pane(id="body")

    @property
    def pane(self) -> Pane:
        """What is scrolled."""
        return self.query_one("#body", Pane)

    def show(self, view: ViewState) -> None:
        if not self._reading and view.wall_ms - self._read_ms >= READ_EVERY_MS:
            self._reading, self._read_ms = True, view.wall_ms
            self.run_worker(partial(self._read, self.deck), thread=True)
        shown = [line for line in self._lines if self.needle.casefold() in line.casefold()]
        pane, at_end = self.pane, self.pane.scroll_offset.y >= self.pane.max_scroll_y
        pane.show([Cell(line, _tone(line)) for line in shown] or self._empty())
        if at_end:
            pane.scroll_end(animate=False)

    def _empty(self) -> list[Cell]:
        if self.needle:
            return [Cell(f"no line matches {self.needle!r}"), Cell("esc shows all", "muted")]
        log = log_of(self.deck.path)
        return [Cell("the log is empty"), Cell(f"a detached engine writes its errors to {log}", "muted")]

    def _read(self, deck: Deck) -> None:
        """Runs in a thread, which may outlive this screen."""
        deck.call_from_thread(self._then, tail(log_of(deck.path)))

    def _then(self, lines: Sequence[str]) -> None:
        self._reading = False
        if lines != self._lines and self.is_there:
            self._lines = lines
            self.look(self.deck.view)


def tail(log: Path) -> list[str]:
    """Return the last lines of a log; none where there is no such file."""
    try:
        with log.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - TAIL_BYTES))
            lines = file.read(TAIL_BYTES).decode(errors="replace").splitlines()
    except OSError:
        return []
    return lines[1:] if size > TAIL_BYTES else lines


def _tone(line: str) -> str:
    return "error" if "error" in line.casefold()[:200] else ""


SCREEN = LogScreen
