"""A dialog of one line: what is typed is read at once, and what it would do is said below it."""

from collections.abc import Iterable

from textual import on
from textual.widget import Widget
from textual.widgets import Input

from dashboard.screens.dialog import Answer, Dialog, Told
from dashboard.views.asking import LineQuestion
from dashboard.views.glimpse import Glimpse
from dashboard.views.rehearsal import rehearsed
from dashboard.views.rows import Cell
from dashboard.views.typed import Mistyped
from engine.core.commands import Command


class LineDialog(Dialog):
    """Ask a `LineQuestion`."""

    CSS_PATH = "prompting.tcss"

    def __init__(self, question: LineQuestion, text: str = "") -> None:
        super().__init__()
        self._question, self._text = question, text

    def title_line(self) -> str:
        return self._question.title(self.deck.glimpse.state)

    def does(self) -> str:
        return self._question.does

    def inside(self) -> Iterable[Widget]:
        yield Told(id="told")
        yield Input(self._text, placeholder=self._question.placeholder, id="line", select_on_focus=False)
        yield Told(id="would")

    def begin(self) -> None:
        self.query_one(Input).focus()
        self.look(self.deck.glimpse)

    @on(Input.Changed)
    def _typed(self) -> None:
        self.look(self.deck.glimpse)

    def look(self, glimpse: Glimpse) -> None:
        self.query_one("#told", Told).show(self._question.about(glimpse.state, glimpse.now_ms))
        would = self.query_one("#would", Told)
        try:
            command = self._meant()
        except Mistyped as error:
            would.show([])
            self.problem(str(error))
            return
        found = rehearsed(glimpse.state, command, glimpse.now_ms) if command is not None else None
        self.problem(f"would be refused: {found.refusal}" if found is not None and found.refusal else "")
        would.show([Cell(found.summary, "busy", "would say   ")] if found is not None and found.summary else [])

    def _meant(self) -> Command | None:
        return self._question.meant(self.deck.glimpse.state, self.query_one(Input).value)

    def answer(self) -> Answer:
        try:
            command = self._meant()
        except Mistyped as error:
            self.problem(str(error))
            return None
        if command is None:
            self.problem(f"write {self._question.placeholder}")
            return None
        glimpse = self.deck.glimpse
        return None if rehearsed(glimpse.state, command, glimpse.now_ms).refusal else command
