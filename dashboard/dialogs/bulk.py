"""Dialogs for one change of all marked rows, which show its effect on each before it is sent."""

from collections.abc import Iterable, Sequence

from textual.widget import Widget
from textual.widgets import Input

from dashboard.dialogs.dialog import Answer, Dialog, DialogText
from dashboard.views.changes.bulk import (
    Bulk,
    BulkChange,
    describe_reached,
    describe_refused,
    name_lines,
    part_lines,
    plan_change,
    rehearse_parts,
)
from dashboard.views.changes.targets import Target
from dashboard.views.drawing.rows import Cell
from dashboard.views.view_state import ViewState
from dashboard.views.words.amounts import pluralize
from dashboard.views.words.parsers import LineQuestion, Mistyped
from dashboard.widgets.typing import LineInput
from engine.core.commands import Cancel, Command
from engine.core.records.records import copy_with

UPDATE_INTERVAL_MS = 1_000
"""Between two checks of more than `MAX_FREQUENT_CHECKS` changes; fewer are checked at each update."""
MAX_FREQUENT_CHECKS = 20


class BulkDialog(Dialog):
    """Confirm several commands at once; those that would be refused are left out."""

    def __init__(self, bulk: Bulk) -> None:
        super().__init__()
        self._bulk = bulk
        self._parts: list[BulkChange] = []
        self.chosen_commands: list[Command] = []
        """The confirmed commands."""
        self._next_ms = 0

    @property
    def _cancels(self) -> bool:
        return any(isinstance(command, Cancel) for command in self._bulk.commands)

    def title_line(self) -> str:
        return f"{self._bulk.does} {pluralize(len(self._bulk.commands) + self._bulk.below, 'marked row')}"

    def button_label(self) -> str:
        return self._bulk.does

    def compose_body(self) -> Iterable[Widget]:
        yield DialogText(id="details")
        if self._cancels:
            yield LineInput(placeholder="reason (default: cancelled by the operator)", id="reason")

    def begin(self) -> None:
        super().begin()
        if self._cancels:
            self.query_one("#reason", Input).focus()
        self.update_view(self.deck.view)

    def update_view(self, view: ViewState) -> None:
        if not view.is_due(self._next_ms):
            return
        self._next_ms = view.wall_ms + (UPDATE_INTERVAL_MS if len(self._bulk.commands) > MAX_FREQUENT_CHECKS else 0)
        self._parts = rehearse_parts(view.state, self._bulk, view.now_ms)
        summaries = filter(None, (describe_reached(self._bulk), describe_refused(self._parts)))
        self.text_of("details").show([*part_lines(self._parts), *(Cell(summary, "muted") for summary in summaries)])
        self.set_button_label(f"{self._bulk.does} {sum(not part.refused for part in self._parts)}")
        if any(not part.refused for part in self._parts):
            self.show_problem("")

    def _accepted_commands(self) -> list[Command]:
        reason = self.query_one("#reason", Input).value.strip() if self._cancels else ""
        return [
            copy_with(part.command, reason=reason) if reason and isinstance(part.command, Cancel) else part.command
            for part in self._parts
            if not part.refused
        ]

    def answer(self) -> Answer:
        """Return the first command; `chosen_commands` has all of them."""
        self._next_ms = 0
        self.update_view(self.deck.view)
        try:
            return self.build_command()
        except Mistyped as error:
            self.show_problem(str(error))
            return None

    def build_command(self) -> Answer:
        self.chosen_commands = self._accepted_commands()
        if not self.chosen_commands:
            raise Mistyped("all of them would be refused")
        return self.chosen_commands[0]


class BulkLineDialog(BulkDialog):
    """Ask for one line about several objects, and show its effect on each."""

    def __init__(self, line: LineQuestion, targets: Sequence[Target]) -> None:
        super().__init__(plan_change(targets, ()))
        self._line, self._targets = line, targets
        self._typed = ""

    def title_line(self) -> str:
        return self._line.title.format(pluralize(len(self._targets), "marked row"))

    def compose_body(self) -> Iterable[Widget]:
        yield LineInput(placeholder=self._line.placeholder, id="line")
        yield DialogText(id="details")

    def begin(self) -> None:
        self.query_one("#line", Input).focus()
        self.update_view(self.deck.view)

    def update_view(self, view: ViewState) -> None:
        typed, problem = self.query_one("#line", Input).value, ""
        if typed != self._typed:
            self._typed, self._next_ms = typed, 0
        try:
            target_commands = [self._line.command(target.id, typed, view.now_ms) for target in self._targets]
        except Mistyped as error:
            target_commands, problem = [], str(error)
        commands = [command for command in target_commands if command is not None]
        self._bulk = plan_change(self._targets, commands)
        self.show_problem(problem)
        if commands:
            super().update_view(view)
            return
        self._parts = []
        self.text_of("details").show(name_lines(self._bulk.names))
        self.set_button_label(self._line.does)

    def build_command(self) -> Answer:
        if not self._bulk.commands:
            raise Mistyped(f"write {self._line.placeholder}")
        return super().build_command()
