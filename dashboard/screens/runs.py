"""Requests: what became of each, and what came out."""

from dashboard.screens.table_screen import TableScreen
from dashboard.screens.text import RunText, TextScreen
from dashboard.views.header import Glimpse
from dashboard.views.rows import Listing
from dashboard.views.runs import runs
from dashboard.widgets.table import Table


class RunsScreen(TableScreen):
    """Open runs first, then those that ended."""

    PLACE = "runs"
    KEYS = (
        ("enter", "output"),
        ("n", "request"),
        ("z", "pause"),
        ("p", "priority"),
        ("d", "deadline"),
        ("ctrl+d", "cancel"),
        ("r", "again"),
        ("S", "strategy"),
    )

    def listing(self, glimpse: Glimpse) -> Listing:
        return runs(glimpse.state, now_ms=glimpse.now_ms, needle=self.needle, working=glimpse.working)

    def on_table_opened(self, event: Table.Opened) -> None:
        self.app.push_screen(TextScreen(RunText(event.key)))
