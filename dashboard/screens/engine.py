"""Starting an engine on the file that is looked at, where none is at work or the one that is hangs."""

from collections.abc import Iterable

from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Button

from dashboard.process import EngineDidNotStart, leave, start_engine, wait_until_up
from dashboard.screens.dialog import Answer, Dialog, Told
from dashboard.views.restart import restart_lines
from store import StoreError


class EngineDialog(Dialog, ModalScreen[object]):
    """Say what an engine would go on with; enter starts it."""

    CSS_PATH = "engine.tcss"
    DOES = "Start"

    def title_line(self) -> str:
        return "Start an engine"

    def inside(self) -> Iterable[Widget]:
        yield Told(id="told")

    def begin(self) -> None:
        glimpse = self.deck.glimpse
        self.query_one(Told).show(restart_lines(glimpse.state, glimpse.situation))
        self.query_one("#confirm", Button).focus()

    def confirm(self) -> None:
        """Start it, and say how that went."""
        if not self.is_current:
            return
        deck, info = self.deck, self.deck.glimpse.situation.engine
        takeover = info is not None and info.hung

        def starting() -> None:
            try:
                started = start_engine(deck.path, takeover=takeover)
                wait_until_up(started)
                leave(started)
            except (EngineDidNotStart, StoreError, OSError) as error:
                deck.call_from_thread(deck.say, str(error), "error")
            else:
                told = f"✓ engine {started.process.pid} is at work, and stays when this screen is closed"
                deck.call_from_thread(deck.say, told, "busy")

        self.app.pop_screen()
        deck.say("… starting an engine", "muted")
        deck.run_worker(starting, thread=True)

    def answer(self) -> Answer:
        return None
