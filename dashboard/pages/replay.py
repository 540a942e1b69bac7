"""The page of a replay of a finished run, with its first difference."""

from collections.abc import Sequence

from dashboard.frame.once_screen import OnceScreen
from dashboard.reading.replayed import replay_cells
from dashboard.views.drawing.rows import Cell
from dashboard.views.view_state import ViewState


class ReplayScreen(OnceScreen):
    """The result of `quarterdeck replay` for a run."""

    KEYS = (("esc", "back"), ("↑↓", "scroll"), ("Y", "copy"))
    WAITING = "walking through its journal …"

    def path_title(self, view: ViewState) -> str:
        return f"replay of {super().path_title(view)}"

    def build_cells(self, now_ms: int) -> Sequence[Cell]:
        return replay_cells(self.deck.path, self.subject_id)


PAGE = ReplayScreen
