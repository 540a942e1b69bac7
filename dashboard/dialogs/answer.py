"""Dialog for answering questions: answers with their meaning, and an editor for an answer that needs an output.

Rule: for a question that was answered meanwhile, the dialog shows that answer, and sends nothing.
"""

import json
from collections.abc import Iterable, Sequence

from rich.text import Text
from textual import on
from textual.binding import Binding
from textual.widget import Widget
from textual.widgets import Button, TextArea

from dashboard.clean import clean
from dashboard.deck.live_screen import is_on_top
from dashboard.dialogs.dialog import Dialog, DialogText
from dashboard.views import inbox
from dashboard.views.drawing.rows import Cell, Choice, labelled_cell
from dashboard.views.view_state import ViewState
from dashboard.views.words.amounts import pluralize
from dashboard.widgets.fields import Picker
from dashboard.widgets.typing import TextBox
from engine.core.commands import Answer
from engine.core.queries.people.questions import similar_questions
from engine.core.records.records import JsonValue
from engine.core.state import Escalation

_KINDS = (
    Choice("text", "text", "the text as it is · ctrl+s answers with it"),
    Choice("json", "JSON", "a value, such as a list · ctrl+s answers with it"),
)


class AnswerDialog(Dialog):
    """Choose one answer for all of the questions; the default is marked."""

    BINDINGS = [
        Binding("right", "app.focus_next", "next", show=False),
        Binding("left", "app.focus_previous", "previous", show=False),
        Binding("ctrl+s", "confirm_output", "answer with it", show=False),
        Binding("ctrl+a", "answer_alike", "answer all that are alike", show=False, priority=True),
        Binding("ctrl+y", "copy", "copy what was written", show=False, priority=True),
    ]

    def __init__(self, *ids: str, initial_option: str | None = None, output: str = "") -> None:
        super().__init__()
        self._ids, self._initial_option, self._output = ids, initial_option, output
        self._opens_editor = bool(output)
        self._kinds: set[str] = set()
        self._alike = False
        self._options: list[str] = []
        self.answered: str | None = None
        """The answer that was sent."""

    @property
    def draft_text(self) -> str:
        """The output that was typed."""
        return self._output

    @property
    def draft_key(self) -> str:
        return f"answer {' '.join(self._ids)}"

    def _open(self) -> list[Escalation]:
        """Return the questions that are still open."""
        return [escalation for an_id in self._ids if (escalation := self.state.escalations.get(an_id)) is not None]

    def title_line(self) -> str:
        escalations = self._open()
        if len(self._ids) > 1:
            return f"One answer to {pluralize(len(self._ids), 'question')}"
        if not escalations:
            return self._ids[0]
        return f"{self._ids[0]}: about {inbox.subject_name(self.state, escalations[0])}"

    def compose_body(self) -> Iterable[Widget]:
        escalations = self._open()
        self._kinds, self._options = {escalation.kind for escalation in escalations}, inbox.common_answers(escalations)
        yield DialogText(id="details")
        yield DialogText(id="meanings")
        self._output = self._output or self.deck.drafts.get(self.draft_key, "")
        yield TextBox(self._output, id="output", tab_behavior="focus", show_line_numbers=False, soft_wrap=True)
        yield Picker("output as", id="as")

    def buttons(self) -> Iterable[Widget]:
        for index, option in enumerate(self._options):
            yield Button(Text(clean(option)), id=f"option-{index}", compact=True)
        yield Button(Text("Back  esc"), id="decline", compact=True)

    def begin(self) -> None:
        self.query_one(Picker).offer(_KINDS)
        needs_output = self._initial_option is not None and self._needs_output(self._initial_option)
        self._edit(self._opens_editor or needs_output)
        index = self._options.index(self._initial_option) if self._initial_option in self._options else 0
        if self._options:
            self.query_one(f"#option-{index}", Button).focus()
        if self._initial_option is not None and self._options and self._initial_option not in self._options:
            self.show_problem(
                f"{self._initial_option!r} is not an answer to it; choose one of {', '.join(self._options)}"
            )
        inside = self.query_one("#inside")
        self.watch(inside, "scroll_y", self._note_rest, init=False)
        self.watch(inside, "virtual_size", self._note_rest, init=False)
        self.update_view(self.deck.view)

    def title_notes(self) -> Sequence[Cell]:
        """Return a note while a part of the question is not visible, because a person decides on all of it."""
        inside = self.query_one("#inside")
        return [Cell("pgdn shows more", "attention")] if inside.scroll_y < inside.max_scroll_y else []

    def _note_rest(self) -> None:
        self.call_after_refresh(lambda: self.update_engine(self.deck.view))

    def _needs_output(self, option: str) -> bool:
        return any((kind, option) in inbox.WITH_OUTPUT for kind in self._kinds)

    def action_answer_alike(self) -> None:
        """Switch between one answer for all similar questions and one for this question alone."""
        escalations = self._open()
        is_possible = len(self._ids) == 1 and bool(escalations)
        self._alike = not self._alike and is_possible and len(similar_questions(self.state, escalations[0])) > 1
        self.update_view(self.deck.view)

    def action_copy(self) -> None:
        text = self.query_one(TextArea).text
        if text:
            self.app.copy_to_clipboard(text)
            self.show_problem("what you wrote is copied")

    def action_decline(self) -> None:
        if text := self.query_one(TextArea).text:
            self.deck.drafts[self.draft_key] = text
        super().action_decline()

    def _edit(self, visible: bool) -> None:
        self.query_one("#output").display = visible
        self.query_one(Picker).display = visible

    def update_view(self, view: ViewState) -> None:
        escalations = self._open()
        if not escalations:
            self._show_settled(view)
            return
        self.text_of("details").show(self._question_cells(view, escalations))
        chosen, widest = self._find_answer(), max([10, *map(len, self._options)]) + 2
        meanings = {option: self._meaning(escalations, option) for option in self._options}
        cells = [
            Cell(
                f"{means}  (the default)" if all(escalation.default == option for escalation in escalations) else means,
                "strong" if option == chosen else "muted",
                f"{option:<{widest}}",
            )
            for option, means in meanings.items()
        ]
        # Options that an agent defined have no other meaning than their buttons.
        self.text_of("meanings").display = any(meanings.values())
        self.text_of("meanings").show(cells)
        if not self._options:
            self.show_problem("they have no answer in common; mark questions of one kind")

    def _question_cells(self, view: ViewState, escalations: Sequence[Escalation]) -> list[Cell]:
        if len(self._ids) > 1:
            return inbox.several_lines(view.state, self._ids, view.recent, view.now_ms)
        lines = [*inbox.question_lines(view.state, escalations[0], view.now_ms)]
        if self._alike:
            others = [
                escalation.id
                for escalation in similar_questions(view.state, escalations[0])
                if escalation.id != escalations[0].id
            ]
            lines.append(labelled_cell("answers", f"{escalations[0].id}, and with it:", "strong"))
            lines += inbox.several_lines(view.state, others, view.recent, view.now_ms)
        return lines

    def _meaning(self, escalations: Sequence[Escalation], option: str) -> str:
        meanings = dict.fromkeys(inbox.MEANINGS.get((escalation.kind, option), "") for escalation in escalations)
        return "; ".join(meaning for meaning in meanings if meaning)

    def _show_settled(self, view: ViewState) -> None:
        """Show the answer that was first; nothing can be sent any more."""
        cells = []
        for an_id in self._ids:
            was = inbox.find_settled(view.recent, an_id)
            text = was.describe(view.now_ms) if was is not None else "the question is no longer open"
            cells.append(labelled_cell(an_id, text, "attention"))
        self.text_of("details").show(cells)
        self.text_of("meanings").show_any([])
        for button in self.query(Button):
            button.display = button.id == "decline"
        has_text = bool(self.query_one(TextArea).text)
        self.query_one(TextArea).read_only = True
        self.query_one(Picker).display = False
        if has_text:
            self.show_problem("what you wrote was not sent; ctrl+y copies it, esc goes back")
        else:
            self.show_problem("nothing was sent; esc goes back")
            self._edit(False)

    def _find_answer(self) -> str | None:
        """Return the answer under the cursor, or the one whose output is in the editor."""
        name = self.focused.id if self.focused is not None else None
        if name is not None and name.startswith("option-"):
            return self._options[int(name.removeprefix("option-"))]
        return self._initial_option

    def on_descendant_focus(self) -> None:
        self.update_view(self.deck.view)

    @on(Button.Pressed)
    def _choose_option(self, event: Button.Pressed) -> None:
        name = event.button.id or ""
        if not name.startswith("option-"):
            return
        event.stop()
        option = self._options[int(name.removeprefix("option-"))]
        if self._needs_output(option) and not self.query_one("#output").display:
            self._initial_option = option
            self._edit(True)
            self.query_one("#output").focus()
            self.show_problem("")
            return
        self._send_answer(option)

    def action_confirm_output(self) -> None:
        if self.query_one("#output").display and self._initial_option is not None:
            self._send_answer(self._initial_option)

    def _send_answer(self, option: str) -> None:
        escalations, output = self._open(), None
        if not escalations:
            self._show_settled(self.deck.view)
            return
        if self._needs_output(option):
            self._output = self.query_one(TextArea).text
            try:
                output = self._value()
            except (ValueError, RecursionError) as error:
                self.show_problem(f"that is no JSON: {error}")
                return
        if is_on_top(self):
            self.answered = option
            if self._output:
                self.deck.drafts[self.draft_key] = self._output
            first, *others = [escalation.id for escalation in escalations]
            self.dismiss(Answer(escalation=first, answer=option, output=output, also=others, alike=self._alike))

    def _value(self) -> JsonValue:
        value: JsonValue = json.loads(self._output) if self.query_one(Picker).chosen == "json" else self._output
        return value

    def confirm(self) -> None:
        """Answer with the output; called by enter in the picker."""
        self.action_confirm_output()
