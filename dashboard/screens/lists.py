"""The lists: the tree of the network, agents, tasks of open runs, runs, and the inbox of what waits for a person."""

from textual.binding import Binding

from dashboard.actions import BY_NAME
from dashboard.actions.action import Spoken
from dashboard.screens.pages import AgentScreen, RunScreen, TaskScreen
from dashboard.screens.table_screen import TableScreen
from dashboard.views import agents as agent_rows
from dashboard.views import tasks as task_rows
from dashboard.views.agents import agents
from dashboard.views.header import Glimpse
from dashboard.views.inbox import inbox
from dashboard.views.network import Folding, depth_facts, network
from dashboard.views.rows import Cell, Listing
from dashboard.views.runs import runs
from dashboard.views.targets import Target, target_of
from dashboard.views.tasks import tasks
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
            self.app.push_screen(AgentScreen(event.key))
        elif event.key.startswith("fold:"):
            self.action_fold()
        elif event.key in state.supervisors:
            self.deck.action_go("tasks", filtered=state.supervisors[event.key].name)

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


class AgentsScreen(TableScreen):
    """Agents to compare and to sort."""

    PLACE = "agents"
    KEYS = (
        ("enter", "open"), "swap", ("space", "mark"), "pause or resume", (">", "sort"), "rollback", "move",
        "capability", "remove",
    )  # fmt: skip
    BINDINGS = [Binding("space", "mark", "mark", show=False)]
    ORDERS = tuple(agent_rows.ORDERS)

    def listing(self, glimpse: Glimpse) -> Listing:
        return self.sorted_rows(agents, glimpse)

    def on_table_opened(self, event: Table.Opened) -> None:
        self.app.push_screen(AgentScreen(event.key))


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
    ORDERS = tuple(task_rows.ORDERS)

    def listing(self, glimpse: Glimpse) -> Listing:
        return self.sorted_rows(tasks, glimpse)

    def on_table_opened(self, event: Table.Opened) -> None:
        if event.key in self.state.tasks:
            self.app.push_screen(TaskScreen(event.key))


class RunsScreen(TableScreen):
    """Open runs first, then those that ended."""

    PLACE = "runs"
    KEYS = (
        ("enter", "output"), "run", "pause or resume", "priority", "deadline", "cancel", ("retry", "again"),
        "strategy",
    )  # fmt: skip

    def listing(self, glimpse: Glimpse) -> Listing:
        return runs(glimpse.state, now_ms=glimpse.now_ms, needle=self.needle, working=glimpse.working)

    def on_table_opened(self, event: Table.Opened) -> None:
        self.app.push_screen(RunScreen(event.key))


class InboxScreen(TableScreen):
    """Questions first, then agents, teams and tasks that are in trouble."""

    PLACE = "inbox"
    KEYS = (("enter", "answer"), "swap", "retry", ("pause or resume", "resume"), "reassign", "cancel")

    def listing(self, glimpse: Glimpse) -> Listing:
        return inbox(glimpse.state, now_ms=glimpse.now_ms, needle=self.needle)

    def on_table_opened(self, event: Table.Opened) -> None:
        state = self.state
        if event.key in state.escalations:
            BY_NAME["answer"].call(self, Spoken((event.key,)))
        elif event.key in state.agents:
            self.app.push_screen(AgentScreen(event.key))
        elif event.key in state.tasks:
            self.app.push_screen(TaskScreen(event.key))

    def target(self) -> Target | None:
        """Return what the row is about: actions are for that."""
        state, key = self.state, self.table.selected or ""
        asked = state.escalations.get(key)
        return target_of(state, asked.subject if asked is not None else key)

    def selected_key(self) -> str:
        return self.table.selected or ""
