"""The Costs screen: who spent it."""

from textual.binding import Binding

from dashboard.frame.table_screen import BELOW, TableScreen
from dashboard.views.costs import costs, describe_cost
from dashboard.views.drawing.row_pane import RowDetails
from dashboard.views.drawing.rows import Cell, Listing
from dashboard.views.measures.costs import GROUPINGS, By, CostRow, cost_rows
from dashboard.views.measures.usage import budget_spans
from dashboard.views.view_state import ViewState

MAKE_EVERY_MS = 1_000


class CostsScreen(TableScreen):
    """What the team has spent by agent, model, tool or task, the most first."""

    PLACE = "costs"
    GRIPS = (BELOW,)
    BELOW_MIN_HEIGHT, FILLS = 34, True
    KEYS = (
        ("t", "by", "list by agent, then by model, by tool, by task"),
        ("enter", "open", "open the page of the agent, the task or the run under the cursor"),
        (">", "sort"),
        ("/", "filter"),
    )
    BINDINGS = [Binding("t", "group", "by", show=False)]

    def __init__(self) -> None:
        super().__init__()
        self._by: By = GROUPINGS[0]
        self._rows: list[CostRow] = []
        self._rows_key: tuple[object, ...] = ()

    def listing(self, view: ViewState) -> Listing:
        return costs(self._rows_of(view), by=self._by, needle=self.finding.needle)

    def describe_row(self, view: ViewState, key: str, width: int, height: int) -> RowDetails | None:
        row = next((row for row in self._rows_of(view) if row.key == key), None)
        if row is None:
            return None
        opens = "enter opens its page" if self._has_page(key) else ""
        at = {"now_ms": view.now_ms, "width": width, "height": height}
        return describe_cost(view.state, row, by=self._by, opens=opens, **at)

    def _rows_of(self, view: ViewState) -> list[CostRow]:
        """Return the rows, made again once a second: with a thousand agents they take some milliseconds."""
        key = (self._by, view.now_ms // MAKE_EVERY_MS, view.state.seq if view.past is not None else -1)
        if key != self._rows_key:
            self._rows_key, self._rows = key, cost_rows(view.state, self._by, view.now_ms)
        return self._rows

    def facts(self) -> list[Cell]:
        spans = budget_spans(self.state, 8)
        spent = [Cell("".join(span.text for span in spans), spans=spans)] if spans else []
        return [Cell(f"by {self._by}", "accent"), *spent, *super().facts()]

    def _has_page(self, key: str) -> bool:
        return key in self.state.agents or key in self.state.tasks or self.state.summary(key) is not None

    def open_row(self, key: str) -> None:
        if self._has_page(key):
            self.deck.open_key(key)
        else:
            self.deck.messages.say("there is no page about it: it has left, or is no agent, task or run", "muted")

    def action_group(self) -> None:
        """List by the next grouping."""
        self._by = GROUPINGS[(GROUPINGS.index(self._by) + 1) % len(GROUPINGS)]
        self.due_ms = 0
        self.update_view(self.deck.view)


SCREEN = CostsScreen
