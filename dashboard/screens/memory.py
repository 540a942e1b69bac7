"""The Memory screen: what the agents of the team remember, private or for all, searched while words are typed."""

from textual.binding import Binding

from dashboard.deck.text_reading import TextReading
from dashboard.frame.finding import RowFilter
from dashboard.frame.table_screen import BELOW, MARKS, TableScreen
from dashboard.reading.insights import InsightSearch, copy_insights
from dashboard.views.drawing.row_pane import RowDetails
from dashboard.views.drawing.rows import Cell, Listing
from dashboard.views.knowledge.memory import FILTER_HINT, FoundInsights, describe_insight, memory_listing
from dashboard.views.view_state import ViewState

LOOK_EVERY_MS = 1_000
"""How often a team at work is searched again."""


class InsightFilterLine(RowFilter):
    """Filters insights by words and by what only insights have."""

    def suggest(self, line: str) -> list[str]:
        return []

    def advise(self, text: str) -> Cell:
        return Cell("" if text.strip() else FILTER_HINT, "muted")


class MemoryScreen(TableScreen):
    """Insights of the team, the most important first; with words the best match first."""

    PLACE = "memory"
    SORTED = False
    GRIPS = (BELOW,)
    BELOW_MIN_HEIGHT = 20
    MARKED = "R forgets them"
    KEYS = (
        ("enter", "open", "open the task in which the insight under the cursor was written"),
        ("/", "filter"),
        ("R", "forget", "forget the insight, or the marked ones; asks first"),
        ("space", "mark"),
    )
    BINDINGS = [*MARKS, Binding("R", "act('forget')", "forget", show=False)]

    def __init__(self) -> None:
        super().__init__()
        self.finding = InsightFilterLine(self, self.show_filtered)
        self._texts = TextReading(self._update_at_once)
        self._search = InsightSearch()
        self._found: FoundInsights | None = None
        self._searched: tuple[object, ...] = ()
        """Filter, moment and seq that were searched last."""
        self._is_searching = False
        self._next_ms = 0

    def show(self, view: ViewState) -> None:
        self._texts.texts.begin_redraw()
        super().show(view)
        self._texts.read_missing(self.deck.background)

    def listing(self, view: ViewState) -> Listing:
        self._look(view)
        return memory_listing(view.state, self._found, self._texts.texts, now_ms=view.now_ms)

    def _look(self, view: ViewState) -> None:
        """Search again for another filter or moment, or after some time; one search at a time."""
        needle, is_past = self.finding.needle, view.past is not None
        wanted = (needle, is_past, view.state.seq)
        is_due = wanted[:2] != self._searched[:2] or is_past or view.has_passed(self._next_ms)
        if wanted == self._searched or self._is_searching or not is_due or view.situation.opening:
            return
        self._is_searching, self._next_ms = True, view.wall_ms + LOOK_EVERY_MS
        state, now_ms = copy_insights(view.state), view.now_ms

        def receive(found: FoundInsights) -> None:
            is_new = self._found is None or found.needle != self._found.needle
            self._found, self._searched, self._is_searching = found, wanted, False
            self._update_at_once()
            if is_new and found.ids and self.is_there:
                self.select_row(found.ids[0])

        def handle_failure() -> None:
            self._is_searching = False

        self.deck.background.read(
            lambda reader: self._search.filtered(reader, state, needle, now_ms), receive, on_failure=handle_failure
        )

    def _update_at_once(self) -> None:
        """Show what has been read, although a long listing may be due only later."""
        self.due_ms = 0
        self.update_now()

    def describe_row(self, view: ViewState, key: str, width: int, height: int) -> RowDetails | None:
        insight = view.state.insights.get(key)
        if insight is None:
            return None
        text = self._texts.texts.of(insight.text)
        details = describe_insight(view.state, insight, text, now_ms=view.now_ms, width=width, height=height)
        self._texts.read_missing(self.deck.background)
        return details

    def facts(self) -> list[Cell]:
        if self._found is not None and self._found.needle != self.finding.needle:
            return [Cell("searching …", "muted")]
        return [*super().facts(), *([] if self.finding.needle else [Cell(f"{self._shown_count:,}", "muted")])]

    def chosen_insights(self) -> dict[str, str]:
        """Return the marked insights, or the one under the cursor: their texts by their ids."""
        keys, insights = self.marked_keys() or [self.table.selected or ""], self.state.insights
        return {key: self._texts.texts.of(insights[key].text) for key in keys if key in insights}

    def can_be_marked(self, key: str) -> bool:
        return key in self.state.insights

    def selected_key(self) -> str:
        return self.table.selected or ""

    def id_at_cursor(self, *, whole: bool = False) -> str:
        return self.table.selected or ""

    def explain_no_target(self) -> str:
        return "these rows are insights, not members of the team; R forgets one"

    def open_row(self, key: str) -> None:
        insight = self.state.insights.get(key)
        if insight is not None and insight.evidence is not None:
            self.deck.open_key(insight.evidence.task_id)
        elif insight is not None and insight.agent_id in self.state.agents:
            self.deck.open_key(insight.agent_id or "")
        else:
            self.deck.messages.say("a person wrote it, or a program: there is no task to open", "muted")


SCREEN = MemoryScreen
