"""The page of a comparison of two moments, files or archives; static."""

from collections.abc import Sequence

from dashboard.frame.once_screen import OnceScreen
from dashboard.reading.comparing import compare, is_path, sides_of
from dashboard.views.changes.compared import comparison_lines
from dashboard.views.drawing.rows import Cell
from dashboard.views.view_state import ViewState
from dashboard.views.words.parsers import Mistyped
from engine.errors import ImportRefused


class DiffScreen(OnceScreen):
    """Two teams, compared."""

    KEYS = (("esc", "back"), ("↑↓", "scroll"))
    WAITING = "comparing …"
    ERRORS = (*OnceScreen.ERRORS, Mistyped, ImportRefused, OSError)

    def path_title(self, view: ViewState) -> str:
        return "what differs"

    def build_cells(self, now_ms: int) -> Sequence[Cell]:
        if self.deck.access.in_browser and any(map(is_path, sides_of(self.subject_id))):
            return [Cell("not in a browser: a path; moments of this team can be compared, such as 812 900", "error")]
        return comparison_lines(compare(self.deck.path, self.subject_id, now_ms=now_ms), now_ms=now_ms)


PAGE = DiffScreen
