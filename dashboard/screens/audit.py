"""Who changed what, as command lines."""

from textual.binding import Binding

from dashboard.frame.journal_screen import JournalScreen
from dashboard.views.audit import KINDS, audit, line_of
from dashboard.views.header import ViewState
from dashboard.views.rows import Listing


class AuditScreen(JournalScreen):
    """Every command with its sender and its outcome, the newest first."""

    PLACE = "audit"
    KINDS = KINDS
    KEYS = (("enter", "open"), ("Y", "copy the line"), "undo", ("/", "filter"))
    BINDINGS = [Binding("Y", "copy_line", "copy the line", show=False)]

    def listing(self, view: ViewState) -> Listing:
        return audit(self.entries, now_ms=view.now_ms, needle=self.needle, looked=self.looked)

    def action_copy_line(self) -> None:
        """Copy the command line that does the same as the row under the cursor."""
        key = self.table.selected
        line = next((line_of(one) for one in self.entries if str(one.seq) == key), "")
        if line:
            self.app.copy_to_clipboard(line)
            self.deck.say(f"copied: {line}", "muted")
        else:
            self.deck.say("there is no command line to copy: choose a command that was applied", "warn")


SCREEN = AuditScreen
