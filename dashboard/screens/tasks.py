"""Tasks of the open runs, with why each waits."""

from textual.binding import Binding

from dashboard.screens.table_screen import TableScreen
from dashboard.screens.text import TaskText, TextScreen
from dashboard.views.header import Glimpse
from dashboard.views.rows import Cell, Listing
from dashboard.views.tasks import ORDERS, tasks
from dashboard.widgets.table import Table


class TasksScreen(TableScreen):
    """What is at work, what waits and why, what has ended."""

    PLACE = "tasks"
    KEYS = (
        ("enter", "open"),
        ("p", "priority"),
        ("d", "deadline"),
        ("a", "reassign"),
        ("ctrl+d", "cancel"),
        ("r", "retry"),
        ("s", "sort"),
        ("h", "swap"),
    )
    BINDINGS = [Binding("s", "sort", "sort", show=False)]

    def __init__(self) -> None:
        super().__init__()
        self._order = next(iter(ORDERS))

    def listing(self, glimpse: Glimpse) -> Listing:
        return tasks(
            glimpse.state,
            glimpse.counts,
            glimpse.live,
            now_ms=glimpse.now_ms,
            order=self._order,
            needle=self.needle,
        )

    def facts(self) -> list[Cell]:
        return [*super().facts(), Cell(f"sorted: {self._order}", "muted")]

    def on_table_opened(self, event: Table.Opened) -> None:
        if event.key in self.state.tasks:
            self.app.push_screen(TextScreen(TaskText(event.key)))

    def action_sort(self) -> None:
        """Sort in the next way."""
        names = list(ORDERS)
        self._order = names[(names.index(self._order) + 1) % len(names)]
        self.release()
        self.look(self.deck.glimpse)
