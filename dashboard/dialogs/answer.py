"""Dialog for answering questions, one after the other: each answer by its digit, with what it means.

Rules: the focus never begins on an answer, so that enter alone decides nothing. Keys that come within `CALM_S` after
the question has changed are dropped: they were meant for the one before. For a question that was answered meanwhile,
the dialog shows that answer, and sends nothing.
"""

import json
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from rich.text import Text
from textual import events, on
from textual.binding import Binding
from textual.containers import Vertical
from textual.widget import Widget
from textual.widgets import Button, Input, TextArea

from dashboard.clean import clean
from dashboard.deck.live_screen import is_on_top
from dashboard.deck.text_reading import TextReading
from dashboard.dialogs.dialog import Dialog, DialogText
from dashboard.views import inbox
from dashboard.views.answers import DEFAULT_MINUTES, MAX_DIGIT, AnswerChoice, answer_choices
from dashboard.views.drawing.rows import Cell, Choice, labelled_cell
from dashboard.views.facts.last_words import last_words
from dashboard.views.view_state import ViewState
from dashboard.views.words.amounts import pluralize
from dashboard.views.words.parsers import Mistyped, parse_amount
from dashboard.widgets.fields import Picker
from dashboard.widgets.typing import LineInput, TextBox
from engine.core.commands import Answer
from engine.core.queries.people.needs import needs_person
from engine.core.queries.people.questions import REPLY, similar_questions
from engine.core.records.records import JsonValue
from engine.core.state import Escalation

if TYPE_CHECKING:
    from engine.supervisor.client import CommandReply

CALM_S = 0.4
"""How long keys are dropped after the question has changed, in seconds."""
_KINDS = (
    Choice("text", "text", "the text as it is · ctrl+s answers with it"),
    Choice("json", "JSON", "a value, such as a list · ctrl+s answers with it"),
)
OUTPUT_HEIGHT, BESIDE_HEIGHT = 5, 2
"""Lines of the editor: of an output, and beside answers to choose from."""
_INPUT_HEIGHTS = {"#values": 1, "#output": OUTPUT_HEIGHT + 1, "#as": 1, "#typed": 2}
"""Lines of the widgets below the answers."""
_PLACEHOLDERS = {"amount": "2, $0.50, 50k, 10m", "minutes": str(DEFAULT_MINUTES)}


