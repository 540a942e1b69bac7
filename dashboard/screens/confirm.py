"""A yes or no that names its object."""

from collections.abc import Iterable, Sequence

from textual.widget import Widget
from textual.widgets import Button

from dashboard.screens.dialog import Answer, Dialog, Told
from dashboard.views.rows import Cell
from engine.core.commands import Command


class Confirm(Dialog):
    """Ask before a command that takes something away; the cursor is on *Cancel*."""

    CSS_PATH = "confirm.tcss"

    def __init__(self, question: str, told: Sequence[str], does: str, command: Command) -> None:
        super().__init__()
        self._question, self._told, self._does, self._command = question, told, does, command

    def title_line(self) -> str:
        return self._question

    def does(self) -> str:
        return self._does

    def inside(self) -> Iterable[Widget]:
        yield Told(id="told")

    def begin(self) -> None:
        self.query_one(Told).show([Cell(line) for line in self._told])
        self.query_one("#confirm", Button).focus()

    def answer(self) -> Answer:
        return self._command
