"""The Network screen: the tree of members, the newest events, and a pane about the member under the cursor."""

from collections.abc import Iterable

from textual import events
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.widget import Widget

from dashboard.frame.beside_tree import PANE, TAIL, BesideTree, PartDrawings, TreeSizes
from dashboard.frame.folded_teams import FoldedTeams
from dashboard.frame.table_screen import MARKS, TableScreen
from dashboard.views.arrangement import max_tree_lines
from dashboard.views.changes.targets import Target, target_of
from dashboard.views.drawing.rows import Cell, Listing
from dashboard.views.measures.meters import Meters
from dashboard.views.measures.progress import ProgressCache
from dashboard.views.network import GAP, HEADS, ORDERS, Folding, Measures, depth_facts, lane_cells, network
from dashboard.views.view_state import ViewState
from dashboard.widgets.lines import Lines
from dashboard.widgets.picks import Picks
from dashboard.widgets.table import Table
from engine.core.queries.team.tree import parent_of
from engine.core.state import State


class Parts(Horizontal):
    """The container of the tree, the graph, the tail and the pane."""

    def on_resize(self) -> None:
        """Divide the room again, also when the prompt was opened while the team rests."""
        screen = self.screen
        if isinstance(screen, NetworkScreen):
            self.call_after_refresh(screen.fit)


class TreeFolds:
    """What the tree folds: teams to one row, and idle agents of supervisors that the operator has not opened."""

    def __init__(self) -> None:
        self._opened: set[str] = set()
        self.teams = FoldedTeams()
        self.active_ms: dict[str, int] = {}
        """Time of each agent's last work, in UTC milliseconds."""

    def folding(self, state: State, now_ms: int, room: int) -> Folding:
        """Return what may be folded now, in a room of some lines."""
        for agent in state.agents.values():
            if agent.running or agent.parked:
                self.active_ms[agent.id] = now_ms
        if len(self.active_ms) > len(state.agents):
            self.active_ms = {agent_id: at for agent_id, at in self.active_ms.items() if agent_id in state.agents}
        return Folding(room, frozenset(self._opened), self.active_ms, self.teams.of(state, room))

    def toggle_idle(self, supervisor_id: str) -> None:
        """Show the idle agents of a supervisor, or fold them again."""
        self._opened ^= {supervisor_id}


