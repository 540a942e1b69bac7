"""Export and import: where to, and what an archive would bring before it is brought."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from textual import on
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Input

from dashboard.dialogs.dialog import Answer, Dialog, Told
from dashboard.views.amounts import counted, file_stamp
from dashboard.views.outcomes import plan_lines
from dashboard.views.rows import Cell
from engine.core.commands import ImportState

if TYPE_CHECKING:
    from engine.archive import ImportPlan


class ExportDialog(Dialog, ModalScreen[object]):
    """Ask where an archive goes."""

    DOES = "Export"

    def __init__(self, db: Path) -> None:
        super().__init__()
        self._db = db

    def title_line(self) -> str:
        return "Export the whole state to an archive"

    def inside(self) -> Iterable[Widget]:
        # Named after the moment: the team goes on, and the archive holds a later seq than the one of now.
        yield Input(str(self._db.with_suffix(f".{file_stamp(self.deck.glimpse.now_ms)}.zip")), id="path")
        yield Told(id="told")

    def begin(self) -> None:
        state = self.state
        amounts = ((len(state.agents), "agent"), (len(state.runs), "open run"), (len(state.tasks), "task"))
        told = f"{', '.join(counted(number, noun) for number, noun in amounts)}, as of now"
        self.told("told").show([Cell(told), Cell("JSON in a zip; the team keeps working", "muted")])
        self.query_one(Input).focus()

    def confirm(self) -> None:
        """Export to the path that stands there."""
        path = self.query_one(Input).value.strip()
        if path and self.is_current:
            self.app.pop_screen()
            self.deck.export(Path(path).expanduser())


class ImportDialog(Dialog):
    """Show what an archive would bring; enter again brings it."""

    DOES = "Look into it"

    def __init__(self, db: Path, path: str) -> None:
        super().__init__()
        self._db, self._path = db, path
        self._plan: ImportPlan | None = None

    def title_line(self) -> str:
        return "Import an archive"

    def inside(self) -> Iterable[Widget]:
        yield Input(self._path, placeholder="the archive, such as team.zip", id="path")
        yield Told(id="told")

    def begin(self) -> None:
        self.told("told").show([Cell("shows first what it would import; everything is imported paused", "muted")])
        self.query_one(Input).focus()
        if self._path:
            self._look_into(self._path)

    @on(Input.Changed)
    def _another(self) -> None:
        self._plan = None
        self.say_what("Look into it")

    def answer(self) -> Answer:
        path = self.query_one(Input).value.strip()
        if self._plan is None:
            if path:
                self._look_into(path)
            return None
        archive = str(Path(path).expanduser().resolve())
        if not self.deck.allow(self._plan.references, Path(archive), self._plan.sha256):
            return None
        return ImportState(path=archive, sha256=self._plan.sha256)

    def _look_into(self, path: str) -> None:
        self.deck.plan_import(Path(path).expanduser(), self._show)

    def _show(self, found: "ImportPlan | str") -> None:
        if not self.is_attached:
            return
        if isinstance(found, str):
            self.problem(found)
            return
        self.problem("")
        self._plan = found
        told = plan_lines(found.creates, found.needs_trust, found.missing, found.clashes, found.bound)
        self.told("told").show(told)
        self.say_what("Import and trust its code" if self._plan.needs_trust else "Import")
