"""Agents to compare and to sort."""

from textual.binding import Binding

from dashboard.frame.table_screen import TableScreen
from dashboard.views.agents import HEADS, ORDERS, agents
from dashboard.views.header import ViewState
from dashboard.views.rows import Listing
from dashboard.widgets.table import Table


class AgentsScreen(TableScreen):
    """Agents to compare and to sort."""

    PLACE = "agents"
    KEYS = (
        ("enter", "open"), "swap", ("space", "mark"), "pause or resume", (">", "sort"), "rollback", "move",
        "capability", "remove",
    )  # fmt: skip
    BINDINGS = [Binding("space", "mark", "mark", show=False)]
    ORDERS = tuple(ORDERS)
    HEADS = HEADS

    def listing(self, view: ViewState) -> Listing:
        return self.sorted_rows(agents, view)

    def on_table_opened(self, event: Table.Opened) -> None:
        self.deck.open("agent", event.key)


SCREEN = AgentsScreen
