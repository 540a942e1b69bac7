"""Answering a question: its answers as buttons, each with what it means; an editor where one needs an output."""

import json
from collections.abc import Iterable

from rich.text import Text
from textual import on
from textual.binding import Binding
from textual.widget import Widget
from textual.widgets import Button, TextArea

from dashboard.clean import clean
from dashboard.dialogs.dialog import Dialog, Told
from dashboard.views.header import Glimpse
from dashboard.views.inbox import MEANINGS, WITH_OUTPUT, question_lines, subject_name
from dashboard.views.rows import Cell, Choice, labelled
from dashboard.widgets.fields import Picker
from engine.core.commands import Answer
from engine.core.fact import JsonValue
from engine.core.queries.questions import alike

_KINDS = (
    Choice("text", "text", "as it stands · ctrl+s answers with it"),
    Choice("json", "JSON", "a value, such as a list · ctrl+s answers with it"),
)


class AnswerDialog(Dialog):
    """Choose an answer; the one that would come by itself is marked."""

    BINDINGS = [
        Binding("right", "app.focus_next", "next", show=False),
        Binding("left", "app.focus_previous", "previous", show=False),
        Binding("ctrl+s", "confirm_output", "answer with it", show=False),
        Binding("ctrl+a", "answer_alike", "answer all that are alike", show=False, priority=True),
    ]

    def __init__(self, escalation_id: str, said: str | None = None, output: str = "") -> None:
        super().__init__()
        self._escalation_id, self._said, self._output = escalation_id, said, output
        self._kind = ""
        self._alike = False
        self._options: list[str] = []

    def title_line(self) -> str:
        state = self.state
        asked = state.escalations.get(self._escalation_id)
        return (
            f"{self._escalation_id}: about {subject_name(state, asked)}" if asked is not None else self._escalation_id
        )

    def inside(self) -> Iterable[Widget]:
        asked = self.state.escalations.get(self._escalation_id)
        if asked is not None:
            self._kind, self._options = asked.kind, list(asked.options)
        yield Told(id="told")
        yield Told(id="meanings")
        yield TextArea(self._output, id="output", tab_behavior="focus", show_line_numbers=False, soft_wrap=True)
        yield Picker("output as", id="as")

    def buttons(self) -> Iterable[Widget]:
        for place, option in enumerate(self._options):
            yield Button(Text(clean(option)), id=f"option-{place}", compact=True)
        yield Button(Text("Back  esc"), id="decline", compact=True)

    def begin(self) -> None:
        self.query_one(Picker).offer(_KINDS)
        self._edit(self._said is not None and (self._kind, self._said) in WITH_OUTPUT)
        wanted = self._options.index(self._said) if self._said in self._options else 0
        if self._options:
            self.query_one(f"#option-{wanted}", Button).focus()
        if self._said is not None and self._said not in self._options:
            self.problem(f"{self._said!r} is no answer to it; say one of {', '.join(self._options)}")
        self.look(self.deck.glimpse)

    def action_answer_alike(self) -> None:
        """Give the answer to all questions that are alike, or to this one again."""
        asked = self.state.escalations.get(self._escalation_id)
        self._alike = not self._alike and asked is not None and len(alike(self.state, asked)) > 1
        self.look(self.deck.glimpse)

    def _edit(self, shown: bool) -> None:
        self.query_one("#output").display = shown
        self.query_one(Picker).display = shown

    def look(self, glimpse: Glimpse) -> None:
        asked = glimpse.state.escalations.get(self._escalation_id)
        if asked is None:
            self.problem("it was answered meanwhile; esc goes back")
            return
        lines = [*question_lines(glimpse.state, asked, glimpse.now_ms)]
        if self._alike:
            lines.append(labelled("answers", ", ".join(one.id for one in alike(glimpse.state, asked)), "strong"))
        self.told("told").show(lines)
        chosen = self._chosen()
        meanings = [
            Cell(
                MEANINGS.get((asked.kind, option), "") + ("  (the default)" if option == asked.default else ""),
                "strong" if option == chosen else "muted",
                f"{option:<12}",
            )
            for place, option in enumerate(asked.options)
        ]
        self.told("meanings").show(meanings)

    def _chosen(self) -> str | None:
        """Return the answer under the cursor, or the one whose output is being written."""
        name = self.focused.id if self.focused is not None else None
        if name is not None and name.startswith("option-"):
            return self._options[int(name.removeprefix("option-"))]
        return self._said

    def on_descendant_focus(self) -> None:
        self.look(self.deck.glimpse)

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        name = event.button.id or ""
        if not name.startswith("option-"):
            return
        event.stop()
        option = self._options[int(name.removeprefix("option-"))]
        if (self._kind, option) in WITH_OUTPUT and not self.query_one("#output").display:
            self._said = option
            self._edit(True)
            self.query_one("#output").focus()
            self.problem("")
            return
        self._give(option)

    def action_confirm_output(self) -> None:
        """Answer with what stands in the editor."""
        if self.query_one("#output").display and self._said is not None:
            self._give(self._said)

    def _give(self, option: str) -> None:
        output: JsonValue = None
        if (self._kind, option) in WITH_OUTPUT:
            output = self.query_one(TextArea).text
            if self.query_one(Picker).chosen == "json":
                try:
                    output = json.loads(output)
                except ValueError as error:
                    self.problem(f"that is no JSON: {error}")
                    return
        if self.is_current:
            self.dismiss(Answer(escalation=self._escalation_id, answer=option, output=output, alike=self._alike))

    def confirm(self) -> None:
        """Enter in the picker answers with the output."""
        self.action_confirm_output()
