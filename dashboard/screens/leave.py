"""Quitting while the engine works: it may go on without a screen."""

import shlex
from collections.abc import Iterable

from textual.screen import ModalScreen
from textual.widget import Widget

from dashboard.screens.dialog import Answer, Choices, Dialog, Told
from dashboard.views.amounts import counted
from dashboard.views.rows import Cell


class LeaveDialog(Dialog, ModalScreen[object]):
    """Ask whether the engine goes on."""

    CSS_PATH = "leave.tcss"
    DOES = "Quit"

    def title_line(self) -> str:
        return "Quit. What about the engine?"

    def inside(self) -> Iterable[Widget]:
        yield Told(id="told")
        yield Choices(id="choices")

    def begin(self) -> None:
        glimpse = self.deck.glimpse
        info = glimpse.situation.engine
        pid = info.pid if info is not None else "?"
        runs = len(glimpse.state.runs)
        told = f"engine {pid} works on {counted(runs, 'open run')}" if runs else f"engine {pid} waits for requests"
        back = f"quarterdeck --db {shlex.quote(str(self.deck.path))}"
        self.query_one(Told).show([Cell(told), Cell(back, "accent", "come back with  ")])
        choices = self.query_one(Choices)
        choices.offer(
            (
                ("go on", "leave it running", "it works without a screen"),
                ("stop", "stop it", "cleanly; open runs are kept and go on with the next engine"),
            )
        )
        choices.focus()

    def confirm(self) -> None:
        """Quit in the way that was chosen."""
        self.deck.part(stop_engine=self.query_one(Choices).chosen == "stop")

    def answer(self) -> Answer:
        return None
