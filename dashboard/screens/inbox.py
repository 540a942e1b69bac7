"""The Inbox screen: everything that waits for a person."""

from dashboard.actions import BY_NAME
from dashboard.actions.action import CommandLine
from dashboard.deck.text_reading import TextReading
from dashboard.frame.remembered import RecentEvents
from dashboard.frame.table_screen import BELOW, MARKS, TableScreen
from dashboard.views.changes.targets import Target, target_of
from dashboard.views.drawing.lines import Line
from dashboard.views.drawing.row_pane import RowDetails, describe_need, need_columns
from dashboard.views.drawing.rows import Listing
from dashboard.views.facts.agent_pane import agent_columns
from dashboard.views.facts.conversation import TaskConversation
from dashboard.views.facts.last_words import last_words
from dashboard.views.inbox import inbox, task_of_need
from dashboard.views.view_state import ViewState


class InboxScreen(TableScreen):
    """Questions first, then members in error and failed tasks."""

    PLACE = "inbox"
    SORTED = False
    GRIPS = (BELOW,)
    BELOW_MIN_HEIGHT = 20
    MARKED = "enter answers them one by one, those that are alike together"
    BINDINGS = [*MARKS]
    KEYS = (
        ("enter", "answer", "answer the question under the cursor, or all that are marked"),
        ("space", "mark"),
        "swap",
        "retry",
        ("pause or resume", "resume"),
        "reassign",
        "cancel",
    )

    def __init__(self) -> None:
        super().__init__()
        self._reading, self._recent = TextReading(self.update_now), RecentEvents(self)
        self._conversation = TaskConversation()

    def show(self, view: ViewState) -> None:
        self._reading.texts.begin_redraw()
        super().show(view)
        self._reading.read_missing(self.deck.background)

    def listing(self, view: ViewState) -> Listing:
        def said(key: str) -> str:
            return last_words(task_of_need(view.state, key), view.live, self._reading.texts)

        return inbox(
            view.state,
            view.counts,
            now_ms=view.now_ms,
            needle=self.finding.needle,
            can_write=view.can_write,
            said=said,
        )

    def describe_row(self, view: ViewState, key: str, width: int, height: int) -> RowDetails | None:
        if (agent := view.state.agents.get(key)) is not None:
            agent_entries, pane_data = self._recent.entries_of_agent(key, view), self._recent.pane_data(key, view)
            return RowDetails("AGENT", agent_columns(pane_data, agent, agent_entries, width, height))
        task, earlier = task_of_need(view.state, key), list[Line]()
        if task is not None and task.agent_id is not None:
            own_width, beside_width = need_columns(width)
            entries = self._recent.entries_of_agent(task.agent_id, view)
            earlier = self._conversation.lines(entries[::-1], task.id, view.names, beside_width or own_width - 2)
        details = describe_need(view, key, self._reading.texts, earlier, width, height)
        self._reading.read_missing(self.deck.background)
        return details

    def open_row(self, key: str) -> None:
        state = self.state
        if any(marked_key in state.escalations for marked_key in self.marked_keys()):
            BY_NAME["answer"].call(self, CommandLine())
        elif key in state.escalations:
            BY_NAME["answer"].call(self, CommandLine((key,)))
        elif key in state.agents or key in state.supervisors or key in state.tasks:  # else it was settled meanwhile
            self.deck.open_key(key)

    def can_be_marked(self, key: str) -> bool:
        return key in self.state.escalations or super().can_be_marked(key)

    def target(self) -> Target | None:
        """Return the subject of the row, to which actions apply."""
        state, key = self.state, self.table.selected or ""
        escalation = state.escalations.get(key)
        return target_of(state, escalation.subject if escalation is not None else key)

    def selected_key(self) -> str:
        return self.table.selected or ""


SCREEN = InboxScreen
