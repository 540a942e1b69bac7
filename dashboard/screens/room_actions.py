"""What an operator does with the room itself: engine, archives, help, and who needs them."""

from pathlib import Path

from dashboard.screens.acting import Acting
from dashboard.screens.engine import EngineDialog
from dashboard.screens.help import HelpScreen
from dashboard.screens.leading import LeadingDialog
from dashboard.screens.transfer import ExportDialog, ImportDialog
from dashboard.views.digest import needs_person
from dashboard.views.inbox import place_of
from dashboard.views.program import program_line


class RoomActions(Acting):
    """Actions that are about no row."""

    def action_engine(self) -> None:
        """Show who leads; start an engine where none works."""
        situation = self.deck.glimpse.situation
        info = situation.engine
        if situation.trouble is not None:
            self.deck.say(situation.trouble, "error")
        elif info is not None and info.alive and not info.hung:
            self.app.push_screen(LeadingDialog(), self.deck.order)
        elif (line := program_line(self.deck.glimpse.state)) is not None:
            self.deck.say(line, "warn")
        elif self.may():
            self.app.push_screen(EngineDialog())

    def action_hand_over(self, grace: str | None = None) -> None:
        """Leave the team to an engine that stands by; asks first."""
        info = self.deck.glimpse.situation.engine
        if not self.may():
            return
        if info is None or not info.alive or info.hung:
            self.deck.say("no engine answers that could hand over; E starts one", "warn")
            return
        self.app.push_screen(LeadingDialog(grace, hands_over=True), self.deck.order)

    def action_export(self, path: str | None = None) -> None:
        """Write the whole state to an archive."""
        if path is not None:
            self.deck.export(Path(path).expanduser())
            return
        self.app.push_screen(ExportDialog(self.deck.path))

    def action_import(self, path: str | None = None) -> None:
        """Show what an archive would bring, then take it in."""
        if self.may():
            self.app.push_screen(ImportDialog(self.deck.path, path or ""), self.deck.order)

    def action_next_in_need(self) -> None:
        """Go to the next thing that waits for a person: questions first, in the inbox."""
        state = self.deck.glimpse.state
        waiting = needs_person(state)
        if not waiting:
            self.deck.say("nobody needs you", "done")
            return
        here = self.selected_key()
        place = waiting.index(here) + 1 if here in waiting else 0
        wanted = waiting[place % len(waiting)]
        self.deck.action_go(place_of(state, wanted), selected=wanted)

    def selected_key(self) -> str:
        """Return the key of the row under the cursor."""
        target = self.target()
        return target.id if target is not None else ""

    def action_help(self) -> None:
        """Show the keys of this screen."""
        self.app.push_screen(HelpScreen(*self.explained()))
