"""Every agent in one list."""

from textual.binding import Binding

from dashboard.screens.agent import AgentScreen
from dashboard.screens.table_screen import TableScreen
from dashboard.views.agents import ORDERS, agents
from dashboard.views.header import Glimpse
from dashboard.views.rows import Cell, Listing
from dashboard.widgets.table import Table


class AgentsScreen(TableScreen):
    """Agents to compare and to sort."""

    PLACE = "agents"
    KEYS = (
        ("enter", "open"),
        ("h", "swap"),
        ("space", "mark"),
        ("z", "pause"),
        ("s", "sort"),
        ("B", "roll back"),
        ("m", "move"),
        ("c", "capability"),
        ("R", "remove"),
    )
    BINDINGS = [Binding("s", "sort", "sort", show=False), Binding("space", "mark", "mark", show=False)]

    def __init__(self) -> None:
        super().__init__()
        self._order = next(iter(ORDERS))

    def listing(self, glimpse: Glimpse) -> Listing:
        return agents(
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
        self.app.push_screen(AgentScreen(event.key))

    def action_sort(self) -> None:
        """Sort in the next way."""
        names = list(ORDERS)
        self._order = names[(names.index(self._order) + 1) % len(names)]
        self.release()
        self.look(self.deck.glimpse)
