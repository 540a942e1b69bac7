"""The page that describes an object in full, in words."""

from collections.abc import Sequence

from dashboard.frame.page_screen import PageScreen
from dashboard.reading.newest import HISTORY, Newest
from dashboard.views.drawing.raw import object_of
from dashboard.views.drawing.rows import Cell
from dashboard.views.event_log import Entry
from dashboard.views.facts.pages import History, agent_page, entity_page, run_page, supervisor_page, task_page
from dashboard.views.facts.prompt import prompt_of, prompt_text
from dashboard.views.facts.step_table import steps_among
from dashboard.views.view_state import ViewState
from dashboard.views.words.names import JournalTexts
from store import Reader


class DescribeScreen(PageScreen):
    """An object in words."""

    KEYS = (("esc", "back"), ("y", "JSON"), ("Y", "copy"), ("↑↓", "scroll"))
    _run_id: str | None = None

    def __init__(self, subject_id: str) -> None:
        super().__init__(subject_id)
        self._newest = Newest(HISTORY)

    def path_title(self, view: ViewState) -> str:
        return f"{super().path_title(view)} in words"

    def page(self, view: ViewState, texts: JournalTexts, history: History) -> Sequence[Cell]:
        state, key, now_ms = view.state, self.subject_id, view.now_ms
        if key in state.agents:
            activity, events = view.activity, self.reading.events
            return agent_page(
                state, key, view.counts, view.live, history, now_ms=now_ms, activity=activity, events=events
            )
        if key in state.runs or state.summary(key) is not None:
            return run_page(state, key, view.counts, texts, now_ms=now_ms)
        if (supervisor := state.supervisors.get(key)) is not None:
            return supervisor_page(state, supervisor, view.counts, history, now_ms=now_ms, activity=view.activity)
        subject = object_of(state, key)
        if subject is not None and key not in state.tasks:
            return entity_page(subject, history)
        prompt = prompt_of(
            state, state.tasks.get(key), steps_among(self.reading.entries, key), self.reading.parts, texts
        )
        return task_page(
            state,
            key,
            view.counts,
            view.live,
            texts,
            history,
            now_ms=now_ms,
            steps=self.reading.events,
            prompt=prompt_text(prompt),
        )

    def read(self, reader: Reader, view: ViewState) -> list[Entry]:
        state, seq = view.state, view.state.seq
        if self.subject_id in state.agents:
            return self._newest.up_to(seq, reader, view.names, agent_id=self.subject_id)
        if self.subject_id in state.runs or state.summary(self.subject_id) is not None:
            return []
        task = state.tasks.get(self.subject_id)
        if task is None and object_of(state, self.subject_id) is not None:
            return self._newest.up_to(seq, reader, view.names, value=self.subject_id)
        self._run_id = task.run_id if task is not None else self._run_id
        return self._newest.up_to(seq, reader, view.names, run_id=self._run_id, task_id=self.subject_id)


PAGE = DescribeScreen
