"""The answers of a question as buttons in lines, and what has to be typed for some of them."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Button, Input, TextArea

from dashboard.clean import clean
from dashboard.views.answers import DEFAULT_MINUTES, MAX_DIGIT, AnswerChoice
from dashboard.views.drawing.rows import Choice
from dashboard.views.words.parsers import Mistyped, parse_amount
from dashboard.widgets.fields import Picker
from dashboard.widgets.typing import LineInput, TextBox
from engine.core.records.records import JsonValue
from engine.core.state import Escalation

_KINDS = (
    Choice("text", "text", "the text as it is · ctrl+s answers with it"),
    Choice("json", "JSON", "a value, such as a list · ctrl+s answers with it"),
)
OUTPUT_HEIGHT, BESIDE_HEIGHT = 5, 2
"""Lines of the editor: of an output, and beside answers to choose from."""
_HEIGHTS = {"values": 1, "output": OUTPUT_HEIGHT + 1, "as": 1, "typed": 2}
"""Lines of the widgets below the answers."""
_PLACEHOLDERS = {"amount": "2, $0.50, 50k, 10m", "minutes": str(DEFAULT_MINUTES)}
_MAX_MINUTES = 525_600


class AnswerInputs(Vertical):
    """The answers of the question that is shown."""

    class Submitted(Message):
        """What an answer needs was typed."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.choices: Sequence[AnswerChoice] = ()
        self.typed: AnswerChoice | None = None
        """The answer whose input is shown."""

    def compose(self) -> ComposeResult:
        yield Vertical(id="choices")
        yield Picker("w calls with", id="values")
        yield TextBox("", id="output", tab_behavior="focus", show_line_numbers=False, soft_wrap=True)
        yield Picker("output as", id="as")
        yield LineInput(id="typed")

    @property
    def editor(self) -> TextArea:
        return self.query_one(TextArea)

    @property
    def values(self) -> Picker:
        """The argument values to which an answer for later calls is limited."""
        return self.query_one("#values", Picker)

    @property
    def line(self) -> LineInput:
        return self.query_one("#typed", LineInput)

    @property
    def height(self) -> int:
        """Lines of the answers and of their inputs."""
        inputs = sum(height for name, height in _HEIGHTS.items() if self.query_one(f"#{name}").display)
        return len(self.choices) + inputs

    def offer(self, choices: Sequence[AnswerChoice], questions: Sequence[Escalation], draft: str) -> None:
        """Set up the inputs of other questions; `show_buttons` shows their answers."""
        self.choices = choices
        self.editor.text, self.editor.read_only = draft, False
        self.line.value = ""
        self.query_one("#as", Picker).offer(_KINDS)
        values = [*_value_choices(questions)] if any(choice.gives_grant for choice in choices) else []
        self.values.offer(values)
        self.values.display = len(values) > 1

    async def show_buttons(self) -> None:
        """Show the answers as buttons, in lines."""
        container, widest = (
            self.query_one("#choices", Vertical),
            max((len(each.label) for each in self.choices), default=0),
        )
        await container.remove_children()
        await container.mount(
            *(
                Button(_button_text(place, choice, widest + 2), id=f"option-{place - 1}", compact=True)
                for place, choice in enumerate(self.choices, 1)
            )
        )
        container.display = bool(self.choices)

    def show_input(self, choice: AnswerChoice | None) -> None:
        """Show the input that an answer needs."""
        self.typed = choice
        needs = choice.needs if choice is not None else ""
        self.editor.display = needs in ("text", "json")
        self.editor.styles.height = BESIDE_HEIGHT if len(self.choices) > 1 and needs == "text" else OUTPUT_HEIGHT
        self.query_one("#as").display = needs == "json"
        self.line.display = needs in _PLACEHOLDERS
        self.line.placeholder = f"{needs}, such as {_PLACEHOLDERS.get(needs, '')}"

    def close(self) -> None:
        """Hide all but a text that was written, which can be copied."""
        for name in ("#choices", "#as", "#values", "#typed"):
            self.query_one(name).display = False
        self.editor.read_only = True
        self.editor.display = bool(self.editor.text)

    def find_target(self, initial: int | None) -> Widget | None:
        """Return what has the focus first: a text that has to be written, or the answer that was named; else None."""
        if self.typed is not None and (len(self.choices) == 1 or initial is not None or self.editor.text):
            return self.input_of(self.typed)
        return self.query_one(f"#option-{initial}", Button) if initial is not None else None

    def input_of(self, choice: AnswerChoice) -> Widget:
        """Return the widget in which the input of an answer is typed."""
        return self.line if choice.needs in _PLACEHOLDERS else self.editor

    def has_input(self, choice: AnswerChoice) -> bool:
        """Return whether what an answer needs is there."""
        if self.typed is not choice:
            return not choice.needs
        return choice.needs == "minutes" or bool(
            self.line.value.strip() if choice.needs == "amount" else self.editor.text
        )

    def read_fields(self, choice: AnswerChoice) -> dict[str, Any]:
        """Return the fields of the command that the inputs say.

        Raises:
            Mistyped: If a number is none.
            ValueError: If the output is no JSON; also RecursionError.
        """
        typed, output = self.line.value.strip(), None
        if choice.needs in ("text", "json"):
            is_json = choice.needs == "json" and self.query_one("#as", Picker).chosen == "json"
            output = json.loads(self.editor.text) if is_json else self.editor.text
        return {
            "output": output,
            "amount": parse_amount(typed) if choice.needs == "amount" else None,
            "minutes": _parse_minutes(typed) if choice.needs == "minutes" else None,
            "scope": choice.scope,
            "where": json.loads(self.values.chosen or "[]") if choice.gives_grant and self.values.display else [],
        }

    @on(Input.Submitted, "#typed")
    def _submit(self, event: Input.Submitted) -> None:
        event.stop()
        self.post_message(self.Submitted())


def _value_choices(questions: Sequence[Escalation]) -> Iterable[Choice]:
    """Yield the argument values to which an answer for later calls of all these questions can be limited."""
    arguments: list[JsonValue] = [question.detail.get("arguments") for question in questions]
    first = arguments[0] if arguments else None
    names = [
        name
        for name in (first if isinstance(first, dict) else ())
        if all(isinstance(values, dict) and name in values for values in arguments)
    ]
    if names:
        yield Choice("", "any values", "what an answer for later calls is about")
    for name in names:
        yield Choice(json.dumps([name]), f"this {name}", "later calls with the same value")
    if len(names) > 1:
        yield Choice(json.dumps(names), "all these values", "later calls with the same arguments")


def _parse_minutes(text: str) -> float:
    try:
        minutes = float(text or DEFAULT_MINUTES)
    except ValueError:
        minutes = 0
    if not 0 < minutes <= _MAX_MINUTES:
        raise Mistyped(f"{text!r} is not a number of minutes; write 10, or nothing for {DEFAULT_MINUTES}")
    return minutes


def _button_text(place: int, choice: AnswerChoice, widest: int) -> Text:
    digit = f"{place}" if place <= MAX_DIGIT else " "
    default = "  (the default)" if choice.is_default else ""
    label, meaning = clean(choice.label), clean(f"{choice.meaning}{default}".strip())
    return Text.assemble(f"{digit}  ", (f"{label:<{widest}}" if meaning else label, "bold"), meaning, no_wrap=True)
