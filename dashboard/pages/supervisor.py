"""The page of a supervisor: its members as rows, and its work, queue, settings, cost and strategies."""

from collections.abc import Iterable

from textual import events
from textual.containers import Container, Vertical
from textual.geometry import Size
from textual.widget import Widget

from dashboard.frame.frame import Frame
from dashboard.frame.page_reading import PageReading
from dashboard.frame.remembered import RecentEvents
from dashboard.frame.sizing import Grip
from dashboard.frame.table_screen import SORTS
from dashboard.reading.newest import HISTORY, Newest
from dashboard.views.arrangement import PANE_MIN_COLUMNS
from dashboard.views.changes.targets import Target, target_of
from dashboard.views.drawing.facts import in_groups, to_row
from dashboard.views.drawing.graph_slot import GraphSlot
from dashboard.views.drawing.lines import Line, Span, indent
from dashboard.views.drawing.rows import Cell
from dashboard.views.drawing.sorting import DOWN, UP, Sorting
from dashboard.views.event_log import Entry
from dashboard.views.facts.supervisor_pane import facts_of, head_lines, supervisor_side
from dashboard.views.measures.activity import Activity
from dashboard.views.measures.meters import Meters
from dashboard.views.measures.progress import Progress, ProgressCache
from dashboard.views.network import GAP, ORDERS, Folding, Measures, network
from dashboard.views.view_state import ViewState
from dashboard.views.words.absent import absence
from dashboard.widgets.lines import Lines
from dashboard.widgets.picks import Picks
from dashboard.widgets.table import Table
from engine.core.events import StrategySwitched
from store import Reader

EVERYTHING = 1_000_000
GRAPH_MIN_LINES = 8
"""Minimum lines for a graph below the members."""


