"""Base of dialogs: a title that names the object, the effect of the change, and two buttons.

A dialog returns a command or None; the app sends it.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Button, Input, OptionList
from textual.widgets.option_list import Option

from dashboard.clean import clean
from dashboard.deck.live_screen import LiveScreen, is_on_top, replay_keys, set_breakpoints
from dashboard.views.changes.outcomes import Rehearsal, rehearse
from dashboard.views.drawing.rows import Cell, Choice, labelled_cell
from dashboard.views.view_state import ViewState
from dashboard.views.words.parsers import Mistyped
from dashboard.widgets.bar import Bar
from dashboard.widgets.fields import OneOf, Paged
from dashboard.widgets.pane import Pane
from dashboard.widgets.tones import MAX_CHARACTERS
from dashboard.widgets.typing import LineInput
from engine.core.commands import Cancel, Command
from engine.core.records.records import copy_with
from engine.core.state import State

if TYPE_CHECKING:
    from engine.supervisor.client import CommandReply

CSS = Path(__file__).with_name("dialogs.tcss")
Answer = Command | None


class DialogText(Pane, can_focus=False):
    """Lines of a dialog; the height is that of the lines."""

    DEFAULT_CSS = """
    DialogText {
        height: auto;
    }
    """

    def show_any(self, cells: Sequence[Cell]) -> None:
        """Show lines; hide the widget if there are none."""
        self.display = bool(cells)
        self.show(cells)


class Dialog(LiveScreen, ModalScreen[Answer]):
    """A dialog about one object."""

    CSS_PATH = CSS

    BINDINGS = [
        Binding("escape", "decline", "cancel", show=False),
        Binding("tab,down", "app.focus_next", "next", show=False),
        Binding("shift+tab,up", "app.focus_previous", "previous", show=False),
        Binding("pagedown", "scroll_inside(1)", "page down", show=False),
        Binding("pageup", "scroll_inside(-1)", "page up", show=False),
    ]
    VERTICAL_BREAKPOINTS = [(0, "-short"), (30, "-tall")]
    BUTTON_LABEL: ClassVar[str] = "Do it"
    """Text of the first button."""
    NEEDS_ENGINE: ClassVar[bool] = True
    """Whether its command needs an engine."""

    def __init__(self) -> None:
        super().__init__()
        self.has_begun = False
        self.typed_ahead = []

    def text_of(self, name: str) -> DialogText:
        return self.query_one(f"#{name}", DialogText)

    def rehearse(self, command: Command, shell: str = "") -> Rehearsal:
        """Show the effect of a command or the reason of its refusal, and the equivalent command line."""
        view = self.deck.view
        rehearsal = rehearse(view.state, command, view.now_ms)
        self.show_problem(f"would be refused: {rehearsal.refusal}" if rehearsal.refusal else "")
        lines = [labelled_cell("would do", rehearsal.summary, "busy")] if rehearsal.summary else []
        self.text_of("would").show_any([*lines, labelled_cell("in a shell", shell, "muted")] if shell else lines)
        return rehearsal

    def title_line(self) -> str:
        raise NotImplementedError

    @property
    def draft_key(self) -> str:
        """The key of its text in `Deck.drafts`; empty for a dialog without a draft."""
        return ""

    @property
    def draft_text(self) -> str:
        """The text that is kept until its command is applied."""
        return ""

    def handle_outcome(self, outcome: "CommandReply") -> None:
        """Delete the draft unless the command was refused; then say that it is kept."""
        if outcome.status != "refused":
            self.deck.drafts.pop(self.draft_key, None)
        elif self.draft_key in self.deck.drafts:
            self.deck.messages.say(f"refused: {outcome.reason or 'no reason given'}; the text is kept", "error")

    def compose_body(self) -> Iterable[Widget]:
        """Yield the widgets between title and buttons."""
        yield DialogText(id="details")

    def compose_below(self) -> Iterable[Widget]:
        """Yield the widgets below the body, which do not scroll with it."""
        return ()

    def build_command(self) -> Answer:
        """Return the command that the input describes; None while it is incomplete.

        Raises:
            Mistyped: If part of the input is invalid.
        """
        return None

    def answer(self) -> Answer:
        """Return the command to send; None keeps the dialog open."""
        try:
            command = self.build_command()
        except Mistyped as error:
            self.show_problem(str(error))
            return None
        view = self.deck.view
        refusal = rehearse(view.state, command, view.now_ms).refusal if command is not None else ""
        if refusal:
            self.show_problem(f"would be refused: {refusal}")
        return None if refusal else command

    def button_label(self) -> str:
        return self.BUTTON_LABEL

    def compose(self) -> ComposeResult:
        set_breakpoints(self)
        with Vertical(id="dialog"):
            yield Bar(id="title")
            with VerticalScroll(id="inside", can_focus=False):
                yield from self.compose_body()
            yield from self.compose_below()
            yield DialogText(id="problem")
            with Horizontal(id="buttons"):
                yield from self.buttons()

    def buttons(self) -> Iterable[Widget]:
        yield Button(Text(f"{clean(self.button_label())}  enter"), id="confirm", compact=True)
        yield Button(Text("Back  esc"), id="decline", compact=True)

    def action_scroll_inside(self, by: int) -> None:
        inside = self.query_one("#inside", VerticalScroll)
        inside.scroll_relative(y=by * max(1, inside.size.height - 1), animate=False)

    def on_mount(self) -> None:
        self._title = [Cell(self.title_line(), "strong")]
        self.update_engine(self.deck.view)
        self.begin()
        self.has_begun = True
        replay_keys(self)

    def begin(self) -> None:
        """Fill in the parts that depend on the state, and set the focus."""
        self.query_one("#confirm", Button).focus()

    def update_engine(self, view: ViewState) -> None:
        """Show in the title that there is no engine, because a dialog may hide the header."""
        is_waiting = self.NEEDS_ENGINE and not view.working
        note = [Cell("no engine: it waits for the next one", "error")] if is_waiting else []
        self.query_one("#title", Bar).show(self._title, [*note, *self.title_notes()])

    def title_notes(self) -> Sequence[Cell]:
        """Return further notes beside the title."""
        return []

    def update_view(self, view: ViewState) -> None:
        """Redraw; called on each refresh, and after each input."""

    def set_button_label(self, does: str) -> None:
        self.query_one("#confirm", Button).label = Text(f"{clean(does)}  enter")

    def show_problem(self, text: str) -> None:
        """Show an error; hide it if the text is empty."""
        self.text_of("problem").show([Cell(text, "error")] if text else [])
        self._fit_height()

    def on_resize(self) -> None:
        self._fit_height()

    def _fit_height(self) -> None:
        """Limit the height of the body, so that the error and the buttons fit on the screen."""
        problem = self.text_of("problem")
        width = min(self.size.width, 100) - 6
        lines = min(5, problem.get_content_height(self.size, self.size, width)) if problem.text else 0
        gap = 1 if self.size.height >= 30 else 0
        self.query_one("#inside").styles.max_height = max(5, self.size.height - 4 - lines - gap)

    @on(OptionList.OptionHighlighted)
    @on(OneOf.Changed)
    @on(Input.Changed)
    def _update_from_input(self) -> None:
        self.update_view(self.deck.view)

    @on(Button.Pressed, "#confirm")
    @on(Input.Submitted)
    @on(OptionList.OptionSelected)
    @on(OneOf.Settled)
    def _confirm_input(self) -> None:
        self.confirm()

    def confirm(self) -> None:
        """Close with the answer, if there is one."""
        command = self.answer() if is_on_top(self) else None
        if command is not None:
            if self.draft_text:
                self.deck.drafts[self.draft_key] = self.draft_text
            self.dismiss(command)

    @on(Button.Pressed, "#decline")
    def action_decline(self) -> None:
        """Change nothing."""
        self.dismiss(None)


class Confirm(Dialog):
    """Confirm a command that stops, removes or trusts something."""

    def __init__(
        self, question: str, consequences: Callable[[State], Sequence[str]], does: str, command: Command
    ) -> None:
        """Ask a question.

        Args:
            consequences: Returns the effects for the current state, which may change while the dialog is open.
        """
        super().__init__()
        self._question, self._consequences, self._does, self._command = question, consequences, does, command

    def title_line(self) -> str:
        return self._question

    def button_label(self) -> str:
        return self._does

    def compose_body(self) -> Iterable[Widget]:
        yield from super().compose_body()
        yield DialogText(id="would")

    def begin(self) -> None:
        super().begin()
        self.update_view(self.deck.view)

    def update_view(self, view: ViewState) -> None:
        self.text_of("details").show_any([Cell(line) for line in self._consequences(view.state)])
        self.rehearse(self.build_command())

    def build_command(self) -> Command:
        return self._command


class ConfirmCancel(Confirm):
    """Confirm a cancellation, and ask for its reason, which is recorded."""

    def __init__(
        self, question: str, consequences: Callable[[State], Sequence[str]], does: str, command: Cancel
    ) -> None:
        super().__init__(question, consequences, does, command)
        self._cancel = command

    def compose_body(self) -> Iterable[Widget]:
        yield from super().compose_body()
        yield LineInput(placeholder=f"why; else: {self._cancel.reason}", id="reason")

    def begin(self) -> None:
        super().begin()
        self.query_one(Input).focus()

    def build_command(self) -> Command:
        reason = self.query_one(Input).value.strip()
        return copy_with(self._cancel, reason=reason) if reason else self._cancel


class HelpScreen(LiveScreen, ModalScreen[None]):
    """Shows the keys and commands."""

    CSS_PATH = CSS
    BINDINGS = [Binding("escape,q,question_mark,enter", "dismiss", "close", show=False)]

    def __init__(self, place: str, lines: Sequence[Cell]) -> None:
        super().__init__()
        self._place, self._lines = place, lines

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog"):
            yield Bar(id="title")
            yield Pane(id="details")
            yield Bar(id="bottom")

    def on_mount(self) -> None:
        self.query_one("#title", Bar).show([Cell(f"Keys of {self._place}", "strong")], [Cell("esc closes", "muted")])
        self.query_one("#details", Pane).show(self._lines)
        self.query_one("#details", Pane).focus()

    def on_click(self, event: events.Click) -> None:
        """Close on a click on the title or beside the dialog."""
        if event.widget is self or (event.widget is not None and event.widget.id == "title"):
            self.dismiss()


class Choices(Paged, OptionList):
    """A list to choose from, one item per line."""

    BINDINGS = [Binding("j", "cursor_down", "down", show=False), Binding("k", "cursor_up", "up", show=False)]

    DEFAULT_CSS = """
    Choices {
        height: auto;
        max-height: 6;
        border: none;
        padding: 0;
        background: transparent;
        scrollbar-size-vertical: 1;
        text-wrap: nowrap;
        text-overflow: ellipsis;
        &:focus { border: none; background: transparent; background-tint: transparent 0%; }
        & > .option-list--option-highlighted { background: $selected; color: $foreground; text-style: none; }
        &:focus > .option-list--option-highlighted { background: $selected; color: $tone-strong; text-style: none; }
    }
    """

    def offer(self, choices: Sequence[Choice], chosen: str | None = None) -> None:
        self.clear_options()
        widest = max((len(choice.name) for choice in choices), default=0)
        self.add_options(_option_of(choice, widest) for choice in choices)
        if choices:
            ids = [choice.id for choice in choices]
            self.highlighted = ids.index(chosen) if chosen in ids else 0

    def render_line(self, y: int) -> Strip:
        strip = super().render_line(y)
        if y + self.scroll_offset.y != self.highlighted:
            return strip
        # A sign for the chosen item, because a terminal may have no colours.
        return Strip.join([Strip([Segment("▌", next(iter(strip)).style)]), strip.crop(1)])

    def on_click(self, event: events.Click) -> None:
        """Select an item; enter or the button confirms."""
        event.prevent_default()
        clicked = event.style.meta.get("option")
        if clicked is not None:
            self.highlighted = clicked

    @property
    def chosen(self) -> str | None:
        if self.highlighted is None:
            return None
        return self.get_option_at_index(self.highlighted).id


def _option_of(choice: Choice, name_width: int) -> Option:
    name, about = f"{clean(choice.name):<{name_width}}", clean(choice.about[:MAX_CHARACTERS])
    return Option(Text.assemble(" ", (name, "bold"), "  ", about, no_wrap=True, overflow="ellipsis"), id=choice.id)


class ChoiceDialog(Dialog):
    """Choose an item of a list; its effect is shown below."""

    def compose_body(self) -> Iterable[Widget]:
        yield DialogText(id="details")
        yield Choices(id="choices")
        yield DialogText(id="would")

    def offer(self, choices: Sequence[Choice], chosen: str | None = None) -> None:
        self.query_one(Choices).offer(choices, chosen)
        self.query_one(Choices).focus()

    @property
    def chosen(self) -> str | None:
        return self.query_one(Choices).chosen
