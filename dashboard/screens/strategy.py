"""Changing how a supervisor coordinates: the graph now and after, what stays done, what is planned anew."""

from collections.abc import Iterable

from textual import on
from textual.containers import Horizontal
from textual.widget import Widget
from textual.widgets import OptionList

from dashboard.screens.dialog import Answer, Choices, Dialog, Told
from dashboard.views.glimpse import Glimpse
from dashboard.views.graph import after, before, drawn
from dashboard.views.rows import Cell
from dashboard.views.switching import consequence, strategies
from engine.core.commands import SwitchStrategy
from engine.core.decide.strategy import preview
from engine.core.errors import Refused


class StrategyDialog(Dialog):
    """Choose another strategy; nothing that is done is done again."""

    CSS_PATH = "strategy.tcss"
    DOES = "Switch"

    def __init__(self, supervisor_id: str, mode: str | None = None) -> None:
        super().__init__()
        self._supervisor_id = supervisor_id
        self._mode = mode
        self._misnamed = ""
        self._shown: tuple[str | None, int] = (None, -1)

    def title_line(self) -> str:
        supervisor = self.deck.glimpse.state.supervisors[self._supervisor_id]
        return f"Strategy of {supervisor.name}, now {supervisor.mode}, joined by {supervisor.aggregation}"

    def inside(self) -> Iterable[Widget]:
        yield Choices(id="choices")
        with Horizontal(id="graphs"):
            yield Told(id="before")
            yield Told(id="after")
        yield Told(id="consequence")

    def begin(self) -> None:
        supervisor = self.deck.glimpse.state.supervisors[self._supervisor_id]
        others = [(name, name, about) for name, about in strategies() if name != supervisor.mode]
        choices = self.query_one(Choices)
        choices.offer(others, self._mode)
        choices.focus()
        if self._mode is not None and self._mode not in {name for name, _, _ in others}:
            known = ", ".join(name for name, _ in strategies())
            is_now = self._mode == supervisor.mode
            self._misnamed = (
                f"it is {self._mode} already" if is_now else f"no strategy {self._mode!r}; there are {known}"
            )
        self.look(self.deck.glimpse)

    @on(OptionList.OptionHighlighted)
    def _chosen(self) -> None:
        if self._shown[0] is not None:
            self._misnamed = ""
        self.look(self.deck.glimpse)

    def look(self, glimpse: Glimpse) -> None:
        mode = self.query_one(Choices).chosen
        if mode is None or self._supervisor_id not in glimpse.state.supervisors:
            return
        if self._shown == (mode, glimpse.state.seq):
            return
        self._shown = (mode, glimpse.state.seq)
        try:
            event = preview(glimpse.state, self._supervisor_id, mode)
        except Refused as error:
            self.problem(f"would be refused: {error}")
            return
        self.problem(self._misnamed)
        name = glimpse.state.supervisors[self._supervisor_id].name
        change = event.groups[-1] if event.groups else None
        shell = Cell(f"quarterdeck strategy {name} {mode}", "muted", "in a shell  ")
        self.query_one("#consequence", Told).show([*consequence(glimpse.state, event), shell])
        self.query_one("#graphs").display = change is not None
        if change is not None:
            width = max(20, (min(self.size.width, 104) - 8) // 2)
            self.query_one("#before", Told).show([Cell("now", "muted"), *drawn(before(glimpse.state, change), width)])
            self.query_one("#after", Told).show([Cell("after", "muted"), *drawn(after(glimpse.state, change), width)])

    def answer(self) -> Answer:
        mode = self.query_one(Choices).chosen
        return SwitchStrategy(supervisor=self._supervisor_id, mode=mode) if mode is not None else None
