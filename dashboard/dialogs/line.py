"""A dialog of one line: the input is parsed while it is typed, and its effect is shown below."""

from collections.abc import Iterable

from textual.widget import Widget
from textual.widgets import Input

from dashboard.dialogs.dialog import Answer, Dialog, DialogText
from dashboard.views.changes.targets import target_of
from dashboard.views.view_state import ViewState
from dashboard.views.words.parsers import LineQuestion, Mistyped
from dashboard.widgets.typing import LineInput


class LineDialog(Dialog):
    """Ask for a `LineQuestion`."""

    def __init__(self, line: LineQuestion, subject_id: str, text: str = "") -> None:
        super().__init__()
        self._line, self._subject_id, self._text = line, subject_id, text

    def title_line(self) -> str:
        target = target_of(self.state, self._subject_id)
        return self._line.title.format(target.title if target is not None else self._subject_id)

    def button_label(self) -> str:
        return self._line.does

    @property
    def draft_key(self) -> str:
        return f"{self._line.title} {self._subject_id}"

    @property
    def draft_text(self) -> str:
        return self.query_one(Input).value if self._line.keeps else ""

    def compose_body(self) -> Iterable[Widget]:
        yield DialogText(id="details")
        text = self._text or self.deck.drafts.get(self.draft_key, "")
        yield LineInput(text, placeholder=self._line.placeholder, id="line", select_on_focus=False)
        yield DialogText(id="would")

    def begin(self) -> None:
        self.query_one(Input).focus()
        self.update_view(self.deck.view)

    def update_view(self, view: ViewState) -> None:
        self.text_of("details").show(self._line.about(view.state, self._subject_id, view.now_ms))
        self.text_of("would").show([])
        try:
            command = self._line.command(self._subject_id, self.query_one(Input).value, view.now_ms)
        except Mistyped as error:
            self.show_problem(str(error))
            return
        self.show_problem("")
        if command is not None:
            self.rehearse(command)

    def build_command(self) -> Answer:
        command = self._line.command(self._subject_id, self.query_one(Input).value, self.deck.view.now_ms)
        if command is None:
            raise Mistyped(f"write {self._line.placeholder}")
        return command
