"""Runs, open and ended."""

from textual.binding import Binding

from dashboard.frame.table_screen import TableScreen
from dashboard.views.header import Glimpse
from dashboard.views.rows import Listing
from dashboard.views.runs import HEADS, ORDERS, runs
from dashboard.widgets.table import Table


class RunsScreen(TableScreen):
    """Open runs first, then those that ended."""

    PLACE = "runs"
    MARKED = "z pauses or resumes them, ctrl+d cancels them, r submits them again"
    BINDINGS = [Binding("space", "mark", "mark", show=False)]
    KEYS = (
        ("enter", "open"), "run", "pause or resume", "priority", "deadline", "cancel", ("retry", "again"),
        "strategy", (">", "sort"), ("d", "describe"), ("y", "JSON"), ("space", "mark"),
    )  # fmt: skip
    ORDERS = tuple(ORDERS)
    HEADS = HEADS

    def listing(self, glimpse: Glimpse) -> Listing:
        return runs(
            glimpse.state, now_ms=glimpse.now_ms, order=self.sorting.order, needle=self.needle, working=glimpse.working
        )  # fmt: skip

    def on_table_opened(self, event: Table.Opened) -> None:
        self.deck.open("run", event.key)


SCREEN = RunsScreen
