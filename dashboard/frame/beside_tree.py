"""The parts of the Network screen beside its tree: their sizes, when each is redrawn, and what they show."""

from collections.abc import Callable
from functools import partial
from itertools import dropwhile

from textual.geometry import Size
from textual.widget import Widget

from dashboard.frame.member_pane import MemberPane
from dashboard.frame.sizing import Grip, PaneSizes
from dashboard.frame.table_screen import TableScreen
from dashboard.views.arrangement import Arrangement, arrange
from dashboard.views.drawing.graph_slot import GraphSlot
from dashboard.views.drawing.lines import hairline, indent
from dashboard.views.drawing.still import Stillness
from dashboard.views.measures.progress import ProgressCache
from dashboard.views.tail import ScreenTail, tail_title
from dashboard.views.view_state import ViewState
from dashboard.widgets.lines import Lines
from dashboard.widgets.picks import Picks
from dashboard.widgets.textual_seams import is_repaint_due

PANE, TAIL = Grip("pane", "pane", "left"), Grip("tail", "tail", "top")
"""The hairlines that can be moved."""


class TreeSizes(PaneSizes):
    """The sizes of the tree, of the graph and the tail below it, and of the pane beside it."""

    def __init__(self, screen: TableScreen) -> None:
        super().__init__(screen, screen.GRIPS, screen.update_now)
        self._table_screen = screen
        self.arranged: Arrangement | None = None
        """The sizes; None until the first layout."""
        self.wants_pane = True
        """Whether the pane is shown if it fits."""

    def is_open(self, grip: Grip) -> bool:
        arranged = self.arranged
        return arranged is not None and bool(arranged.pane if grip is PANE else arranged.tail)

    def set_size(self, grip: Grip, cells: int | None) -> None:
        """Arrange the tree again at the next redraw."""
        self._table_screen.due_ms = 0

    def divide(self) -> bool:
        """Set the size of each part; return whether one has changed."""
        screen = self._table_screen
        height, size = screen.query_one("#parts").size.height, screen.size
        arranged = arrange(
            size.width,
            size.height,
            height,
            lines=len(screen.table.rows.keys),
            pane=self.wants_pane,
            graph=bool(screen.state.runs) or len(screen.state.agents) > 1,
            pane_cells=self.chosen_size(PANE),
            tail_lines=self.chosen_size(TAIL),
        )
        if arranged == self.arranged or not height:
            return False
        self.arranged = arranged
        graph, tail, pane = (screen.query_one(f"#{part}") for part in ("graph", "tail", "pane"))
        graph.styles.height, tail.styles.height, pane.styles.width = arranged.graph, arranged.tail, arranged.pane
        screen.call_after_refresh(self.apply)  # other borders can be dragged now
        pane.can_focus, tail.can_focus = bool(arranged.pane), bool(arranged.tail)
        return True


class PartDrawings:
    """When the parts of the screen were drawn, and for which sizes; while only the clock changes, they rest."""

    def __init__(self) -> None:
        self._still = {part: Stillness() for part in ("body", "tail", "graph", "pane")}
        self._drawn_for: dict[str, Size] = {}
        """Size of each part when it was last drawn."""
        self.is_by_clock = False
        """Whether only the clock has changed since the last redraw."""

    def draw(self, part: Widget, view: ViewState, draw: Callable[[ViewState], None]) -> None:
        """Redraw a part if it is due."""
        name = part.id or ""
        still = self._still[name]
        if still.is_due(view, quiet=self.is_by_clock):
            draw(view)
            self._drawn_for[name] = part.size
            still.record_draw(view, moved=not self.is_by_clock or is_repaint_due(part))

    def has_new_size(self, part: Widget) -> bool:
        """Return whether a part has another size than that for which it was drawn."""
        return part.id in self._still and bool(part.size) and self._drawn_for.get(part.id) != part.size


class BesideTree:
    """The graph and the newest events below the tree, and the pane beside it."""

    def __init__(
        self, screen: TableScreen, sizes: TreeSizes, drawings: PartDrawings, progresses: ProgressCache
    ) -> None:
        self._screen, self._sizes, self._drawings = screen, sizes, drawings
        self._graph, self._tail, self._pane = GraphSlot(), ScreenTail(), MemberPane(screen, progresses)

    def show(self, view: ViewState) -> None:
        """Redraw the parts that there is room for and that are due."""
        screen, arranged = self._screen, self._sizes.arranged
        if arranged is None:
            return
        draw = self._drawings.draw
        if arranged.tail:
            draw(screen.query_one("#tail"), view, partial(self._show_tail, arranged))
        if arranged.graph:
            draw(screen.query_one("#graph"), view, self._show_graph)
        if arranged.pane:
            draw(screen.query_one("#pane"), view, partial(self._show_pane, arranged))

    def show_now(self) -> None:
        """Redraw the parts from the current view, if the screen is there."""
        if self._screen.is_there:
            self.show(self._screen.deck.view)

    def _show_graph(self, view: ViewState) -> None:
        screen = self._screen
        graph, calm = screen.query_one("#graph", Lines), screen.app.animation_level == "none"
        width, height = graph.size
        if width and height:
            graph.show(self._graph.lines(view, "", width, height, selected=screen.table.selected, calm=calm))

    def _show_pane(self, arranged: Arrangement, view: ViewState) -> None:
        screen = self._screen
        pane, calm = screen.query_one("#pane", Picks), screen.app.animation_level == "none"
        key = (screen.table.selected or "").removeprefix("fold:")
        pane.show(self._pane.lines(view, key, arranged, pane.size.height, calm=calm))

    def _show_tail(self, arranged: Arrangement, view: ViewState) -> None:
        tail, rate = self._screen.query_one("#tail", Picks), view.situation.events_per_s
        width, seq = tail.size.width, view.state.seq
        entries = dropwhile(lambda entry: entry.seq > seq, reversed(view.recent))
        lines = self._tail.lines(entries, view.names, width - 2, arranged.tail - 1, events_per_s=rate)
        title = hairline("EVENTS", width, right=tail_title(rate))
        tail.show([title, *(indent(line) for line in lines)])