class SupervisorScreen(Frame):
    """The members of a supervisor and their work."""

    KEYS = (
        ("esc", "back"),
        ("enter", "open"),
        "strategy",
        "pause or resume",
        "set",
        "run",
        "swap",
        ("tab", "beside", "go from the members to what stands beside them"),
    )
    GRIPS = (Grip("side", "side", "left"),)
    BINDINGS = [*SORTS]
    DEFAULT_CSS = """
    SupervisorScreen {
        #facts { height: 4; }
        #parts { height: 1fr; layout: vertical; }
        #body { margin-top: 0; height: 1fr; }
        #side { height: 1fr; }
        &.-beside #parts { layout: horizontal; }
        #left { height: 1fr; }
        #graph { height: 0; }
        &.-beside #side { width: 2fr; }
        &.-beside #left { width: 3fr; }
    }
    """

    def __init__(self, subject_id: str) -> None:
        super().__init__(subject_id)
        self._recent = RecentEvents(self)
        self.reading = PageReading(self, self.read, self.show_body)
        self._meters, self._progresses = Meters(), ProgressCache()
        self._graph = GraphSlot()
        self._sorting = Sorting("declared")
        self._switches_of: tuple[Activity, int] | None = None
        """The source and the time of the last switch when the switches were read."""
        self._switches = Newest(HISTORY)

    def body(self) -> Iterable[Widget]:
        yield Lines(id="facts")
        with Container(id="parts"):
            with Vertical(id="left"):
                yield Table(id="body", gap=GAP)
                yield Lines(id="graph")
            yield Picks(id="side")

    @property
    def table(self) -> Table:
        return self.query_one("#body", Table)

    def read(self, reader: Reader, view: ViewState) -> list[Entry]:
        kinds = [StrategySwitched.type]
        return self._switches.up_to(view.state.seq, reader, view.names, kinds=kinds, value=self.subject_id)

    def show(self, view: ViewState) -> None:
        self.set_class(self.size.width >= PANE_MIN_COLUMNS, "-beside")
        self.reading.forget_later(view)
        state, now_ms = view.state, view.now_ms
        self._meters.update(view.activity, state, now_ms, anew=view.past is not None)
        progress = self._progresses.of(view)
        measures = Measures(self.table.wide, 0, self._meters, view.activity, progress, self._sorting, middle=True)
        listing = network(
            state,
            view.counts,
            view.live,
            now_ms=now_ms,
            folding=Folding(EVERYTHING),
            needle=self.finding.needle,
            root=self.subject_id,
            measures=measures,
        )
        room = self._make_room(len(listing.keys))
        self.table.head(self._sorting.order, UP if self._sorting.is_reversed else DOWN)
        self.table.show(listing, view.wall_ms)
        if room.height:
            calm = self.app.animation_level == "none"
            graph_lines = self._graph.lines(view, self.subject_id, *room, selected=self.table.selected, calm=calm)
            self.query_one("#graph", Lines).show(graph_lines)
        self._show_beside(view)
        switches_of = view.activity, view.activity.switched_ms.get(self.subject_id, 0)
        unread = switches_of != self._switches_of or not self.reading.has_begun
        if unread and self.reading.is_due(view):  # it scans the journal
            self._switches_of = switches_of
            self.reading.read(view)

    def _make_room(self, rows: int) -> Size:
        """Give the free lines below the members to the graph; return the size that the next layout will give it."""
        left, graph = self.query_one("#left").size, self.query_one("#graph")
        tall = left.height - rows - 1 if left.height - rows - 1 >= GRAPH_MIN_LINES else 0
        if tall != graph.size.height:
            graph.styles.height = tall
        return Size(left.width, tall)

    def _show_beside(self, view: ViewState) -> None:
        facts_shown, side = self.query_one("#facts", Lines), self.query_one("#side", Picks)
        supervisor = view.state.supervisors.get(self.subject_id)
        if supervisor is None:
            facts_shown.show([Line((Span(f" {absence(view.state, self.subject_id)}", "muted"),))])
            side.show([])
            return
        progress = self._progresses.of(view).get(self.subject_id, Progress())
        pane_data = self._recent.pane_data(self.subject_id, view)
        room = self.size.width - 2
        facts = facts_of(pane_data, supervisor)
        figures = to_row(in_groups(facts, "figures", "hand-over", "tokens", "cost"), room)
        head = [*head_lines(pane_data, facts, supervisor, progress, room), figures]
        facts_shown.show([indent(line) for line in head])
        stacked = not self.has_class("-beside")  # then there is no line between it and the members
        width, height = side.size.width + stacked, side.size.height
        lines = supervisor_side(pane_data, supervisor, self.reading.sentences(view), width, height)
        side.show([line._replace(spans=line.spans[stacked:]) for line in lines])

    def on_resize(self, event: events.Resize) -> None:
        self.call_after_refresh(self.update_now)

    def on_table_opened(self, event: Table.Opened) -> None:
        self.deck.open_key(event.key)

    def on_picks_opened(self, event: Picks.Opened) -> None:
        self.deck.open_key(event.key)

    def on_table_headed(self, event: Table.Headed) -> None:
        """Sort the members by the heading, then reversed, then as declared."""
        if event.title in ORDERS:
            self._sorting = self._sorting.after_click(event.title, "declared")
            self.update_view(self.deck.view)

    def action_sort(self, by: int) -> None:
        """Choose the next or the previous order."""
        self._sorting = self._sorting.after_step([*ORDERS], by)
        self.update_view(self.deck.view)

    def facts(self) -> list[Cell]:
        return [Cell(f"sorted: {self._sorting.label}", "muted")] if self._sorting.order != "declared" else []

    def target(self) -> Target | None:
        """Return the member under the cursor, else the supervisor."""
        chosen = self.query_one("#side", Picks).chosen if self.is_mounted else ""
        selected = self.table.selected if self.is_mounted else None
        return target_of(self.state, chosen) or target_of(self.state, selected) or super().target()


PAGE = SupervisorScreen
