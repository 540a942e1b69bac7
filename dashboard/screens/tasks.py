"""Tasks of open runs."""

from dashboard.frame.table_screen import TableScreen
from dashboard.views.header import Glimpse
from dashboard.views.rows import Listing
from dashboard.views.tasks import ORDERS, tasks
from dashboard.widgets.table import Table


class TasksScreen(TableScreen):
    """What is at work, what waits and why, what has ended."""

    PLACE = "tasks"
    KEYS = (
        ("enter", "open"),
        "priority",
        "deadline",
        "reassign",
        "cancel",
        "retry",
        (">", "sort"),
        "swap",
    )
    ORDERS = tuple(ORDERS)

    def listing(self, glimpse: Glimpse) -> Listing:
        return self.sorted_rows(tasks, glimpse)

    def on_table_opened(self, event: Table.Opened) -> None:
        if event.key in self.state.tasks:
            self.deck.open("task", event.key)


SCREEN = TasksScreen
