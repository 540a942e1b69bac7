"""Base of the YAML editors for specs: the text is checked as it is typed, and its effect shown below.

Rule: typed code is never imported. Untrusted code is named, and a second confirmation trusts it. `Deck.drafts` keeps
the text until the engine has applied it.
"""

import os
from collections.abc import Iterable
from typing import Any

from rich.text import Text
from textual import on
from textual.app import App, SuspendNotSupported
from textual.binding import Binding
from textual.containers import Container, Vertical
from textual.widget import Widget
from textual.widgets import Button, TextArea

from dashboard.deck.live_screen import is_on_top
from dashboard.dialogs.code_consent import CodeConsent
from dashboard.dialogs.dialog import Answer, Dialog, DialogText
from dashboard.reading.model_table import unlisted_models
from dashboard.user.external_editor import EditorFailed, edit_externally, editor_of
from dashboard.user.spec_text import (
    NEW,
    Draft,
    fault_lines,
    known_servers,
    read_draft,
)
from dashboard.views.changes.models import UNLISTED
from dashboard.views.changes.outcomes import rehearse
from dashboard.views.drawing.rows import Cell, labelled_cell
from dashboard.views.view_state import ViewState
from dashboard.views.words.parsers import Mistyped
from dashboard.widgets.fields import Picker
from dashboard.widgets.yaml_area import YamlArea
from engine.core.specs.spec import AgentSpec
from engine.supervisor.client import CommandReply

NO_PROGRAMS = "$EDITOR is a program of this machine; write here"
CHECK_S, LONG_TEXT_CHARACTERS = 0.3, 20_000
"""Delay of the check of a long text, in seconds; and the number of characters from which on a text is long."""


