"""The Network screen: the tree of members, the newest events, and a pane about the member under the cursor."""

from collections.abc import Callable, Iterable
from functools import cached_property, partial
from itertools import dropwhile

from textual import events
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.geometry import Size
from textual.widget import Widget

from dashboard.frame.remembered import RecentEvents
from dashboard.frame.sizing import Grip, PaneSizes
from dashboard.frame.table_screen import MARKS, TableScreen
from dashboard.views.arrangement import Arrangement, arrange, max_tree_lines
from dashboard.views.changes.targets import Target, target_of
from dashboard.views.drawing.graph_slot import GraphSlot
from dashboard.views.drawing.lines import BLANK, Line, Span, hairline, indent
from dashboard.views.drawing.rows import Cell, Listing
from dashboard.views.drawing.sections import draw_frame
from dashboard.views.drawing.still import Stillness
from dashboard.views.facts.agent_pane import agent_pane
from dashboard.views.facts.supervisor_pane import supervisor_pane
from dashboard.views.measures.meters import Meters
from dashboard.views.measures.progress import Progress, ProgressCache
from dashboard.views.network import GAP, HEADS, ORDERS, Folding, Measures, depth_facts, lane_cells, network
from dashboard.views.tail import ScreenTail, tail_title
from dashboard.views.view_state import ViewState
from dashboard.widgets.lines import Lines
from dashboard.widgets.picks import Picks
from dashboard.widgets.table import Table
from dashboard.widgets.textual_seams import is_repaint_due

PANE, TAIL = Grip("pane", "pane", "left"), Grip("tail", "tail", "top")


class Parts(Horizontal):
    """The container of the tree, the graph, the tail and the pane."""

    def on_resize(self) -> None:
        """Divide the room again, also when the prompt was opened while the team rests."""
        screen = self.screen
        if isinstance(screen, NetworkScreen):
            self.call_after_refresh(screen.fit)


