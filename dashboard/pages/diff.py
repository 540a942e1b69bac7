"""What differs between two moments, files or archives, by subject; it does not change."""

from collections.abc import Sequence

from dashboard.comparing import Comparison, compare, is_path, sides_of
from dashboard.frame.page_screen import PageScreen
from dashboard.views.compared import compared_lines
from dashboard.views.header import Glimpse
from dashboard.views.names import Texts
from dashboard.views.pages import History
from dashboard.views.rows import Cell
from dashboard.views.typed import Mistyped
from engine.core.errors import CoreError
from engine.errors import ImportRefused
from store import StoreError


class DiffScreen(PageScreen):
    """Two teams, compared."""

    KEYS = (("esc", "back"), ("↑↓", "scroll"))

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self._cells: Sequence[Cell] = (Cell("comparing …", "muted"),)

    def on_mount(self) -> None:
        super().on_mount()
        past = self.deck.glimpse.past
        now_ms = past.now_ms if past is not None else self.deck.glimpse.now_ms

        def work() -> Comparison | str:
            try:
                if self.deck.in_browser and any(map(is_path, sides_of(self._key))):
                    return "not in a browser: a path; moments of this team can be compared, such as 812 900"
                return compare(self.deck.path, self._key, now_ms=now_ms)
            except (Mistyped, StoreError, CoreError, ImportRefused, OSError) as error:
                return str(error)

        def then(found: Comparison | str) -> None:
            self._cells = (Cell(found, "error"),) if isinstance(found, str) else compared_lines(found, now_ms=now_ms)
            if self.is_attached:
                self.look(self.deck.glimpse)

        self.deck.aside(work, then, ())

    def show(self, glimpse: Glimpse) -> None:
        self.pane.show(self._cells)

    def page(self, glimpse: Glimpse, texts: Texts, history: History) -> Sequence[Cell]:
        return self._cells


PAGE = DiffScreen