class AnswerDialog(Dialog):
    """Choose one answer for all of the questions; with `send`, then go on to the next question.

    Args:
        ids: Ids of the questions that get one answer.
        initial_option: The answer that has the focus at first.
        output: What is written in the editor at first.
        send: Sends an answer while the dialog stays open for the next question; None closes the dialog with it.
        clock: Returns seconds, for `CALM_S`.
    """

    BINDINGS = [
        Binding("right", "app.focus_next", "next", show=False),
        Binding("left", "app.focus_previous", "previous", show=False),
        Binding("n", "next_question", "next question", show=False),
        Binding("w", "choose_values", "calls with", show=False),
        Binding("ctrl+s", "confirm_output", "answer with it", show=False),
        Binding("ctrl+a", "answer_alike", "answer all that are alike", show=False, priority=True),
        Binding("ctrl+y", "copy", "copy what was written", show=False, priority=True),
        *(Binding(f"{digit}", f"choose({digit})", show=False) for digit in range(1, MAX_DIGIT + 1)),
    ]

    def __init__(
        self,
        *ids: str,
        initial_option: str | None = None,
        output: str = "",
        send: Callable[[Answer], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self._ids, self._initial_option, self._output = ids, initial_option, output
        self._send, self._clock = send, clock
        self._changed_s = -CALM_S
        self._answered_ids: set[str] = set()
        self._last_line = ""
        """What became of the question before."""
        self._typed: AnswerChoice | None = None
        """The answer whose input is shown."""
        self._alike = False
        self._choices: list[AnswerChoice] = []
        self._reading = TextReading(self._show_again)
        self.answered: str | None = None
        """The answer that was sent last."""

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

    def _waiting_ids(self) -> list[str]:
        """Return the open questions that were not answered here, the most important first."""
        escalations = self.state.escalations
        return [need for need in needs_person(self.state) if need in escalations and need not in self._answered_ids]

    def title_line(self) -> str:
        escalations = self._open()
        if len(self._ids) > 1:
            return f"One answer to {pluralize(len(self._ids), 'question')}"
        if not escalations:
            return self._ids[0]
        return f"{self._ids[0]}: about {inbox.subject_name(self.state, escalations[0])}"

    def title_notes(self) -> Sequence[Cell]:
        """Return how many more wait, and a note while a part of the question is hidden: a person decides on all."""
        inside = self.query_one("#inside")
        more = len([an_id for an_id in self._waiting_ids() if an_id not in self._ids]) if self._send is not None else 0
        notes = [Cell(f"{more} more · n next", "muted")] if more else []
        return [Cell("pgdn shows more", "attention"), *notes] if inside.scroll_y < inside.max_scroll_y else notes

    def compose_body(self) -> Iterable[Widget]:
        yield DialogText(id="details")

    def compose_below(self) -> Iterable[Widget]:
        yield Vertical(id="choices")
        yield Picker("w calls with", id="values")
        yield TextBox("", id="output", tab_behavior="focus", show_line_numbers=False, soft_wrap=True)
        yield Picker("output as", id="as")
        yield LineInput(id="typed")

    def buttons(self) -> Iterable[Widget]:
        yield Button(Text("Back  esc"), id="decline", compact=True)

    def begin(self) -> None:
        self.query_one("#as", Picker).offer(_KINDS)
        self._show_question()
        inside = self.query_one("#inside")
        self.watch(inside, "scroll_y", self._note_rest, init=False)
        self.watch(inside, "virtual_size", self._note_rest, init=False)

    def _show_question(self) -> None:
        """Set up answers, inputs and focus for the present questions."""
        self._choices, self._typed, self._alike = answer_choices(self._open()), None, False
        self._output = self._output or self.deck.drafts.get(self.draft_key, "")
        self.query_one(TextArea).text = self._output
        self.query_one("#values", Picker).offer(self._value_choices())
        self.query_one("#values").display = len(self._value_choices()) > 1
        options = [choice.answer for choice in self._choices]
        initial = options.index(self._initial_option) if self._initial_option in options else None
        typed = next((choice for choice in self._choices if choice.answer == REPLY and choice.needs == "text"), None)
        if initial is not None and self._choices[initial].needs:
            typed = self._choices[initial]
        elif self._output:
            typed = typed or next((choice for choice in self._choices if choice.needs in ("text", "json")), None)
        self._show_input(typed)
        self.query_one("#choices", Vertical).remove_children()
        self.call_later(self._mount_choices, initial)
        self.show_problem("")
        self.update_view(self.deck.view)
        if self._initial_option is not None and self._choices and initial is None:
            known = ", ".join(dict.fromkeys(options))
            self.show_problem(f"{self._initial_option!r} is not an answer to it; choose one of {known}")

    async def _mount_choices(self, initial: int | None) -> None:
        """Show the present answers as buttons, in lines, and set the focus once old keys are gone."""
        container = self.query_one("#choices", Vertical)
        await container.remove_children()
        widest = max((len(choice.label) for choice in self._choices), default=0) + 2
        await container.mount(
            *(
                Button(_button_text(place, choice, widest), id=f"option-{place - 1}", compact=True)
                for place, choice in enumerate(self._choices, 1)
            )
        )
        container.display = bool(self._choices)
        self._fit_height()
        if self._is_calm():
            self._set_focus(initial)
        else:
            self.set_focus(None)
            self.set_timer(CALM_S, lambda: self._set_focus(initial) if self.focused is None else None)

    def _set_focus(self, initial: int | None) -> None:
        """Focus the answer that the person has named, a text that has to be written, else what changes nothing."""
        if self._typed is not None and (len(self._choices) == 1 or initial is not None or self._output):
            self.query_one("#typed" if self._typed.needs in _PLACEHOLDERS else "#output").focus()
        elif initial is not None:
            self.query_one(f"#option-{initial}", Button).focus()
        else:
            self.query_one("#decline", Button).focus()

    def _is_calm(self) -> bool:
        """Return whether keys are meant for the question that is shown."""
        return self._clock() - self._changed_s >= CALM_S

    def _value_choices(self) -> list[Choice]:
        """Return the argument values to which an answer for later calls can be limited."""
        arguments = [question.detail.get("arguments") for question in self._open()]
        if not any(choice.gives_grant for choice in self._choices) or not arguments:
            return []
        names = [
            name
            for name in (arguments[0] if isinstance(arguments[0], dict) else ())
            if all(isinstance(values, dict) and name in values for values in arguments)
        ]
        choices = [Choice("", "any values", "what an answer for later calls is about")] if names else []
        choices += [Choice(json.dumps([name]), f"this {name}", "later calls with the same value") for name in names]
        if len(names) > 1:
            choices.append(Choice(json.dumps(names), "all these values", "later calls with the same arguments"))
        return choices

    def _fit_height(self) -> None:
        """Leave room for the answers and their inputs below the text."""
        super()._fit_height()
        below = len(self._choices) + sum(
            height for name, height in _INPUT_HEIGHTS.items() if self.query_one(name).display
        )
        inside = self.query_one("#inside")
        if (limit := inside.styles.max_height) is not None:
            inside.styles.max_height = max(3, int(limit.value) - below - 1)

    def _note_rest(self) -> None:
        self.call_after_refresh(lambda: self.update_engine(self.deck.view))

    def _show_again(self) -> None:
        if self.is_attached and self.has_begun:
            self.update_view(self.deck.view)

    def _show_input(self, choice: AnswerChoice | None) -> None:
        """Show the input that an answer needs."""
        self._typed = choice
        needs = choice.needs if choice is not None else ""
        output = self.query_one("#output")
        output.display = needs in ("text", "json")
        output.styles.height = BESIDE_HEIGHT if len(self._choices) > 1 and needs == "text" else OUTPUT_HEIGHT
        self.query_one("#as").display = needs == "json"
        line = self.query_one("#typed", LineInput)
        line.display = needs in _PLACEHOLDERS
        line.placeholder = f"{needs}, such as {_PLACEHOLDERS.get(needs, '')}"
        self._fit_height()

    def update_view(self, view: ViewState) -> None:
        escalations = self._open()
        if not escalations:
            self._show_settled(view)
            return
        self.text_of("details").show(self._question_cells(view, escalations))
        if not self._choices:
            self.show_problem("they have no answer in common; mark questions of one kind")
        self.update_engine(view)

    def _question_cells(self, view: ViewState, escalations: Sequence[Escalation]) -> list[Cell]:
        before = [Cell(self._last_line, "muted")] if self._last_line else []
        if len(self._ids) > 1:
            return [*before, *inbox.several_lines(view.state, self._ids, view.recent, view.now_ms)]
        self._reading.texts.begin_redraw()
        said = last_words(view.state.tasks.get(escalations[0].subject), view.live, self._reading.texts)
        self._reading.read_missing(self.deck.background)
        lines = [*before, *inbox.question_lines(view.state, escalations[0], view.now_ms, said)]
        if self._alike:
            others = [
                escalation.id
                for escalation in similar_questions(view.state, escalations[0])
                if escalation.id != escalations[0].id
            ]
            lines.append(labelled_cell("answers", f"{escalations[0].id}, and with it:", "strong"))
            lines += inbox.several_lines(view.state, others, view.recent, view.now_ms)
        return lines

    def _show_settled(self, view: ViewState) -> None:
        """Show the answer that was first; nothing can be sent any more."""
        cells = []
        for an_id in self._ids:
            was = inbox.find_settled(view.recent, an_id)
            text = was.describe(view.now_ms) if was is not None else "the question is no longer open"
            cells.append(labelled_cell(an_id, text, "attention"))
        self.text_of("details").show(cells)
        for name in ("#choices", "#as", "#values", "#typed"):
            self.query_one(name).display = False
        has_text = bool(self.query_one(TextArea).text)
        self.query_one(TextArea).read_only = True
        following = "; n shows the next question" if self._send is not None and self._waiting_ids() else ""
        if has_text:
            self.show_problem(f"what you wrote was not sent; ctrl+y copies it, esc goes back{following}")
        else:
            self.show_problem(f"nothing was sent; esc goes back{following}")
            self.query_one("#output").display = False

    def action_next_question(self) -> None:
        """Leave this question open, and show the next one."""
        if self._send is not None and self._is_calm():
            self._go_on()

    def _go_on(self) -> None:
        """Show the question after the present one; close the dialog after the last."""
        waiting, present = self._waiting_ids(), self._ids[0]
        others = [an_id for an_id in waiting if an_id != present]
        if not others:
            if not self._open() or present in self._answered_ids:
                self.dismiss(None)
            return
        order = needs_person(self.state)
        place = order.index(present) if present in order else -1
        self._keep_draft()
        self._show_other(next((an_id for an_id in order[place + 1 :] if an_id in others), others[0]))

    def _show_other(self, question_id: str) -> None:
        """Show another question, and drop the keys that were meant for this one."""
        self._ids, self._initial_option, self._output = (question_id,), None, ""
        self._changed_s = self._clock()
        self.set_focus(None)
        self.query_one(TextArea).read_only = False
        self.query_one("#typed", LineInput).value = ""
        self.query_one("#inside").scroll_home(animate=False)
        self._title = [Cell(self.title_line(), "strong")]
        self._show_question()

    def action_answer_alike(self) -> None:
        """Switch between one answer for all similar questions and one for this question alone."""
        escalations = self._open()
        is_possible = len(self._ids) == 1 and bool(escalations)
        self._alike = not self._alike and is_possible and len(similar_questions(self.state, escalations[0])) > 1
        self.update_view(self.deck.view)

    def action_choose_values(self) -> None:
        """Limit answers for later calls to the next values."""
        if self.query_one("#values").display and self._is_calm():
            self.query_one("#values", Picker).action_choose(1)

    def action_copy(self) -> None:
        text = self.query_one(TextArea).text
        if text:
            self.app.copy_to_clipboard(text)
            self.show_problem("what you wrote is copied")

    def action_decline(self) -> None:
        self._keep_draft()
        super().action_decline()

    def _keep_draft(self) -> None:
        if text := self.query_one(TextArea).text:
            self.deck.drafts[self.draft_key] = text

    def action_choose(self, digit: int) -> None:
        """Give the answer with a digit."""
        if digit <= len(self._choices) and self._open() and self._is_calm():
            self._choose(self._choices[digit - 1])

    @on(Button.Pressed)
    def _press(self, event: Button.Pressed) -> None:
        name = event.button.id or ""
        if not self._is_calm():
            event.stop()
            event.prevent_default()
        elif name.startswith("option-"):
            event.stop()
            self._choose(self._choices[int(name.removeprefix("option-"))])

    def _choose(self, choice: AnswerChoice) -> None:
        """Send an answer, or show the input that it needs first."""
        if choice.needs and (self._typed is not choice or not self._has_input(choice)):
            self._show_input(choice)
            self.query_one("#typed" if choice.needs in _PLACEHOLDERS else "#output").focus()
            self.show_problem("")
            return
        self._send_answer(choice)

    def _has_input(self, choice: AnswerChoice) -> bool:
        if choice.needs in _PLACEHOLDERS:
            return choice.needs == "minutes" or bool(self.query_one("#typed", LineInput).value.strip())
        return bool(self.query_one(TextArea).text)

    def action_confirm_output(self) -> None:
        if self._typed is not None and self._is_calm():
            self._send_answer(self._typed)

    @on(events.Key)
    def _drop_early_key(self, event: events.Key) -> None:
        """Drop a key that was meant for the question before; escape always works."""
        if event.key != "escape" and not self._is_calm():
            event.stop()
            event.prevent_default()

    def _send_answer(self, choice: AnswerChoice) -> None:
        escalations = self._open()
        if not escalations:
            self._show_settled(self.deck.view)
            return
        try:
            command = self._make_command(choice, escalations)
        except Mistyped as error:
            self.show_problem(str(error))
            return
        except (ValueError, RecursionError) as error:
            self.show_problem(f"that is no JSON: {error}")
            return
        if not is_on_top(self):
            return
        self.answered = choice.answer
        if self._output:
            self.deck.drafts[self.draft_key] = self._output
        if self._send is None or len(self._ids) > 1:
            self.dismiss(command)
            return
        self._send(command)
        self._answered_ids.update(escalation.id for escalation in escalations)
        if self._alike:
            self._answered_ids.update(other.id for other in similar_questions(self.state, escalations[0]))
        self._last_line = f"{self._ids[0]} was answered: {choice.label}"
        self.query_one(TextArea).text = ""
        self._go_on()

    def _make_command(self, choice: AnswerChoice, escalations: Sequence[Escalation]) -> Answer:
        """Return the command of an answer with its input; raises ValueError, Mistyped."""
        typed = self.query_one("#typed", LineInput).value.strip()
        self._output = self.query_one(TextArea).text if choice.needs in ("text", "json") else ""
        output: JsonValue = None
        if choice.needs in ("text", "json"):
            is_json = choice.needs == "json" and self.query_one("#as", Picker).chosen == "json"
            output = json.loads(self._output) if is_json else self._output
        values = self.query_one("#values", Picker)
        where = json.loads(values.chosen or "[]") if choice.gives_grant and values.display else []
        first, *others = [escalation.id for escalation in escalations]
        return Answer(
            escalation=first,
            answer=choice.answer,
            output=output,
            also=others,
            alike=self._alike,
            amount=parse_amount(typed) if choice.needs == "amount" else None,
            minutes=_parse_minutes(typed) if choice.needs == "minutes" else None,
            scope=choice.scope,
            where=where,
        )

    @on(Input.Submitted, "#typed")
    def _confirm_typed(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_confirm_output()

    def confirm(self) -> None:
        """Answer with the output; called by enter in the picker."""
        self.action_confirm_output()

    def handle_answer(self, command: Answer, outcome: "CommandReply") -> None:
        """Delete the draft of an answer unless it was refused; say why, also while another question is shown."""
        key = f"answer {' '.join([command.escalation, *command.also])}"
        if outcome.status == "applied":
            self.deck.drafts.pop(key, None)
        if outcome.status != "refused":
            return
        kept = "; the text is kept" if key in self.deck.drafts else ""
        text = f"refused: {outcome.reason or 'no reason given'}{kept}"
        if self.is_current:
            self._answered_ids.discard(command.escalation)
            self._last_line = ""
            if kept and not self.query_one(TextArea).text:
                self._show_other(command.escalation)
            self.show_problem(f"{command.escalation} {text}")
        elif kept:
            self.deck.messages.say(text, "error")


def _parse_minutes(text: str) -> float:
    try:
        minutes = float(text or DEFAULT_MINUTES)
    except ValueError:
        minutes = 0
    if not 0 < minutes <= 525_600:
        raise Mistyped(f"{text!r} is not a number of minutes; write 10, or nothing for {DEFAULT_MINUTES}")
    return minutes


def _button_text(place: int, choice: AnswerChoice, widest: int) -> Text:
    digit = f"{place}" if place <= MAX_DIGIT else " "
    default = "  (the default)" if choice.is_default else ""
    label, meaning = clean(choice.label), clean(f"{choice.meaning}{default}".strip())
    return Text.assemble(f"{digit}  ", (f"{label:<{widest}}" if meaning else label, "bold"), meaning, no_wrap=True)
