"""The Runs screen: open and ended runs."""

from dashboard.deck.text_reading import TextReading
from dashboard.frame.table_screen import BELOW, MARKS, TableScreen
from dashboard.views.drawing.graph_slot import GraphSlot
from dashboard.views.drawing.lines import BLANK
from dashboard.views.drawing.row_pane import RowDetails, describe_run
from dashboard.views.drawing.rows import Listing
from dashboard.views.facts.run_work import TASKS_PER_MS, Census, take_census
from dashboard.views.runs import HEADS, ORDERS, runs
from dashboard.views.view_state import ViewState

GRAPH_MIN_LINES = 8
"""Free lines of the pane below from which on it has the graph of the run."""


class RunsScreen(TableScreen):
    """Open runs first, then those that ended."""

    PLACE = "runs"
    GRIPS = (BELOW,)
    BELOW_MIN_HEIGHT = 34
    MARKED = "<pause or resume:z> pauses or resumes them, <cancel:ctrl+d> cancels them, <retry:r> submits them again"
    BINDINGS = [*MARKS]
    KEYS = (
        ("enter", "open"),
        "run",
        "pause or resume",
        "priority",
        "deadline",
        "cancel",
        ("retry", "again"),
        "strategy",
        (">", "sort"),
        ("d", "describe"),
        ("y", "JSON"),
        ("space", "mark"),
    )
    OPENS = "run"
    ORDERS = tuple(ORDERS)
    HEADS = HEADS

    def listing(self, view: ViewState) -> Listing:
        return runs(view.state, view.counts, now_ms=view.now_ms, order=self.sorting.order, needle=self.finding.needle)

    def __init__(self) -> None:
        super().__init__()
        self._reading, self._graph = TextReading(self.details.show_now), GraphSlot()
        self._census, self._counted_run_id, self._due_ms = Census(), "", 0

    def describe_row(self, view: ViewState, key: str, width: int, height: int) -> RowDetails | None:
        state, run = view.state, view.state.runs.get(key)
        if run is not None and (self._counted_run_id != key or view.is_due(self._due_ms)):
            self._census, self._counted_run_id = take_census(state, run), key
            self._due_ms = view.wall_ms + len(run.tasks) // TASKS_PER_MS
        summary = state.summary(key)
        self._reading.texts.begin_redraw()
        text = self._reading.texts.of(summary.output) if summary is not None else ""
        self._reading.read_missing(self.deck.background)
        details = describe_run(view, key, self._census if run is not None else Census(), text, width, height)
        left = height - len(details.lines) - 1
        if run is None or left < GRAPH_MIN_LINES:
            return details
        calm = self.app.animation_level == "none"
        return details._replace(lines=[*details.lines, BLANK, *self._graph.lines(view, key, width, left, calm=calm)])


SCREEN = RunsScreen
