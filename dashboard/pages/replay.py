"""A finished run, replayed: every answer comes from the journal, and the first difference is shown."""

from collections.abc import Sequence
from functools import partial

from dashboard.frame.page_screen import PageScreen
from dashboard.replayed import replay_cells
from dashboard.views.header import Glimpse
from dashboard.views.names import Texts
from dashboard.views.pages import History
from dashboard.views.rows import Cell


class ReplayScreen(PageScreen):
    """What `quarterdeck replay` says of a run."""

    KEYS = (("esc", "back"), ("↑↓", "scroll"), ("Y", "copy"))

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self._cells: Sequence[Cell] = (Cell("walking through its journal …", "muted"),)

    def on_mount(self) -> None:
        self.deck.aside(partial(replay_cells, self.deck.path, self._key), self._replayed, ())

    def _replayed(self, found: Sequence[Cell]) -> None:
        self._cells = found
        if self.is_attached:
            self.look(self.deck.glimpse)

    def show(self, glimpse: Glimpse) -> None:
        self.pane.show(self._cells)

    def page(self, glimpse: Glimpse, texts: Texts, history: History) -> Sequence[Cell]:
        return self._cells


PAGE = ReplayScreen
