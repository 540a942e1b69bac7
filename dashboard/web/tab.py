"""The dashboard of one tab, drawing into the pipe of the server; `tab_process` runs it.

What an operator in a browser may not do is refused where `in_browser` of `deck.deck` is checked, and once more by
`confinement`.
"""

import shlex
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from dashboard.actions import OWN_KEYS
from dashboard.app.app import QuarterdeckApp
from dashboard.app.guide import Guide, is_demo
from dashboard.app.navigation import place_of
from dashboard.deck.terminal import window_title
from dashboard.dialogs.files import ImportDialog
from dashboard.user.habits import Habits
from dashboard.user.settings import read_settings, settings_file
from dashboard.views.words.amounts import size
from dashboard.views.words.place import Place
from dashboard.web.driver import TabDriver
from dashboard.web.folders import HABITS
from dashboard.widgets.textual_seams import driver_of
from store import StoreError

if TYPE_CHECKING:
    from engine.archive import ExportResult


class TabApp(QuarterdeckApp):
    """The dashboard in a browser."""

    in_browser = True

    def __init__(self, db: Path, *, viewer: bool, folder: Path, place: Place | None) -> None:
        habits_file, settings = folder / HABITS, read_settings(settings_file(), OWN_KEYS)
        # A browser that stores nothing is not offered the tour.
        habits = Habits(habits_file) if habits_file.exists() else None
        super().__init__(db, readonly=viewer, place=place, settings=settings, habits=habits)
        self._folder = folder
        self._requested_place = place
        """The place that it opens; None once that is shown."""
        self._page_values: dict[str, str] = {}
        """Values that the page has been told, by kind."""
        self._has_looked = False

    @property
    def tab_driver(self) -> TabDriver | None:
        """The driver; None in tests of screens."""
        driver = driver_of(self)
        return driver if isinstance(driver, TabDriver) else None

    def update_surroundings(self, *, changed: bool) -> bool:
        if not self._has_looked and self.feed.has_polled and not self.feed.opening:
            self._has_looked = True
            if is_demo(self.feed.state):
                self._guide = Guide(in_browser=True, viewer=self.readonly)
        to_draw = super().update_surroundings(changed=changed)
        self._tell("place", str(self._place()))
        self._tell("colour", self.current_theme.background or "")
        self._tell("habits", self.habits.text)
        if not (self.in_past or self.view.situation.opening):
            # The browser's tab says how much needs a person, as the title of a terminal does.
            self._tell("title", window_title(self._team_name(), len(self.view.counts.needs_person)))
        return to_draw

    def _place(self) -> Place:
        """Return the current place, or the requested one until it is shown: a reloaded page returns there."""
        past_is_read = self.playback.busy and not self.in_past and self.playback.trouble is None
        if self._opens_at is None and not past_is_read:
            self._requested_place = None
        return self._requested_place or place_of(self)

    def _tell(self, kind: str, text: str) -> None:
        """Send a value to the page if it has changed."""
        if self.tab_driver is not None and self._page_values.get(kind) != text:
            self._page_values[kind] = text
            self.tab_driver.write_meta({"type": kind, kind: text})

    def export(self, target: Path) -> None:
        """Write an archive into the folder of this tab, and hand it to the browser."""
        from engine.archive import ArchiveError, export_archive  # only who exports needs it

        archive = self._folder / target.name

        def announce(done: "ExportResult") -> None:
            self._hand_over(archive, "application/zip")
            self.say(f"✓ exported as of seq {done.seq:,}, {size(done.bytes)}: the browser has it", "busy")

        self.say("… exporting", "muted")
        errors = (ArchiveError, StoreError, OSError)

        def exporting() -> "ExportResult":
            self.feed.check_same_file()
            return export_archive(self.path, archive)

        self.run_in_thread(exporting, announce, errors, "not exported: ")

    def fork(self, target: Path, seq: int) -> None:
        """Write a fork into a folder of its own, so that names cannot collide, and hand it to the browser."""
        super().fork(Path(tempfile.mkdtemp(dir=self._folder)) / target.name, seq)

    def hand_over(self, fork: Path) -> str:
        self._hand_over(fork, "application/vnd.sqlite3")
        return f"the browser has it: quarterdeck --db {shlex.quote(fork.name)}"

    def _hand_over(self, file: Path, mime_type: str) -> None:
        """Hand a file to the browser; the disk space is freed once it is downloaded, not only when the tab ends."""
        self.deliver_binary(file.open("rb"), save_filename=file.name, mime_type=mime_type)
        for path in [*file.parent.iterdir()]:
            if path.name.startswith(file.name):  # beside a database SQLite leaves two more
                path.unlink()

    def ask_upload(self) -> None:
        """Open the file dialog of the browser."""
        if self.tab_driver is not None:
            self.tab_driver.write_meta({"type": "ask_upload"})

    def uploaded(self, path: str, name: str) -> None:
        """Open the import dialog for a file that the browser has uploaded."""
        if not self.can_write():
            return
        if isinstance(self.screen, ImportDialog):
            self.screen.received(path, name)
        elif not self.screen.is_modal:
            self.push_screen(ImportDialog(self.path, path, display_name=name), self.send_command)
        else:
            self.say(f"{name} was not looked into: another dialog is open", "warn")