class SpecEditor(Dialog):
    """Edit the text of one agent; ctrl+s sends it, ctrl+o opens it in $EDITOR, esc keeps it for the next time."""

    BINDINGS = [
        Binding("ctrl+s", "send", "send", show=False),
        Binding("ctrl+o", "editor", "in $EDITOR", show=False),
        Binding("ctrl+r", "begin_again", "begin again", show=False),
        Binding("ctrl+g", "fault", "to the fault", show=False),
    ]
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-wide")]

    def __init__(self, supervisor_id: str) -> None:
        super().__init__()
        self._supervisor_id = supervisor_id
        self._consent = CodeConsent()
        self._draft = Draft(None)
        self._read: str | None = None
        self._unopened = ""
        """Why the external editor could not be used; shown until the text changes."""

    def initial_text(self) -> str:
        raise NotImplementedError

    def command_of(self, spec: AgentSpec) -> Answer:
        """Return the command that applies a spec."""
        raise NotImplementedError

    def preview(self, view: ViewState, spec: AgentSpec) -> list[Cell]:
        """Return the changes, beside the engine's summary."""
        raise NotImplementedError

    def is_unchanged(self, spec: AgentSpec) -> bool:
        """Return whether a spec equals that of the agent."""
        return False

    def own_references(self) -> list[str]:
        """Return references that need no confirmation."""
        return [*self.state.trusted]

    @property
    def area(self) -> YamlArea:
        return self.query_one("#yaml", YamlArea)

    def compose_body(self) -> Iterable[Widget]:
        with Container(id="columns"):
            yield YamlArea(self.deck.drafts.get(self.draft_key) or self.initial_text(), id="yaml")
            with Vertical(id="beside"):
                yield DialogText(id="note")
                yield DialogText(id="faults")
                yield Picker("mode", id="mode")
                yield DialogText(id="would")
                yield DialogText(id="preview")

    def buttons(self) -> Iterable[Widget]:
        yield Button(Text(f"{self.button_label()}  ctrl+s"), id="confirm", compact=True)
        if not self.deck.access.in_browser:
            yield Button(Text("$EDITOR  ctrl+o"), id="editor", compact=True)
        yield Button(Text("Back  esc"), id="decline", compact=True)

    def begin(self) -> None:
        has_draft = self.draft_key in self.deck.drafts
        cells = [Cell("your earlier text; ctrl+r starts over", "paused")] if has_draft else []
        self.text_of("note").show_any(cells + self.notes())
        self.query_one("#mode").display = False
        self.area.focus()
        self._check()

    def notes(self) -> list[Cell]:
        """Return the notes shown before anything is typed."""
        return []

    @on(TextArea.Changed)
    def _handle_typing(self) -> None:
        self._consent.pending, self._unopened = [], ""
        self.save_draft()
        if len(self.area.text) > LONG_TEXT_CHARACTERS:
            self.set_timer(CHECK_S, self._check)
        else:
            self._check()

    def save_draft(self) -> None:
        """Keep the text as a draft, unless it is the initial one."""
        text = self.area.text
        if text == self.initial_text():
            self.deck.drafts.pop(self.draft_key, None)
        else:
            self.deck.drafts[self.draft_key] = text

    def _check(self) -> None:
        """Check the text, if it has changed."""
        if not self.is_attached or self.area.text == self._read:
            return
        self._read = self.area.text
        self._draft = read_draft(self._read, known_servers(self.state, self._supervisor_id))
        self.area.show_faults(problem.line for problem in self._draft.problems)
        self.update_view(self.deck.view)

    def update_view(self, view: ViewState) -> None:
        spec = self._draft.spec
        self.text_of("faults").show_any(fault_lines(self._draft.problems))
        command = self.command_of(spec) if spec is not None else None
        if spec is None or command is None:
            self.text_of("would").show_any([])
            self.text_of("preview").show_any([])
            self.query_one("#mode").display = False
            self.show_problem(self._unopened)
            return
        new = self._new_references()
        code = [labelled_cell("runs", ", ".join(new), "draining")] if new else []
        unlisted = unlisted_models(view.state, self._supervisor_id, spec)
        models = [Cell(f"the model {name} is {UNLISTED}", "warn") for name in unlisted]
        self.text_of("preview").show_any([*code, *models, *self.preview(view, spec)])
        if self.is_unchanged(spec):
            self.text_of("would").show_any([Cell("nothing is changed yet", "muted")])
            self.show_problem(self._unopened)
            return
        rehearsal = rehearse(view.state, command, view.now_ms)
        self.text_of("would").show_any(
            [labelled_cell("would do", rehearsal.summary, "busy")] if rehearsal.summary else []
        )
        refused = f"would be refused: {rehearsal.refusal}" if rehearsal.refusal else ""
        self.show_problem(self._unopened or refused or self._consent.hint)

    def _new_references(self) -> list[str]:
        own = self.own_references()
        return [reference for reference in self._draft.references if reference not in own]

    def action_send(self) -> None:
        self.confirm()

    def answer(self) -> Answer:
        self._read = None
        self._check()
        if self._draft.problems:
            self.action_fault()
            return None
        command = super().answer()
        if command is None:
            return None
        problem = self._consent.require(self.deck, self._new_references())
        if problem is not None:
            self.show_problem(problem)
        return command if problem is None else None

    def build_command(self) -> Answer:
        if self._draft.spec is None:
            raise Mistyped("there is no agent in the text")
        return self.command_of(self._draft.spec)

    def action_fault(self) -> None:
        """Move the cursor to the first line with a fault."""
        if self._draft.problems:
            line = min(self._draft.problems[0].line, self.area.document.line_count) - 1
            self.area.focus()
            self.area.move_cursor((line, len(self.area.document.get_line(line))))

    def action_begin_again(self) -> None:
        """Restore the original text; ctrl+z undoes that."""
        self.area.put(self.initial_text())

    @on(Button.Pressed, "#editor")
    def action_editor(self) -> None:
        """Open the text in the user's editor, and take over its result."""
        self._unopened = ""
        if self.deck.access.in_browser:
            self._unopened = f"not in a browser: {NO_PROGRAMS}"
            self.show_problem(self._unopened)
            return
        try:
            argv = editor_of(os.environ)
            self.area.put(_edit_in_terminal(self.app, self.area.text, argv))
        except EditorFailed as failed:
            self._unopened = str(failed)
        except SuspendNotSupported:
            self._unopened = f"this terminal cannot be given to {argv[0]}; write here"
        self.update_view(self.deck.view)
        self.app.refresh(layout=True)

    def action_decline(self) -> None:
        if is_on_top(self) and self.draft_key in self.deck.drafts:
            self.deck.messages.say("nothing was sent; the text is kept until the dashboard is left", "muted")
        super().action_decline()

    def handle_outcome(self, outcome: CommandReply) -> None:
        """Keep the draft while the command is pending."""
        if outcome.status != "pending":
            super().handle_outcome(outcome)


def _edit_in_terminal(app: App[Any], text: str, argv: list[str]) -> str:
    """Run the editor in the terminal, and return the text that it leaves.

    Raises:
        EditorFailed: If it cannot be run, or fails.
    """
    edited = ""
    failed: EditorFailed | None = None
    with app.suspend():
        # Textual restores the terminal only if nothing is raised in this block.
        try:
            edited = edit_externally(text, argv, name=NEW.name)
        except EditorFailed as error:
            failed = error
    if failed is not None:
        raise failed
    return edited
