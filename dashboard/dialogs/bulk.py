"""One change to all marked rows: its effect on each, before it is sent."""

from collections.abc import Iterable, Sequence

from textual.widget import Widget
from textual.widgets import Input

from dashboard.dialogs.dialog import Answer, Dialog, Told
from dashboard.views.changes.bulk import Bulk, Part, changing, counts, lines, parts, reached, untouched
from dashboard.views.changes.targets import Target
from dashboard.views.drawing.rows import Cell
from dashboard.views.view_state import ViewState
from dashboard.views.words.amounts import pluralize
from dashboard.views.words.parsers import Line, Mistyped
from dashboard.widgets.typing import TextLine
from engine.core.commands import Cancel, Command
from engine.core.records.records import copy_with

LOOK_MS, MANY = 1_000, 20
"""More than MANY changes are checked again only every LOOK_MS."""


class BulkDialog(Dialog):
    """Confirm several commands at once; those that would be refused are left out."""

    def __init__(self, bulk: Bulk) -> None:
        super().__init__()
        self._bulk = bulk
        self._parts: list[Part] = []
        self.taken: list[Command] = []
        """The confirmed commands."""
        self._next_ms = 0

    @property
    def _cancels(self) -> bool:
        return any(isinstance(one, Cancel) for one in self._bulk.commands)

    def title_line(self) -> str:
        return f"{self._bulk.does} {pluralize(len(self._bulk.commands) + self._bulk.below, 'marked row')}"

    def does(self) -> str:
        return self._bulk.does

    def inside(self) -> Iterable[Widget]:
        yield Told(id="told")
        if self._cancels:
            yield TextLine(placeholder="why; else: cancelled by the operator", id="reason")

    def begin(self) -> None:
        super().begin()
        if self._cancels:
            self.query_one("#reason", Input).focus()
        self.look(self.deck.view)

    def look(self, view: ViewState) -> None:
        if not view.due(self._next_ms):
            return
        self._next_ms = view.wall_ms + (LOOK_MS if len(self._bulk.commands) > MANY else 0)
        self._parts = parts(view.state, self._bulk, view.now_ms)
        said = filter(None, (reached(self._bulk), counts(self._parts)))
        self.told("told").show([*lines(self._parts), *(Cell(one, "muted") for one in said)])
        self.say_what(f"{self._bulk.does} {sum(not one.refused for one in self._parts)}")
        if any(not one.refused for one in self._parts):
            self.problem("")

    def _chosen(self) -> list[Command]:
        """Return each command that would not be refused."""
        reason = self.query_one("#reason", Input).value.strip() if self._cancels else ""
        return [
            copy_with(one.command, reason=reason) if reason and isinstance(one.command, Cancel) else one.command
            for one in self._parts
            if not one.refused
        ]

    def answer(self) -> Answer:
        """Return the first command; all are in `taken`."""
        self._next_ms = 0
        self.look(self.deck.view)
        try:
            return self.meant()
        except Mistyped as error:
            self.problem(str(error))
            return None

    def meant(self) -> Answer:
        self.taken = self._chosen()
        if not self.taken:
            raise Mistyped("all of them would be refused")
        return self.taken[0]


class BulkLineDialog(BulkDialog):
    """Ask one line about several objects, and show what it means for each."""

    def __init__(self, line: Line, found: Sequence[Target]) -> None:
        super().__init__(changing(found, ()))
        self._line, self._found = line, found
        self._typed = ""

    def title_line(self) -> str:
        return self._line.title.format(pluralize(len(self._found), "marked row"))

    def inside(self) -> Iterable[Widget]:
        yield TextLine(placeholder=self._line.placeholder, id="line")
        yield Told(id="told")

    def begin(self) -> None:
        self.query_one("#line", Input).focus()
        self.look(self.deck.view)

    def look(self, view: ViewState) -> None:
        typed, problem = self.query_one("#line", Input).value, ""
        if typed != self._typed:
            self._typed, self._next_ms = typed, 0
        try:
            made = [self._line.meant(one.id, typed, view.now_ms) for one in self._found]
        except Mistyped as error:
            made, problem = [], str(error)
        commands = [one for one in made if one is not None]
        self._bulk = changing(self._found, commands)
        self.problem(problem)
        if commands:
            super().look(view)
            return
        self._parts = []
        self.told("told").show(untouched(self._bulk.names))
        self.say_what(self._line.does)

    def meant(self) -> Answer:
        if not self._bulk.commands:
            raise Mistyped(f"write {self._line.placeholder}")
        return super().meant()
