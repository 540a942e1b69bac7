"""The keys of a screen, and every word of the `:` line."""

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen

from dashboard.views.help import column_lines, key_lines, verb_lines
from dashboard.views.rows import Cell
from dashboard.widgets.bar import Bar
from dashboard.widgets.pane import Pane


class HelpScreen(ModalScreen[None]):
    """Shows what can be pressed and typed."""

    CSS_PATH = "help.tcss"
    BINDINGS = [Binding("escape,q,question_mark,enter", "dismiss", "close", show=False)]

    def __init__(self, place: str, keys: tuple[tuple[str, str], ...], headings: tuple[str, ...]) -> None:
        super().__init__()
        self._place, self._keys, self._headings = place, keys, headings

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog"):
            yield Bar(id="title")
            yield Pane(id="told")
            yield Bar(id="bottom")

    def on_mount(self) -> None:
        self.query_one("#title", Bar).show([Cell(f"Keys of {self._place}", "strong")], [Cell("esc closes", "muted")])
        self.query_one("#told", Pane).show(
            [*column_lines(self._headings), *key_lines(self._keys), Cell(""), *verb_lines()]
        )
        self.query_one("#told", Pane).focus()
