"""The keys of a screen, and every word of the `:` line."""

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen

from dashboard.views.rows import Cell
from dashboard.widgets.bar import Bar
from dashboard.widgets.pane import Pane


class HelpScreen(ModalScreen[None]):
    """Shows what can be pressed and typed."""

    BINDINGS = [Binding("escape,q,question_mark,enter", "dismiss", "close", show=False)]

    def __init__(self, place: str, lines: Sequence[Cell]) -> None:
        super().__init__()
        self._place, self._lines = place, lines

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog"):
            yield Bar(id="title")
            yield Pane(id="told")
            yield Bar(id="bottom")

    def on_mount(self) -> None:
        self.query_one("#title", Bar).show([Cell(f"Keys of {self._place}", "strong")], [Cell("esc closes", "muted")])
        self.query_one("#told", Pane).show(self._lines)
        self.query_one("#told", Pane).focus()
