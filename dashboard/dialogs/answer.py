"""Dialog for answering questions: answers with their meaning, and an editor for an answer that needs an output.

Rule: for a question that somebody else answered meanwhile, the dialog shows by whom and how, and sends nothing.
"""

import json
from collections.abc import Iterable, Sequence

from rich.text import Text
from textual import on
from textual.binding import Binding
from textual.widget import Widget
from textual.widgets import Button, TextArea

from dashboard.clean import clean
from dashboard.deck.deck import is_on_top
from dashboard.dialogs.dialog import Dialog, Told
from dashboard.views import inbox
from dashboard.views.drawing.rows import Cell, Choice, labelled
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

    def __init__(self, *ids: str, said: str | None = None, output: str = "") -> None:
        super().__init__()
        self._ids, self._said, self._output = ids, said, output
        self._opens_editor = bool(output)
        self._kinds: set[str] = set()
        self._alike = False
        self._options: list[str] = []
        self.answered: str | None = None
        """What was answered."""

    @property
    def written(self) -> str:
        """What was written as an output."""
        return self._output

    @property
    def draft_key(self) -> str:
        return f"answer {' '.join(self._ids)}"

    def _open(self) -> list[Escalation]:
        """Return the questions that are still open."""
        return [one for an_id in self._ids if (one := self.state.escalations.get(an_id)) is not None]

    def title_line(self) -> str:
        found = self._open()
        if len(self._ids) > 1:
            return f"One answer to {pluralize(len(self._ids), 'question')}"
        return f"{self._ids[0]}: about {inbox.subject_name(self.state, found[0])}" if found else self._ids[0]

    def inside(self) -> Iterable[Widget]:
        found = self._open()
        self._kinds, self._options = {one.kind for one in found}, inbox.in_common(found)
        yield Told(id="told")
        yield Told(id="meanings")
        self._output = self._output or self.deck.drafts.get(self.draft_key, "")
        yield TextBox(self._output, id="output", tab_behavior="focus", show_line_numbers=False, soft_wrap=True)
        yield Picker("output as", id="as")

    def buttons(self) -> Iterable[Widget]:
        for place, option in enumerate(self._options):
            yield Button(Text(clean(option)), id=f"option-{place}", compact=True)
        yield Button(Text("Back  esc"), id="decline", compact=True)

    def begin(self) -> None:
        self.query_one(Picker).offer(_KINDS)
        self._edit(self._opens_editor or (self._said is not None and self._needs_output(self._said)))
        wanted = self._options.index(self._said) if self._said in self._options else 0
        if self._options:
            self.query_one(f"#option-{wanted}", Button).focus()
        if self._said is not None and self._options and self._said not in self._options:
            self.problem(f"{self._said!r} is not an answer to it; choose one of {', '.join(self._options)}")
        inside = self.query_one("#inside")
        self.watch(inside, "scroll_y", self._note_rest, init=False)
        self.watch(inside, "virtual_size", self._note_rest, init=False)
        self.look(self.deck.view)

    def title_notes(self) -> Sequence[Cell]:
        """Say that a part of the question is below: a person decides on all of it."""
        inside = self.query_one("#inside")
        return [Cell("pgdn shows more", "attention")] if inside.scroll_y < inside.max_scroll_y else []

    def _note_rest(self) -> None:
        self.call_after_refresh(lambda: self.look_at_engine(self.deck.view))

    def _needs_output(self, option: str) -> bool:
        return any((kind, option) in inbox.WITH_OUTPUT for kind in self._kinds)

    def action_answer_alike(self) -> None:
        """Switch between answering all similar questions and this one alone."""
        found = self._open()
        self._alike = (
            not self._alike and len(self._ids) == 1 and bool(found) and len(similar_questions(self.state, found[0])) > 1
        )
        self.look(self.deck.view)

    def action_copy(self) -> None:
        text = self.query_one(TextArea).text
        if text:
            self.app.copy_to_clipboard(text)
            self.problem("what you wrote is copied")

    def action_decline(self) -> None:
        if text := self.query_one(TextArea).text:
            self.deck.drafts[self.draft_key] = text
        super().action_decline()

    def _edit(self, shown: bool) -> None:
        self.query_one("#output").display = shown
        self.query_one(Picker).display = shown

    def look(self, view: ViewState) -> None:
        found = self._open()
        if not found:
            self._show_settled(view)
            return
        self.told("told").show(self._about(view, found))
        chosen, widest = self._chosen(), max([10, *map(len, self._options)]) + 2
        meanings = {option: self._meaning(found, option) for option in self._options}
        shown = [
            Cell(
                f"{means}  (the default)" if all(one.default == option for one in found) else means,
                "strong" if option == chosen else "muted",
                f"{option:<{widest}}",
            )
            for option, means in meanings.items()
        ]
        # Answers of an agent's own mean what they say, which their buttons do too.
        self.told("meanings").display = any(meanings.values())
        self.told("meanings").show(shown)
        if not self._options:
            self.problem("they have no answer in common; mark questions of one kind")

    def _about(self, view: ViewState, found: Sequence[Escalation]) -> list[Cell]:
        if len(self._ids) > 1:
            return inbox.several_lines(view.state, self._ids, view.recent, view.now_ms)
        lines = [*inbox.question_lines(view.state, found[0], view.now_ms)]
        if self._alike:
            others = [one.id for one in similar_questions(view.state, found[0]) if one.id != found[0].id]
            lines.append(labelled("answers", f"{found[0].id}, and with it:", "strong"))
            lines += inbox.several_lines(view.state, others, view.recent, view.now_ms)
        return lines

    def _meaning(self, found: Sequence[Escalation], option: str) -> str:
        told = dict.fromkeys(inbox.MEANINGS.get((one.kind, option), "") for one in found)
        return "; ".join(one for one in told if one)

    def _show_settled(self, view: ViewState) -> None:
        """Show who answered first; nothing can be sent any more."""
        cells = []
        for an_id in self._ids:
            was = inbox.settled(view.recent, an_id)
            told = was.told(view.now_ms) if was is not None else "the question is no longer open"
            cells.append(labelled(an_id, told, "attention"))
        self.told("told").show(cells)
        self.told("meanings").show_any([])
        for button in self.query(Button):
            button.display = button.id == "decline"
        kept = bool(self.query_one(TextArea).text)
        self.query_one(TextArea).read_only = True
        self.query_one(Picker).display = False
        told = (
            "what you wrote was not sent; ctrl+y copies it, esc goes back"
            if kept
            else "nothing was sent; esc goes back"
        )
        self.problem(told)
        if not kept:
            self._edit(False)

    def _chosen(self) -> str | None:
        """Return the answer under the cursor, or the one whose output is in the editor."""
        name = self.focused.id if self.focused is not None else None
        if name is not None and name.startswith("option-"):
            return self._options[int(name.removeprefix("option-"))]
        return self._said

    def on_descendant_focus(self) -> None:
        self.look(self.deck.view)

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        name = event.button.id or ""
        if not name.startswith("option-"):
            return
        event.stop()
        option = self._options[int(name.removeprefix("option-"))]
        if self._needs_output(option) and not self.query_one("#output").display:
            self._said = option
            self._edit(True)
            self.query_one("#output").focus()
            self.problem("")
            return
        self._give(option)

    def action_confirm_output(self) -> None:
        if self.query_one("#output").display and self._said is not None:
            self._give(self._said)

    def _give(self, option: str) -> None:
        found, output = self._open(), None
        if not found:
            self._show_settled(self.deck.view)
            return
        if self._needs_output(option):
            self._output = self.query_one(TextArea).text
            try:
                output = self._value()
            except (ValueError, RecursionError) as error:
                self.problem(f"that is no JSON: {error}")
                return
        if is_on_top(self):
            self.answered = option
            if self._output:
                self.deck.drafts[self.draft_key] = self._output
            first, *others = [one.id for one in found]
            self.dismiss(Answer(escalation=first, answer=option, output=output, also=others, alike=self._alike))

    def _value(self) -> JsonValue:
        value: JsonValue = json.loads(self._output) if self.query_one(Picker).chosen == "json" else self._output
        return value

    def confirm(self) -> None:
        """Enter in the picker answers with the output."""
        self.action_confirm_output()
