"""The Agents screen: all agents in one table."""

from dashboard.frame.remembered import RecentEvents
from dashboard.frame.table_screen import BELOW, MARKS, TableScreen
from dashboard.views.agents import HEADS, ORDERS, agents
from dashboard.views.drawing.row_pane import RowDetails
from dashboard.views.drawing.rows import Listing
from dashboard.views.facts.agent_pane import agent_columns
from dashboard.views.view_state import ViewState


class AgentsScreen(TableScreen):
    """Agents to compare and to sort."""

    PLACE = "agents"
    KEYS = (
        ("enter", "open"),
        "swap",
        ("space", "mark"),
        "pause or resume",
        (">", "sort"),
        "rollback",
        "move",
        "capability",
        "remove",
    )
    BINDINGS = [*MARKS]
    OPENS = "agent"
    ORDERS = tuple(ORDERS)
    HEADS = HEADS
    GRIPS = (BELOW,)
    BELOW_MIN_HEIGHT = 34

    def __init__(self) -> None:
        super().__init__()
        self._recent = RecentEvents(self)

    def listing(self, view: ViewState) -> Listing:
        order, needle = self.sorting.order, self.finding.needle
        return agents(view.state, view.counts, view.live, now_ms=view.now_ms, order=order, needle=needle)

    def describe_row(self, view: ViewState, key: str, width: int, height: int) -> RowDetails | None:
        agent = view.state.agents.get(key)
        if agent is None:
            return None
        entries, pane_data = self._recent.entries_of_agent(key, view), self._recent.pane_data(key, view)
        return RowDetails("AGENT", agent_columns(pane_data, agent, entries, width, height))


SCREEN = AgentsScreen
