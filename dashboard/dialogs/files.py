"""Export and import dialogs: the target of an export, the effects of an import.

In a browser neither has a path: an export is downloaded, and an archive to import is uploaded.
"""

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from textual import on
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Input

from dashboard.deck.live_screen import is_on_top
from dashboard.dialogs.dialog import Answer, Dialog, DialogText
from dashboard.user.typed_paths import expand_path
from dashboard.views.changes.outcomes import plan_lines
from dashboard.views.drawing.rows import Cell
from dashboard.views.words.amounts import file_stamp, pluralize
from dashboard.widgets.typing import LineInput
from engine.core.commands import ImportState

if TYPE_CHECKING:
    from engine.archive import ImportPlan


class ExportDialog(Dialog, ModalScreen[object]):
    """Ask for the path of an export."""

    BUTTON_LABEL = "Export"
    NEEDS_ENGINE = False

    def __init__(self, db: Path) -> None:
        super().__init__()
        self._db = db

    def title_line(self) -> str:
        return "Export the whole state to an archive"

    def compose_body(self) -> Iterable[Widget]:
        if not self.deck.access.in_browser:
            yield LineInput(str(self._suggested_path), id="path")
        yield DialogText(id="details")

    @property
    def _suggested_path(self) -> Path:
        # Named after the time, not the seq: the export may have a later seq than the view.
        return self._db.with_suffix(f".{file_stamp(self.deck.view.now_ms)}.zip")

    def begin(self) -> None:
        state = self.state
        amounts = ((len(state.agents), "agent"), (len(state.runs), "open run"), (len(state.tasks), "task"))
        text = f"{', '.join(pluralize(number, noun) for number, noun in amounts)}, as of now"
        self.text_of("details").show([Cell(text), Cell("JSON in a zip; the team keeps working", "muted")])
        self.query_one("#confirm" if self.deck.access.in_browser else "#path").focus()

    def confirm(self) -> None:
        """Export to the path, or to the browser."""
        path = str(self._suggested_path) if self.deck.access.in_browser else self.query_one(Input).value.strip()
        if not path:
            self.show_problem("write the path of the archive to make")
        elif is_on_top(self):
            self.app.pop_screen()
            self.deck.files.export(expand_path(path))


class ImportDialog(Dialog):
    """Show the effects of an import; enter again confirms it."""

    BUTTON_LABEL = "Look into it"

    def __init__(self, db: Path, path: str, *, display_name: str = "") -> None:
        """Ask for an archive, or plan the import of one.

        Args:
            path: The archive; empty to ask for one.
            display_name: Its name for the user, if that is not its path.
        """
        super().__init__()
        self._db, self._path, self._display_name = db, path, display_name
        self._plan: ImportPlan | None = None

    def title_line(self) -> str:
        return "Import an archive"

    def compose_body(self) -> Iterable[Widget]:
        if not self.deck.access.in_browser:
            yield LineInput(self._path, placeholder="the archive, such as team.zip", id="path")
        yield DialogText(id="details")

    def begin(self) -> None:
        self._show_nothing()
        self.query_one("#confirm" if self.deck.access.in_browser else "#path").focus()
        if self._path:
            self._look_into(self._path)
        elif self.deck.access.in_browser:
            self.set_button_label("Choose a file")
            self.deck.files.ask_upload()

    def _show_nothing(self) -> None:
        self.text_of("details").show([Cell("shows first what it would import; everything is imported paused", "muted")])

    def plan_upload(self, path: str, name: str) -> None:
        """Plan the import of an uploaded archive."""
        self._path, self._display_name, self._plan = path, name, None
        self.show_problem("")
        self.text_of("details").show([Cell(f"looking into {name} …", "muted")])
        self._look_into(path)

    @on(Input.Changed)
    def _forget_plan(self, event: Input.Changed) -> None:
        """Drop the plan of another archive."""
        if event.value.strip() != self._path:
            self._plan, self._path = None, ""
            self._show_nothing()
            self.set_button_label(self.BUTTON_LABEL)

    def answer(self) -> Answer:
        path = self._path if self.deck.access.in_browser else self.query_one(Input).value.strip()
        if self._plan is None:
            if path:
                self._look_into(path)
            elif self.deck.access.in_browser:
                self.deck.files.ask_upload()
            else:
                self.show_problem("write the path of an archive; State (9) lists those beside this team's file")
            return None
        archive = str(expand_path(path).resolve())
        if not self.deck.trust.trust_code(self._plan.references, Path(archive), self._plan.sha256):
            return None
        return ImportState(path=archive, sha256=self._plan.sha256)

    def _look_into(self, path: str) -> None:
        self._path = path
        self.deck.files.plan_import(expand_path(path), partial(self._show, path))

    def _show(self, path: str, outcome: "ImportPlan | str") -> None:
        if not self.is_attached or path != self._path:
            return
        if isinstance(outcome, str):
            if self._display_name:  # a browser knows no path, and may choose another file
                outcome, self._path = outcome.replace(self._path, self._display_name), ""
                self._show_nothing()
                self.set_button_label("Choose a file")
            self.show_problem(outcome)
            return
        self.show_problem("")
        self._plan = outcome
        cells = plan_lines(outcome.creates, outcome.needs_trust, outcome.missing, outcome.clashes, outcome.bound)
        self.text_of("details").show([Cell(self._display_name, "strong"), *cells] if self._display_name else cells)
        if self._plan.needs_trust and self.deck.access.in_browser:
            self.show_problem("its code is not trusted yet; trust it in a shell first: quarterdeck import")
        self.set_button_label(
            "Import and trust its code" if self._plan.needs_trust and not self.deck.access.in_browser else "Import"
        )
