"""Fork dialog: a new file that continues, paused, from the moment that is shown.

In a browser it has no path: the browser saves the file.
"""

from collections.abc import Iterable
from pathlib import Path

from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Input

from dashboard.deck.live_screen import is_on_top
from dashboard.dialogs.dialog import Dialog, DialogText
from dashboard.user.typed_paths import exists, expand_path
from dashboard.views.drawing.rows import labelled_cell
from dashboard.views.past import fork_lines, fork_path, fork_shell
from dashboard.views.view_state import ViewState
from dashboard.widgets.typing import LineInput


class ForkDialog(Dialog, ModalScreen[object]):
    """Show what a fork continues and where its file will be; enter creates it."""

    BUTTON_LABEL = "Fork"
    NEEDS_ENGINE = False

    def __init__(self, db: Path, target: str | None) -> None:
        super().__init__()
        self._db, self._target, self._seq = db, target, 0

    def title_line(self) -> str:
        return f"Fork at seq {self.deck.view.state.seq:,}"

    def compose_body(self) -> Iterable[Widget]:
        yield DialogText(id="details")
        self._seq = self.deck.view.state.seq  # fixed when the dialog opens, because the team continues
        if not self.deck.access.in_browser:
            yield LineInput(self._target or str(fork_path(self._db, self._seq)), id="path", select_on_focus=False)
        yield DialogText(id="would")

    def begin(self) -> None:
        view = self.deck.view
        live_seq = view.past.live_seq if view.past is not None else self._seq
        self.text_of("details").show(fork_lines(view.state, live_seq=live_seq, now_ms=view.present_ms))
        self.query_one("#confirm" if self.deck.access.in_browser else "#path").focus()
        self.update_view(view)

    def update_view(self, view: ViewState) -> None:
        if self.deck.access.in_browser:
            name = fork_path(self._db, self._seq).name
            self.text_of("would").show([labelled_cell("saved as", f"{name}, by this browser", "muted")])
            return
        path = self.query_one(Input).value.strip()
        is_taken = bool(path) and exists(expand_path(path))
        self.show_problem(f"a file exists at {path} already; write another name" if is_taken else "")
        shell = [labelled_cell("in a shell", fork_shell(self._db, str(expand_path(path)), self._seq), "muted")]
        self.text_of("would").show(shell if path and not is_taken else [])

    def confirm(self) -> None:
        """Create the file, or one for the browser."""
        if self.deck.access.in_browser:
            if is_on_top(self):
                self.app.pop_screen()
                self.deck.files.fork(fork_path(self._db, self._seq), self._seq)
            return
        path = self.query_one(Input).value.strip()
        if path and is_on_top(self) and not exists(expand_path(path)):
            self.app.pop_screen()
            self.deck.files.fork(expand_path(path), self._seq)
