"""Tasks, also those of runs that are over, which are read from the journal."""

from dashboard.frame.journal_screen import JournalScreen
from dashboard.frame.table_screen import BELOW, MARKS
from dashboard.views.drawing.row_pane import More, of_task
from dashboard.views.drawing.rows import Cell, Listing
from dashboard.views.facts.ended import SPENDS, Ended
from dashboard.views.tasks import HEADS, ORDERS, tasks
from dashboard.views.view_state import ViewState


class TasksScreen(JournalScreen):
    """What is at work, what waits and why, what has ended."""

    PLACE = "tasks"
    GRIPS = (BELOW,)
    BELOW_FROM = 45
    DEFAULT_CSS = """
    TasksScreen #below { height: 25%; }
    """
    MARKED = "<cancel:ctrl+d> cancels, <retry:r> retries, <priority:P> and <deadline:D> set them"
    BINDINGS = [*MARKS]
    SORTED = True
    KINDS = SPENDS
    MOST = 6_000
    KEYS = (
        ("enter", "open"),
        "priority",
        "deadline",
        "reassign",
        "cancel",
        "retry",
        (">", "sort"),
        "swap",
        ("d", "describe"),
        ("y", "JSON"),
        ("space", "mark"),
    )
    OPENS = "task"
    ORDERS = tuple(ORDERS)
    HEADS = HEADS

    def __init__(self) -> None:
        super().__init__()
        self._ended = Ended()

    def listing(self, view: ViewState) -> Listing:
        ended = self._ended.of(self.entries, view.names)
        return tasks(
            view.state,
            view.counts,
            view.live,
            now_ms=view.now_ms,
            order=self.sorting.order,
            needle=self.needle,
            ended=ended,
        )

    def more(self, view: ViewState, key: str, width: int, height: int) -> More | None:
        ended = None if key in view.state.tasks else next((one for one in self._ended.tasks if one.id == key), None)
        return of_task(view, key, ended, width, height)

    def facts(self) -> list[Cell]:
        facts = super().facts()[:-1]
        if len(self.entries) < self.MOST:
            return facts
        return [*facts, Cell(f"the last {len(self._ended.tasks):,} that ended", "faint")]


SCREEN = TasksScreen
