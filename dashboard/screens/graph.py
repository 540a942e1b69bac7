"""The Graph screen: the execution graph of a run, or the network of the team, with the flow of work."""

from textual.binding import Binding

from dashboard.frame.board_screen import BoardScreen
from dashboard.frame.ended_run import EndedRun
from dashboard.views.changes.targets import Target, target_of
from dashboard.views.drawing.lines import Line
from dashboard.views.drawing.rows import Cell, matches
from dashboard.views.facts.agent import MIN_SHOWN_MS
from dashboard.views.graph import Drawing, Graph, draw_graph, graph_of
from dashboard.views.graph.details import HEIGHT, node_details
from dashboard.views.graph.drawing import heading
from dashboard.views.graph.model import Node, connected_nodes
from dashboard.views.graph.nodes import IDLE_PREFIX, Sight
from dashboard.views.graph.subject import TEAM, run_to_show
from dashboard.views.graph.team import hand_overs
from dashboard.views.graph.walking import first_node, walk
from dashboard.views.header import reading_message
from dashboard.views.view_state import ViewState
from dashboard.views.words.amounts import pluralize
from dashboard.views.words.keyed import fill_keys
from dashboard.widgets.board import Board

DETAILS_MIN_HEIGHT = 25
"""Minimum height of the body for details of the node under the cursor; that of a terminal with 30 rows."""
TASKS_PER_MS = 8
"""The graph of n tasks and agents is built again after n / TASKS_PER_MS milliseconds at the earliest."""
UNFOLDS_AFTER_MS = 2_000
"""Time after which a folded graph is tried unfolded again, in milliseconds; that doubles the cost of a redraw."""
FULL_SIZE = 4
"""Rows of a box while the graph is not fitted to the screen."""


