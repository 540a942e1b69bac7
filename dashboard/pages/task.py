"""A task: what it was asked, its steps, its events."""

from collections.abc import Sequence

from dashboard.frame.page_screen import HISTORY, PageScreen
from dashboard.views.header import Glimpse
from dashboard.views.names import Texts
from dashboard.views.pages import History, task_page
from dashboard.views.rows import Cell
from dashboard.views.steps import prompt_of
from store import Reader, Record


class TaskScreen(PageScreen):
    """A task."""

    _run_id: str | None = None

    def page(self, glimpse: Glimpse, texts: Texts, history: History) -> Sequence[Cell]:
        return task_page(
            glimpse.state, self._key, glimpse.counts, glimpse.live, texts, history, now_ms=glimpse.now_ms,
            steps=self.events, prompt=prompt_of(self.events, self.parts),
        )  # fmt: skip

    def records(self, reader: Reader, glimpse: Glimpse) -> list[Record]:
        task = glimpse.state.tasks.get(self._key)
        self._run_id = task.run_id if task is not None else self._run_id
        return reader.records_before(glimpse.state.seq + 1, HISTORY, run_id=self._run_id, task_id=self._key)


PAGE = TaskScreen