class NetworkScreen(TableScreen):
    """The tree with its columns; the graph and the newest events below it, a pane beside it."""

    PLACE = "network"
    SORTED = False
    ORDERS = tuple(ORDERS)
    GRIPS = (PANE, TAIL)
    HEADS = HEADS
    KEYS = (
        ("enter", "open"),
        "swap",
        "strategy",
        "pause or resume",
        "run",
        ("space", "mark"),
        ("f", "fold", "fold the team under the cursor to one row with the states of its members, or unfold it"),
        ("tab", "pane"),
        ("v", "pane off", "take the pane at the right away, or bring it back"),
        ("A", "fold all", "fold all teams, or unfold them"),
        (".", "idle", "show the idle agents of this supervisor, or fold them to one line"),
        ("!", "who needs me"),
    )
    BINDINGS = [
        *MARKS,
        Binding("f", "fold_team", "fold", show=False),
        Binding("A", "fold_all", "fold all", show=False),
        Binding("full_stop", "fold_idle", "idle", show=False),
        Binding("v", "pane", "pane on or off", show=False),
    ]
    DEFAULT_CSS = """
    NetworkScreen {
        #parts { height: 1fr; }
        #left { width: 1fr; }
        #graph { height: 0; }
        #tail { height: 0; }
        #pane { width: 0; }
    }
    """

    sizes: TreeSizes

    def __init__(self) -> None:
        super().__init__()
        self.sizes = TreeSizes(self)
        self.folds, self._drawings = TreeFolds(), PartDrawings()
        self._meters, self._progresses = Meters(), ProgressCache()
        self._beside = BesideTree(self, self.sizes, self._drawings, self._progresses)

    def body(self) -> Iterable[Widget]:
        with Parts(id="parts"):
            with Vertical(id="left"):
                yield Table(id="body", gap=GAP)
                yield Lines(id="graph")
                yield Picks(id="tail")
            yield Picks(id="pane")

    def listing(self, view: ViewState) -> Listing:
        state, now_ms, width, arranged = view.state, view.now_ms, self.table.wide, self.sizes.arranged
        folding = self.folds.folding(state, now_ms, self._tree_lines())
        lane = lane_cells(state, width) if arranged is not None and arranged.lanes else 0
        self._meters.update(view.activity, state, now_ms, lane=lane, anew=view.past is not None)
        progress = self._progresses.of(view)
        measures = Measures(width, lane, self._meters, view.activity, progress, self.sorting)
        return network(
            state, view.counts, view.live, now_ms=now_ms, folding=folding, needle=self.finding.needle, measures=measures
        )

    def _tree_lines(self) -> int:
        height = self.query_one("#parts").size.height
        return max_tree_lines(self.size.height, height, self.sizes.chosen_size(TAIL)) if height else 0

    def update_clock(self, view: ViewState) -> None:
        self._drawings.is_by_clock = True
        try:
            self.update_view(view)
        finally:
            self._drawings.is_by_clock = False

    def show(self, view: ViewState) -> None:
        self.sizes.divide()
        self._drawings.draw(self.table, view, super().show)
        self.sizes.divide()
        self._beside.show(view)

    def fit(self) -> None:
        """Divide the room again, and redraw the parts if that has changed."""
        if self.sizes.divide():
            self._beside.show(self.deck.view)

    def on_resize(self, event: events.Resize) -> None:
        self.due_ms = 0  # redraw at the next update

    def on_lines_resized(self, event: Lines.Resized) -> None:
        # All parts have their sizes when the first of them tells, and what stands around the screen tells too.
        if self._drawings.has_new_size(event.lines):
            self._beside.show_now()

    def on_table_moved(self, event: Table.Moved) -> None:
        self.key_frames.call_after(self._beside.show_now)

    def on_picks_opened(self, event: Picks.Opened) -> None:
        self.open_row(event.key)

    def open_row(self, key: str) -> None:
        """Open the object of a row; a row of folded agents shows them."""
        if key.startswith("fold:"):
            self.action_fold_idle()
        else:
            self.deck.open_key(key)

    def show_filtered(self, is_new: bool) -> None:
        """Show only matches, with the cursor on the first one; supervisors above it are shown, too."""
        super().show_filtered(is_new)
        rows = self.table.rows
        if isinstance(rows, Listing) and rows.first is not None:
            self.table.select(rows.first)

    def sort_listing(self, listing: Listing) -> Listing:
        """Return the listing as it is, because the tree is sorted already."""
        return listing

    def target(self) -> Target | None:
        """Return the object under the cursor of the pane while it has the focus, else that of the tree."""
        chosen = self.query_one("#pane", Picks).chosen if self.is_mounted else ""
        return target_of(self.state, chosen) or super().target()

    def explain_no_target(self) -> str:
        folded = (self.table.selected or "").startswith("fold:")
        return "these are several agents; space shows them" if folded else super().explain_no_target()

    def facts(self) -> list[Cell]:
        facts = [fact for fact in super().facts() if fact.text != "sorted: declared"]
        return [*facts, *depth_facts(self.state)]

    def action_mark(self) -> None:
        """Mark the member under the cursor; a row of folded agents shows them."""
        if (self.table.selected or "").startswith("fold:"):
            self.action_fold_idle()
        else:
            super().action_mark()

    def action_fold_idle(self) -> None:
        """Show or fold the idle agents of the supervisor under the cursor."""
        if (supervisor_id := self._team_under_cursor()) is not None:
            self.folds.toggle_idle(supervisor_id)
            self._fold()

    def action_fold_team(self) -> None:
        """Fold the team under the cursor to one row, which the cursor goes to, or unfold it."""
        if (supervisor_id := self._team_under_cursor()) is not None:
            self.folds.teams.toggle(supervisor_id)
            self._fold()

    def action_fold_all(self) -> None:
        """Fold all teams, or unfold them if all are folded."""
        self.folds.teams.toggle_all(self.state, self._tree_lines())
        self._fold()

    def _team_under_cursor(self) -> str | None:
        """Return the supervisor under the cursor, or that of the agent there."""
        key = (self.table.selected or "").removeprefix("fold:")
        agent = self.state.agents.get(key)
        return agent.supervisor_id if agent is not None else key if key in self.state.supervisors else None

    def _fold(self) -> None:
        """Show the tree as it is folded now; a cursor whose row is folded goes to the row of its team."""
        state, key = self.state, (self.table.selected or "").removeprefix("fold:")
        member = state.agents.get(key) or state.supervisors.get(key)
        self.due_ms = 0
        self.update_view(self.deck.view)
        while member is not None and not self.table.select(member.id):
            member = parent_of(state, member)

    def select_row(self, key: str) -> bool:
        """Move the cursor to a row; teams above it are unfolded."""
        if self.table.rows.index(key) is None:
            self.folds.teams.show_member(self.state, key, self._tree_lines())
            self._fold()
        return super().select_row(key)

    def action_pane(self) -> None:
        """Hide or show the pane."""
        self.sizes.wants_pane = not self.sizes.wants_pane
        if not self.sizes.wants_pane:
            self.focus_body()
        self.due_ms = 0
        self.update_view(self.deck.view)
        self.call_after_refresh(self.update_now)


SCREEN = NetworkScreen
