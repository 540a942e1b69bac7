"""Dialog for answering questions, one after the other: each answer by its digit, with what it means.

Of marked questions those that are alike get one answer, and the dialog closes after the last of them. Without marks it
goes through all that are open.

Rules: the focus never begins on an answer, so that enter alone decides nothing. Keys that come within `CALM_S` after
the question has changed are dropped: they were meant for the one before. For a question that was answered meanwhile,
the dialog shows that answer, and sends nothing.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from rich.text import Text
from textual import events, on
from textual.binding import Binding
from textual.widget import Widget
from textual.widgets import Button

from dashboard.deck.live_screen import is_on_top
from dashboard.deck.text_reading import TextReading
from dashboard.dialogs.answer_inputs import AnswerInputs
from dashboard.dialogs.code_consent import CodeConsent
from dashboard.dialogs.dialog import Dialog
from dashboard.views import inbox
from dashboard.views.answers import MAX_DIGIT, AnswerChoice, answer_choices
from dashboard.views.drawing.rows import Cell, labelled_cell
from dashboard.views.facts.last_words import last_words
from dashboard.views.view_state import ViewState
from dashboard.views.words.amounts import pluralize
from dashboard.views.words.parsers import Mistyped
from engine.core.commands import Answer
from engine.core.queries.people.needs import needs_person
from engine.core.queries.people.questions import REPLY, similar_questions
from engine.core.state import Escalation, State

if TYPE_CHECKING:
    from engine.supervisor.client import CommandReply

CALM_S = 0.4
"""How long keys are dropped after the question has changed, in seconds."""


class QuestionOrder:
    """Which questions are next, and whether keys are meant for those that are shown.

    Args:
        clock: Returns seconds.
        marked_ids: The questions to go through; empty for all that are open.
    """

    def __init__(self, clock: Callable[[], float], marked_ids: Sequence[str]) -> None:
        self.answered_ids: set[str] = set()
        self._clock, self._changed_s, self._marked_ids = clock, -CALM_S, marked_ids

    @property
    def is_calm(self) -> bool:
        """Whether the question has been shown long enough for a key to be meant for it."""
        return self._clock() - self._changed_s >= CALM_S

    def note_change(self) -> None:
        """Note that another question is shown."""
        self._changed_s = self._clock()

    def waiting(self, state: State, *, besides: Sequence[str]) -> list[str]:
        """Return the open questions that were not answered here, the most important first."""
        skipped, chosen = {*self.answered_ids, *besides}, self._marked_ids or state.escalations
        return [
            need for need in needs_person(state) if need in state.escalations.keys() & chosen and need not in skipped
        ]

    def after(self, state: State, present_ids: Sequence[str]) -> Sequence[str]:
        """Return the next question with those that share its answer; after the last the first, empty without any."""
        waiting, order = self.waiting(state, besides=present_ids), needs_person(state)
        place = order.index(present_ids[0]) if present_ids[0] in order else -1
        following = next((an_id for an_id in order[place + 1 :] if an_id in waiting), waiting[0] if waiting else None)
        return self.with_alike(state, following) if following is not None else ()

    def with_alike(self, state: State, question_id: str) -> Sequence[str]:
        """Return a question with the marked ones that are alike, which get one answer."""
        question = state.escalations.get(question_id)
        alike = {other.id for other in similar_questions(state, question)} if question is not None else set()
        others = [an_id for an_id in self._marked_ids if an_id in alike - self.answered_ids - {question_id}]
        return [question_id, *others]


class AnswerDialog(Dialog):
    """Answer questions, those that are alike together; with `send`, one after the other.

    Args:
        ids: Without `send`, the questions that get one answer; else the question to begin with, or those to go through.
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
        self._send, self._order = send, QuestionOrder(clock, ids if len(ids) > 1 else ())
        self._last_line = ""
        """What became of the question before."""
        self._alike = False
        self._consent = CodeConsent("the same answer")
        self._reading = TextReading(lambda: self.update_view(self.deck.view) if self.is_attached else None)

    @property
    def draft_key(self) -> str:
        return f"answer {' '.join(self._ids)}"

    @property
    def _inputs(self) -> AnswerInputs:
        return self.query_one(AnswerInputs)

    def _open(self) -> list[Escalation]:
        """Return the questions that are still open."""
        return [escalation for an_id in self._ids if (escalation := self.state.escalations.get(an_id)) is not None]

    def title_line(self) -> str:
        escalations = self._open()
        if len(self._ids) > 1:
            return f"One answer to {pluralize(len(self._ids), 'question')}"
        if not escalations:
            return self._ids[0]
        names = [name(self.state, escalations[0]) for name in (inbox.asker_name, inbox.subject_name)]
        return f"{self._ids[0]}: {', about '.join(dict.fromkeys(names))}"

    def title_notes(self) -> Sequence[Cell]:
        """Return how many more wait, and a note while a part of the question is hidden: a person decides on all."""
        inside = self.query_one("#inside")
        more = len(self._order.waiting(self.state, besides=self._ids)) if self._send is not None else 0
        notes = [Cell(f"{more} more · n next", "muted")] if more else []
        return [Cell("pgdn shows more", "attention"), *notes] if inside.scroll_y < inside.max_scroll_y else notes

    def compose_below(self) -> Iterable[Widget]:
        yield AnswerInputs(id="answers")

    def buttons(self) -> Iterable[Widget]:
        yield Button(Text("Back  esc"), id="decline", compact=True)

    def begin(self) -> None:
        if self._send is not None:
            self._ids = (*self._order.with_alike(self.state, self._ids[0]),)
        self._show_question()
        inside = self.query_one("#inside")

        def note_rest() -> None:
            self.call_after_refresh(lambda: self.update_engine(self.deck.view))

        self.watch(inside, "scroll_y", note_rest, init=False)
        self.watch(inside, "virtual_size", note_rest, init=False)

    def _show_question(self) -> None:
        """Set up answers, inputs and focus for the present questions."""
        escalations, inputs, self._alike = self._open(), self._inputs, False
        self._consent.pending = []
        self._title = [Cell(self.title_line(), "strong")]
        choices = answer_choices(escalations)
        self._output = self._output or self.deck.drafts.get(self.draft_key, "")
        inputs.offer(choices, escalations, self._output)
        options = [choice.answer for choice in choices]
        initial = options.index(self._initial_option) if self._initial_option in options else None
        typed = next((choice for choice in choices if choice.answer == REPLY and choice.needs == "text"), None)
        if initial is not None and choices[initial].needs:
            typed = choices[initial]
        elif self._output:
            typed = typed or next((choice for choice in choices if choice.needs in ("text", "json")), None)
        inputs.show_input(typed)
        self.call_later(self._show_choices, initial)
        self.show_problem("")
        self.update_view(self.deck.view)
        if self._initial_option is not None and choices and initial is None:
            known = ", ".join(dict.fromkeys(options))
            self.show_problem(f"{self._initial_option!r} is not an answer to it; choose one of {known}")

    async def _show_choices(self, initial: int | None) -> None:
        """Show the present answers, and set the focus once old keys are gone."""
        await self._inputs.show_buttons()
        self._fit_height()

        def set_focus() -> None:
            target = self._inputs.find_target(initial)
            (target if target is not None else self.query_one("#decline", Button)).focus()

        if self._order.is_calm:
            set_focus()
        else:
            self.set_focus(None)
            self.set_timer(CALM_S, lambda: set_focus() if self.focused is None else None)

    def _fit_height(self) -> None:
        """Leave room for the answers and their inputs below the text."""
        super()._fit_height()
        inside = self.query_one("#inside")
        if (limit := inside.styles.max_height) is not None:
            inside.styles.max_height = max(3, int(limit.value) - self._inputs.height - 1)

    def update_view(self, view: ViewState) -> None:
        escalations = self._open()
        if not escalations:
            self._show_settled(view)
            return
        self.text_of("details").show(self._question_cells(view, escalations))
        if not self._inputs.choices:
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
        self._inputs.close()
        is_last = self._send is None or not self._order.after(self.state, self._ids)
        following = "" if is_last else "; n shows the next question"
        if self._inputs.editor.text:
            self.show_problem(f"what you wrote was not sent; ctrl+y copies it, esc goes back{following}")
        else:
            self.show_problem(f"nothing was sent; esc goes back{following}")

    def action_next_question(self) -> None:
        """Leave this question open, and show the next one."""
        following = self._order.after(self.state, self._ids)
        if self._send is not None and following and self._order.is_calm:
            self._keep_draft()
            self._show_other(following)

    def _show_other(self, question_ids: Sequence[str]) -> None:
        """Show another question, and drop the keys that were meant for this one."""
        self._ids, self._initial_option, self._output = (*question_ids,), None, ""
        self._order.note_change()
        self.set_focus(None)
        self.query_one("#inside").scroll_home(animate=False)
        self._show_question()

    def action_answer_alike(self) -> None:
        """Switch between one answer for all similar questions and one for this question alone."""
        escalations = self._open()
        is_possible = len(self._ids) == 1 and bool(escalations)
        self._alike = not self._alike and is_possible and len(similar_questions(self.state, escalations[0])) > 1
        self.update_view(self.deck.view)

    def action_choose_values(self) -> None:
        """Limit answers for later calls to the next values."""
        if self._inputs.values.display and self._order.is_calm:
            self._inputs.values.action_choose(1)

    def action_copy(self) -> None:
        text = self._inputs.editor.text
        if text:
            self.app.copy_to_clipboard(text)
            self.show_problem("what you wrote is copied")

    def action_decline(self) -> None:
        self._keep_draft()
        super().action_decline()

    def _keep_draft(self) -> None:
        if text := self._inputs.editor.text:
            self.deck.drafts[self.draft_key] = text

    def action_choose(self, digit: int) -> None:
        """Give the answer with a digit."""
        choices = self._inputs.choices
        if digit <= len(choices) and self._open() and self._order.is_calm:
            self._choose(choices[digit - 1])

    @on(Button.Pressed)
    def _press(self, event: Button.Pressed) -> None:
        name = event.button.id or ""
        if not self._order.is_calm:
            event.stop()
            event.prevent_default()
        elif name.startswith("option-"):
            event.stop()
            self._choose(self._inputs.choices[int(name.removeprefix("option-"))])

    def _choose(self, choice: AnswerChoice) -> None:
        """Send an answer, or show the input that it needs first."""
        if self._inputs.has_input(choice):
            self._send_answer(choice)
            return
        self._inputs.show_input(choice)
        self.show_problem("")
        self._inputs.input_of(choice).focus()

    @on(AnswerInputs.Submitted)
    def action_confirm_output(self) -> None:
        """Answer with what was typed."""
        if self._inputs.typed is not None and self._order.is_calm:
            self._send_answer(self._inputs.typed)

    def on_key(self, event: events.Key) -> None:
        """Drop a key that was meant for the question before; escape always works."""
        if event.key != "escape" and not self._order.is_calm:
            event.stop()
            event.prevent_default()

    def _send_answer(self, choice: AnswerChoice) -> None:
        escalations, inputs = self._open(), self._inputs
        if not escalations:
            self._show_settled(self.deck.view)
            return
        try:
            fields = inputs.read_fields(choice)
        except Mistyped as error:
            self.show_problem(str(error))
            return
        except (ValueError, RecursionError) as error:
            self.show_problem(f"that is no JSON: {error}")
            return
        if not is_on_top(self):
            return
        first, *others = [escalation.id for escalation in escalations]
        command = Answer(escalation=first, answer=choice.answer, also=others, alike=self._alike, **fields)
        if (problem := self._consent.require_for(self.deck, command)) is not None:
            self.show_problem(problem)
            self._order.note_change()  # the same key, pressed twice in haste, trusts nothing
            return
        self._keep_draft()
        if self._send is None:
            self.dismiss(command)
            return
        self._send(command)
        alike = [question.id for question in similar_questions(self.state, escalations[0])] if self._alike else []
        self._order.answered_ids.update([first, *others, *alike])
        were = "were" if others else "was"
        self._last_line = f"{', '.join([first, *others])} {were} answered: {choice.label}"
        if following := self._order.after(self.state, self._ids):
            self._show_other(following)
        else:
            self.dismiss(None)

    def confirm(self) -> None:
        """Answer with the output; called by enter in the picker."""
        self.action_confirm_output()

    def handle_answer(self, command: Answer, outcome: "CommandReply") -> None:
        """Delete the draft of an answer once it is applied; if it is refused, say why, also beside another question."""
        key = f"answer {' '.join([command.escalation, *command.also])}"
        if outcome.status == "applied":
            self.deck.drafts.pop(key, None)
        if outcome.status != "refused":
            return
        kept = "; the text is kept" if key in self.deck.drafts else ""
        text = f"refused: {outcome.reason or 'no reason given'}{kept}"
        if self.is_current:
            self._order.answered_ids.difference_update([command.escalation, *command.also])
            self._last_line = ""
            if kept and not self._inputs.editor.text:
                self._show_other([command.escalation, *command.also])
            self.show_problem(f"{command.escalation} {text}")
        elif kept:
            self.deck.messages.say(text, "error")
