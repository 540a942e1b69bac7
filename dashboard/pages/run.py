"""A run with its output."""

from collections.abc import Sequence

from dashboard.frame.page_screen import PageScreen
from dashboard.views.header import Glimpse
from dashboard.views.names import Texts
from dashboard.views.pages import History, run_page
from dashboard.views.rows import Cell


class RunScreen(PageScreen):
    """A run with its output."""

    def page(self, glimpse: Glimpse, texts: Texts, history: History) -> Sequence[Cell]:
        return run_page(glimpse.state, self._key, texts, now_ms=glimpse.now_ms, working=glimpse.working)


PAGE = RunScreen
