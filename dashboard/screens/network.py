"""The tree of the network: structure on the left, the same columns on the right."""

from textual.binding import Binding

from dashboard.frame.table_screen import TableScreen
from dashboard.views.filter_words import keyed
from dashboard.views.header import Glimpse
from dashboard.views.network import Folding, depth_facts, network
from dashboard.views.rows import Cell, Listing
from dashboard.widgets.table import Table


class NetworkScreen(TableScreen):
    """Structure on the left, the same columns on the right."""

    PLACE = "network"
    SORTED = False
    KEYS = (
        ("enter", "open"), "swap", "strategy", "pause or resume", "run", ("space", "mark"), (".", "fold"),
        ("cancel", "remove"), "move",
    )  # fmt: skip
    BINDINGS = [
        Binding("space", "mark", "mark", show=False),
        Binding("full_stop", "fold", "fold", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._opened: set[str] = set()
        self._active_ms: dict[str, int] = {}

    def listing(self, glimpse: Glimpse) -> Listing:
        state, now_ms = glimpse.state, glimpse.now_ms
        for agent in state.agents.values():
            if agent.running or agent.parked:
                self._active_ms[agent.id] = now_ms
        folding = Folding(self.table.room, frozenset(self._opened), self._active_ms)
        return network(state, glimpse.counts, glimpse.live, now_ms=now_ms, folding=folding, needle=self.needle)

    def on_table_opened(self, event: Table.Opened) -> None:
        state = self.state
        if event.key in state.agents:
            self.deck.open("agent", event.key)
        elif event.key.startswith("fold:"):
            self.action_fold()
        elif event.key in state.supervisors:
            self.deck.action_go("tasks", filtered=keyed("supervisor", state.supervisors[event.key].name))

    def no_target(self) -> str:
        folded = (self.table.selected or "").startswith("fold:")
        return "these are several agents; space shows them" if folded else super().no_target()

    def facts(self) -> list[Cell]:
        return [*super().facts(), *depth_facts(self.state)]

    def action_mark(self) -> None:
        """Mark the agent under the cursor; on a supervisor, or a line of folded agents, show or fold those."""
        if (self.table.selected or "") in self.state.agents:
            super().action_mark()
        else:
            self.action_fold()

    def action_fold(self) -> None:
        """Show or fold the idle agents of the supervisor under the cursor."""
        key = self.table.selected
        agent = self.state.agents.get(key or "")
        supervisor_id = agent.supervisor_id if agent is not None else (key or "").removeprefix("fold:")
        self._opened ^= {supervisor_id}
        self._next_ms = 0
        self.look(self.deck.glimpse)


SCREEN = NetworkScreen