class GraphScreen(BoardScreen):
    """Boxes in layers, edges lit by their last hand-over."""

    PLACE = "graph"
    KEYS = (
        ("←→↑↓", "walk", "go along the edges to the next node"),
        ("enter", "open"),
        ("f", "fit", "draw small enough that all is seen, or large around the cursor"),
        ("i", "idle", "show agents at rest as well, or fold them"),
        ("t", "run or team", "show the network of the team instead of a run, or a run again"),
        ("<>", "other run", "show the run before, or the next one"),
        (".", "chain", "show only what leads to the node under the cursor and what it leads to; again: all"),
        "strategy",
        "swap",
    )
    BINDINGS = [
        Binding("left", "walk('left')", "walk", show=False),
        Binding("right", "walk('right')", "walk", show=False),
        Binding("up,k", "walk('up')", "walk", show=False),
        Binding("down,j", "walk('down')", "walk", show=False),
        Binding("enter", "open", "open", show=False),
        Binding("f", "fit", "fit", show=False),
        Binding("i", "idle", "idle", show=False),
        Binding("t", "turn", "run or team", show=False),
        Binding("full_stop", "chain", "chain", show=False),
        Binding("less_than_sign", "run_beside(-1)", "run before", show=False),
        Binding("greater_than_sign", "run_beside(1)", "next run", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._subject = ""
        """The id of a run, open or ended, `team`, or empty for the current run."""
        self._ended_run: EndedRun | None = None
        self._selected: str | None = None
        self._fit, self._idle = True, False
        self._chain: str | None = None
        """The node whose ancestors and descendants alone are shown; None for all nodes."""
        self._graph = Graph("")
        self._cache_key: tuple[object, ...] = ()
        self._next_ms = 0
        self._folded, self._unfolds_ms = False, 0
        """Whether the graph did not fit; it is tried unfolded again at `_unfolds_ms`."""
        self._flows: dict[tuple[str, str], int] = {}
        self._drawing = Drawing([])

    def show(self, view: ViewState) -> None:
        width, height = self.board.size
        if not (width and height):
            return
        sight = self._sight(view)
        details_height = HEIGHT if height >= DETAILS_MIN_HEIGHT else 0
        room = height - 1 - details_height
        self._build_graph(view, sight, room)
        drawing = self._draw_graph(sight, width, room)
        if not drawing.fits and self._folds and not self._folded:
            self._folded, self._unfolds_ms = True, view.wall_ms + UNFOLDS_AFTER_MS
            self._graph = graph_of(sight, self._subject, self._flows, opened=self._unfolded_id(view), folded=True)
            drawing = self._draw_graph(sight, width, room)
        self._drawing = drawing
        self.board.places = [(box.x, box.y + 1) for box in drawing.boxes.values()]
        title = reading_message(view.situation)[0] if view.situation.opening else self._graph.title
        lines = [heading(title, width), *drawing.lines]
        node = self._graph.node(self._selected)
        if details_height:
            lines += (
                node_details(sight, self._graph, node, width=width) if node is not None else [Line()] * details_height
            )
        self.board.show(lines)

    def _sight(self, view: ViewState) -> Sight:
        """Return the current team; for an ended run, the team at its end."""
        if self._ended_run is None:
            self._ended_run = EndedRun(self.deck, self.redraw_now)
        return self._ended_run.sight(self._subject, view) or Sight.of(view, idle=self._idle)

    def _build_graph(self, view: ViewState, sight: Sight, room: int) -> None:
        """Build the current graph; a large one less often."""
        state = sight.state
        opened, lines = self._unfolded_id(view), room if self._folds else 0
        moves = bool(state.runs) or sight.now_ms - state.at_ms < MIN_SHOWN_MS
        moment = (state.seq, sight.now_ms // 1_000 if moves else 0)  # times grow even without an event
        cache_key = (self._subject, self._idle, self.finding.needle, self._chain, opened, lines, moment)
        same = cache_key[:-1] == self._cache_key[:-1]
        if cache_key == self._cache_key or (same and not view.is_due(self._next_ms)):
            return
        self._cache_key = cache_key
        self._folded = self._folded and same and not view.is_due(self._unfolds_ms)
        self._next_ms = view.wall_ms + (len(state.tasks) + len(state.agents)) // TASKS_PER_MS
        if self._subject == TEAM or run_to_show(state) is None:
            member_ids = state.agents.keys() | state.supervisors.keys()
            flows = self._flows.items()
            current_flows = {ends: at for ends, at in flows if member_ids.issuperset(ends) and at <= sight.now_ms}
            self._flows = current_flows | hand_overs(state)
        if self._subject != TEAM and self._subject not in self._runs():
            self._subject = ""
        graph = graph_of(sight, self._subject, self._flows, opened=opened, lines=lines, folded=self._folded)
        if self.finding.needle:
            graph = graph.subgraph(
                connected_nodes(graph, [node.id for node in graph.nodes if _matches(self.finding.needle, node)])
            )
        if self._chain is not None and graph.node(self._chain) is not None:
            graph = graph.subgraph(connected_nodes(graph, [self._chain]))
        self._graph = graph

    def _draw_graph(self, sight: Sight, width: int, room: int) -> Drawing:
        graph = self._graph
        if graph.node(self._selected) is None:
            self._selected = first_node(graph)
        calm = self.app.animation_level == "none"
        size = None if self._fit else FULL_SIZE
        return draw_graph(
            graph, width=width, height=room, now_ms=sight.now_ms, selected=self._selected, calm=calm, size=size
        )

    @property
    def _folds(self) -> bool:
        """Whether members may be folded into their supervisors: not if the user has selected nodes."""
        return self._fit and not self.finding.needle and self._chain is None

    def _unfolded_id(self, view: ViewState) -> str | None:
        """Return what stays unfolded: the node under the cursor; in a team, its supervisor."""
        if self._graph.is_run:
            return self._selected
        key = (self._selected or "").removeprefix(IDLE_PREFIX)
        agent = view.state.agents.get(key)
        return agent.supervisor_id if agent is not None else key

    def facts(self) -> list[Cell]:
        facts = [Cell(pluralize(len(self._graph.nodes), "node"), "muted")] if self._graph.nodes else []
        if self._graph.node(self._chain) is not None:  # else the node is gone, and all nodes are shown
            facts.append(Cell("one chain, . shows all", "accent"))
        elif not self._drawing.fits:
            facts.append(Cell("more than is in sight", "draining"))
        return facts

    def target(self) -> Target | None:
        node = self._graph.node(self._selected)
        return target_of(self.state, node.about) if node is not None else None

    def explain_no_target(self) -> str:
        return "choose a box first"

    def forget(self) -> None:
        self._cache_key = ()

    def action_walk(self, way: str) -> None:
        """Go along an edge, or to the box above or below."""
        self._selected = walk(self._graph, self._drawing.boxes, self._selected, way)
        self.update_view(self.deck.view)

    def action_open(self) -> None:
        """Open the object of the box under the cursor; a box of folded members shows them."""
        node = self._graph.node(self._selected)
        if node is None:
            return
        kind, key = node.opens
        if kind:
            self.deck.open(kind, key)
        else:
            self.action_idle()

    def action_fit(self) -> None:
        """Fit the graph into the screen, or show large boxes around the cursor."""
        self._fit = not self._fit
        self.redraw_now()

    def action_idle(self) -> None:
        """Show or fold resting members."""
        self._idle = not self._idle
        self.redraw_now()

    def action_turn(self) -> None:
        """Show the team instead of a run, or a run instead of the team."""
        runs, run = self._runs(), run_to_show(self.state)
        is_run = self._subject in runs or (not self._subject and run is not None)
        if not is_run and not runs:
            hint = fill_keys(": <run:n> gives the team a request") if self.deck.view.can_write else ""
            self.deck.messages.say(f"there was no run yet{hint}", "muted")
            return
        self._turn_to(TEAM if is_run else "" if run is not None else runs[-1])

    def action_run_beside(self, by: int) -> None:
        """Show the next or the previous run; ended runs come before open ones."""
        runs, run = self._runs(), run_to_show(self.state)
        if runs:
            now = self._subject if self._subject in runs else run.id if run is not None else runs[-1]
            self._turn_to(runs[(runs.index(now) + by) % len(runs)])

    def _runs(self) -> list[str]:
        """Return the runs that can be shown: ended ones in the state, then open ones."""
        return [*(summary.id for summary in self.state.finished), *self.state.runs]

    def _turn_to(self, subject: str) -> None:
        self._subject, self._selected, self._chain = subject, None, None
        self.redraw_now()

    def action_chain(self) -> None:
        """Show only ancestors and descendants of the node under the cursor, or all nodes again."""
        self._chain = self._selected if self._chain is None else None
        self.redraw_now()

    def on_board_pressed(self, event: Board.Pressed) -> None:
        """Put the cursor on the box; a double click opens it."""
        node_id = self._drawing.node_at(event.x, event.y - 1)
        if node_id is not None:
            again = event.again and node_id == self._selected
            self._selected = node_id
            self.update_view(self.deck.view)
            if again:
                self.action_open()

    def on_board_turned(self, event: Board.Turned) -> None:
        self.action_walk("down" if event.by > 0 else "up")

    def action_back(self) -> None:
        """Show all nodes again, then as on every screen."""
        if self._chain is not None:
            self.action_chain()
        else:
            super().action_back()


def _matches(needle: str, node: Node) -> bool:
    agent = node.name if node.opens[0] == "agent" else None
    supervisor = node.name if node.opens[0] == "supervisor" else None
    task = node.opens[1] if node.opens[0] == "task" else None
    return matches(
        needle, node.name, node.word, node.now, agent=agent, supervisor=supervisor, task=task, status=node.word
    )


SCREEN = GraphScreen