class NetworkSizes(PaneSizes):
    """The sizes of pane and tail, which the arrangement of the tree applies."""

    def __init__(self, screen: "NetworkScreen") -> None:
        super().__init__(screen, screen.GRIPS, screen.update_now)
        self._network_screen = screen

    def is_open(self, grip: Grip) -> bool:
        arranged = self._network_screen.arranged
        return arranged is not None and bool(arranged.pane if grip is PANE else arranged.tail)

    def set_size(self, grip: Grip, cells: int | None) -> None:
        """Arrange the tree again at the next redraw."""
        self._network_screen.due_ms = 0


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
        (".", "fold", "show the idle agents of this supervisor, or fold them to one line"),
        ("tab", "pane"),
        ("v", "pane off", "take the pane at the right away, or bring it back"),
        ("!", "who needs me"),
    )
    BINDINGS = [
        *MARKS,
        Binding("full_stop", "fold", "fold", show=False),
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

    def __init__(self) -> None:
        super().__init__()
        self.sizes = NetworkSizes(self)
        self._opened: set[str] = set()
        self._active_ms: dict[str, int] = {}
        self._meters, self._progresses, self._tail = Meters(), ProgressCache(), ScreenTail()
        self._graph, self._pane_graph = GraphSlot(), GraphSlot()
        self._wants_pane = True
        self.arranged: Arrangement | None = None
        self._still = {part: Stillness() for part in ("body", "tail", "graph", "pane")}
        self._by_clock = False
        """Whether only the clock has changed since the last redraw."""
        self._drawn_for: dict[str, Size] = {}
        """Size of each part when it was last drawn."""

    def body(self) -> Iterable[Widget]:
        with Parts(id="parts"):
            with Vertical(id="left"):
                yield Table(id="body", gap=GAP)
                yield Lines(id="graph")
                yield Picks(id="tail")
            yield Picks(id="pane")

    @cached_property
    def _remembered(self) -> RecentEvents:
        return RecentEvents(self.deck)

    def listing(self, view: ViewState) -> Listing:
        state, now_ms = view.state, view.now_ms
        for agent in state.agents.values():
            if agent.running or agent.parked:
                self._active_ms[agent.id] = now_ms
        if len(self._active_ms) > len(state.agents):
            self._active_ms = {agent_id: at for agent_id, at in self._active_ms.items() if agent_id in state.agents}
        height = self.query_one("#parts").size.height
        folding = Folding(
            max_tree_lines(self.size.height, height, self.sizes.chosen(TAIL)), frozenset(self._opened), self._active_ms
        )
        width = self.table.wide
        lanes = self.arranged is not None and self.arranged.lanes
        lane = lane_cells(state, width) if lanes else 0
        self._meters.update(view.activity, state, now_ms, lane=lane, anew=view.past is not None)
        progress = self._progresses.of(view)
        measures = Measures(width, lane, self._meters, view.activity, progress, self.sorting)
        return network(
            state, view.counts, view.live, now_ms=now_ms, folding=folding, needle=self.finding.needle, measures=measures
        )

    def update_clock(self, view: ViewState) -> None:
        self._by_clock = True
        try:
            self.update_view(view)
        finally:
            self._by_clock = False

    def show(self, view: ViewState) -> None:
        self.divide()
        self._draw("body", view, super().show)
        self.divide()
        self._show_beside(view)

    def _draw(self, part: str, view: ViewState, draw: Callable[[ViewState], None]) -> None:
        """Redraw a part if it is due."""
        still = self._still[part]
        if still.is_due(view, quiet=self._by_clock):
            draw(view)
            widget = self.query_one(f"#{part}")
            self._drawn_for[part] = widget.size
            still.record_draw(view, moved=not self._by_clock or is_repaint_due(widget))

    def fit(self) -> None:
        """Divide the room again, and redraw the parts if that has changed."""
        before = self.arranged
        self.divide()
        if self.arranged != before:
            self._show_beside(self.deck.view)

    def divide(self) -> None:
        """Set the size of each part, if it has changed."""
        parts, size = self.query_one("#parts"), self.size
        rows = len(self.table.rows.keys)
        graph = bool(self.state.runs) or len(self.state.agents) > 1
        arrangement = arrange(
            size.width,
            size.height,
            parts.size.height,
            lines=rows,
            pane=self._wants_pane,
            graph=graph,
            pane_cells=self.sizes.chosen(PANE),
            tail_lines=self.sizes.chosen(TAIL),
        )
        if arrangement == self.arranged or not parts.size.height:
            return
        self.arranged = arrangement
        for name, value in (("graph", arrangement.graph), ("tail", arrangement.tail)):
            self.query_one(f"#{name}").styles.height = value
        self.query_one("#pane").styles.width = arrangement.pane
        self.call_after_refresh(self.sizes.apply)  # other borders can be dragged now
        self.query_one("#pane").can_focus = bool(arrangement.pane)
        self.query_one("#tail").can_focus = bool(arrangement.tail)

    def _show_beside(self, view: ViewState) -> None:
        """Redraw the tail, the graph and the pane."""
        arrangement = self.arranged
        if arrangement is None:
            return
        if arrangement.tail:
            self._draw("tail", view, partial(self._show_tail, arrangement))
        if arrangement.graph:
            self._draw("graph", view, self._show_graph)
        if arrangement.pane:
            self._draw("pane", view, partial(self._show_pane, arrangement))

    def _show_graph(self, view: ViewState) -> None:
        graph, calm = self.query_one("#graph", Lines), self.app.animation_level == "none"
        width, height = graph.size
        if width and height:
            graph.show(self._graph.lines(view, "", width, height, selected=self.table.selected, calm=calm))

    def _show_pane(self, arrangement: Arrangement, view: ViewState) -> None:
        self.query_one("#pane", Picks).show(self._pane(view, arrangement))

    def _show_tail(self, arrangement: Arrangement, view: ViewState) -> None:
        tail, rate = self.query_one("#tail", Picks), view.situation.events_per_s
        width, seq = tail.size.width, view.state.seq
        entries = dropwhile(lambda entry: entry.seq > seq, reversed(view.recent))
        lines = self._tail.lines(entries, view.names, width - 2, arrangement.tail - 1, events_per_s=rate)
        title = hairline("EVENTS", width, right=tail_title(rate))
        tail.show([title, *(indent(line) for line in lines)])

    def _pane(self, view: ViewState, arrangement: Arrangement) -> list[Line]:
        """Return the pane about the member under the cursor."""
        state, pane = view.state, self.query_one("#pane")
        key = (self.table.selected or "").removeprefix("fold:")
        width, height = arrangement.pane, pane.size.height
        joins = frozenset({arrangement.tree, arrangement.tree + arrangement.graph} if arrangement.tail else ())
        if (agent := state.agents.get(key)) is not None:
            entries = self._remembered.entries_of_agent(key, view)
            return agent_pane(self._remembered.pane_data(key, view), agent, entries, width, height, joins=joins)
        if (supervisor := state.supervisors.get(key)) is not None:
            progress = self._progresses.of(view).get(key, Progress())
            return supervisor_pane(
                self._remembered.pane_data(key, view),
                supervisor,
                progress,
                width,
                height,
                joins=joins,
                graph=None if arrangement.graph else partial(self._graph_of, view, key),
            )
        nothing = [BLANK, Line((Span("what is under the cursor is told here", "faint"),))]
        return draw_frame(nothing, (), width, height, joins=joins)

    def _graph_of(self, view: ViewState, key: str, width: int, height: int) -> list[Line]:
        """Return the graph of a supervisor's members, without its heading."""
        return self._pane_graph.lines(view, key, width, height + 1, calm=self.app.animation_level == "none")[1:]

    def on_resize(self, event: events.Resize) -> None:
        self.due_ms = 0  # redraw at the next update

    def on_lines_resized(self, event: Lines.Resized) -> None:
        # All parts have their sizes when the first of them tells, and what stands around the screen tells too.
        part = event.lines.id or ""
        if part in self._still and event.lines.size and self._drawn_for.get(part) != event.lines.size:
            self._redraw_parts()

    def _redraw_parts(self) -> None:
        if self.is_there:
            self._show_beside(self.deck.view)

    def on_picks_opened(self, event: Picks.Opened) -> None:
        self.open_row(event.key)

    def open_row(self, key: str) -> None:
        """Open the object of a row; a row of folded agents shows them."""
        if key.startswith("fold:"):
            self.action_fold()
        else:
            self.deck.open_key(key)

    def filtered(self, is_new: bool) -> None:
        """Show only matches, with the cursor on the first one; supervisors above it are shown, too."""
        super().filtered(is_new)
        rows = self.table.rows
        if isinstance(rows, Listing) and rows.first is not None:
            self.table.select(rows.first)

    def sorted(self, listing: Listing) -> Listing:
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
            self.action_fold()
        else:
            super().action_mark()

    def action_fold(self) -> None:
        """Show or fold the idle agents of the supervisor under the cursor."""
        key = self.table.selected
        agent = self.state.agents.get(key or "")
        supervisor_id = agent.supervisor_id if agent is not None else (key or "").removeprefix("fold:")
        self._opened ^= {supervisor_id}
        self.due_ms = 0
        self.update_view(self.deck.view)

    def action_pane(self) -> None:
        """Hide or show the pane."""
        self._wants_pane = not self._wants_pane
        if not self._wants_pane:
            self.focus_body()
        self.due_ms = 0
        self.update_view(self.deck.view)
        self.call_after_refresh(self.update_now)


SCREEN = NetworkScreen
