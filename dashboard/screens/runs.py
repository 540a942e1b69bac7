"""The Runs screen: open and ended runs."""

from dashboard.frame.table_screen import BELOW, MARKS, TableScreen
from dashboard.views.drawing.row_pane import RowDetails, describe_run
from dashboard.views.drawing.rows import Listing
from dashboard.views.facts.run_work import TASKS_PER_MS, Census, take_census
from dashboard.views.runs import HEADS, ORDERS, runs
from dashboard.views.view_state import ViewState
from dashboard.views.words.names import JournalTexts
from engine.core.records.values import TextRef
from store import Reader


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
        return runs(
            view.state, now_ms=view.now_ms, order=self.sorting.order, needle=self.finding.needle, working=view.working
        )

    def __init__(self) -> None:
        super().__init__()
        self._texts, self._reading = JournalTexts(), False
        self._census, self._counted_run_id, self._due_ms = Census(), "", 0

    def describe_row(self, view: ViewState, key: str, width: int, height: int) -> RowDetails | None:
        state, run = view.state, view.state.runs.get(key)
        if run is not None and (self._counted_run_id != key or view.is_due(self._due_ms)):
            self._census, self._counted_run_id = take_census(state, run), key
            self._due_ms = view.wall_ms + len(run.tasks) // TASKS_PER_MS
        summary = state.summary(key)
        self._texts.begin_redraw()
        text = self._texts.of(summary.output) if summary is not None else ""
        self._read(self._texts.missing)
        return describe_run(view, key, self._census if run is not None else Census(), text, width, height)

    def _read(self, missing: list[TextRef]) -> None:
        """Read missing texts from the journal, in a thread."""
        refs_by_seq = {ref.seq: ref for ref in missing}
        if self._reading or not refs_by_seq:
            return
        self._reading = True

        def read(reader: Reader) -> dict[int, bytes]:
            return reader.bodies(set(refs_by_seq))

        def receive(bodies: dict[int, bytes]) -> None:
            self._reading = False
            for seq, ref in refs_by_seq.items():
                self._texts.add(ref, bodies.get(seq))
            if self.is_there:
                self.details.show(self.deck.view)

        def handle_failure() -> None:
            self._reading = False

        self.deck.background.read(read, receive, on_failure=handle_failure)


SCREEN = RunsScreen
