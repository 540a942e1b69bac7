"""The Tasks screen: all tasks; those of finished runs are read from the journal."""

from dashboard.frame.remembered import RecentEvents
from dashboard.frame.table_screen import BELOW, MARKS, TableScreen
from dashboard.views.drawing.lines import Line
from dashboard.views.drawing.row_pane import RowDetails, describe_task
from dashboard.views.drawing.rows import Cell, Listing
from dashboard.views.facts.conversation import TaskConversation
from dashboard.views.facts.ended import SPENDS, EndedTaskIndex
from dashboard.views.tasks import HEADS, ORDERS, tasks
from dashboard.views.view_state import ViewState


class TasksScreen(TableScreen):
    """Running, waiting and ended tasks."""

    PLACE = "tasks"
    GRIPS = (BELOW,)
    BELOW_MIN_HEIGHT, BELOW_MIN_PERCENT, FILL_STEP = 45, 25, 5
    MARKED = "<cancel:ctrl+d> cancels, <retry:r> retries, <priority:P> and <deadline:D> set them"
    BINDINGS = [*MARKS]
    KINDS = SPENDS
    MAX_ENTRIES = 6_000
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
        self._ended_tasks, self._recent, self._conversation = EndedTaskIndex(), RecentEvents(self), TaskConversation()

    def listing(self, view: ViewState) -> Listing:
        ended_tasks = self._ended_tasks.update(self.reading.entries, view.names)
        return tasks(
            view.state,
            view.counts,
            view.live,
            now_ms=view.now_ms,
            order=self.sorting.order,
            needle=self.finding.needle,
            ended_tasks=ended_tasks,
        )

    def describe_row(self, view: ViewState, key: str, width: int, height: int) -> RowDetails | None:
        ended_task, task = None, view.state.tasks.get(key)
        if task is None:
            ended_task = next((task for task in self._ended_tasks.tasks if task.id == key), None)
        subject, earlier = task or ended_task, list[Line]()
        if subject is not None and subject.agent_id is not None:
            entries = self._recent.entries_of_agent(subject.agent_id, view)
            earlier = self._conversation.lines(entries[::-1], key, view.names, width - 2)
        return describe_task(view, key, ended_task, width, height, earlier=earlier)

    def facts(self) -> list[Cell]:
        facts = super().facts()[:-1]
        if not self.reading.is_full:
            return facts
        return [*facts, Cell(f"the last {len(self._ended_tasks.tasks):,} that ended", "faint")]


SCREEN = TasksScreen
