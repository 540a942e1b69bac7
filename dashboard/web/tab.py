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
from dashboard.deck.files import TeamFiles
from dashboard.deck.terminal import window_title
from dashboard.dialogs.files import ImportDialog
from dashboard.user.habits import Habits
from dashboard.user.settings import read_settings, settings_file
from dashboard.views.words.amounts import size
from dashboard.views.words.news import silent_agents
from dashboard.views.words.place import Place
from dashboard.web.driver import TabDriver
from dashboard.web.folders import HABITS
from dashboard.widgets.textual_seams import driver_of

if TYPE_CHECKING:
    from engine.archive import ExportResult


class BrowserPage:
    """The page in the browser around a tab, which is told what the address bar, title and storage show."""

    def __init__(self, app: QuarterdeckApp, place: Place | None) -> None:
        self._app = app
        self._requested_place = place
        """The place that the tab opens; None once that is shown."""
        self._values: dict[str, str] = {}
        """Values that the page has been told, by kind."""

    def write(self, message: dict[str, object]) -> None:
        """Send a message; do nothing in tests of screens, which have another driver."""
        driver = driver_of(self._app)
        if isinstance(driver, TabDriver):
            driver.write_meta(message)

    def tell(self, kind: str, text: str) -> None:
        """Send a value if it has changed."""
        if self._values.get(kind) != text:
            self._values[kind] = text
            self.write({"type": kind, kind: text})

    def place(self) -> Place:
        """Return the current place, or the requested one until it is shown: a reloaded page returns there."""
        past = self._app.past
        past_is_read = past.playback.busy and not past.is_shown and past.playback.trouble is None
        if self._app.opens_at is None and not past_is_read:
            self._requested_place = None
        return self._requested_place or place_of(self._app)


class TabFiles(TeamFiles):
    """Writes archives and forks into the folder of a tab, and hands them to the browser."""

    def __init__(self, app: "TabApp", folder: Path) -> None:
        super().__init__(app.path, app.feed, app.background, app.messages)
        self._app, self._folder = app, folder

    def export(self, target: Path) -> None:
        super().export(self._folder / target.name)

    def announce_export(self, done: "ExportResult") -> None:
        self._deliver(done.path, "application/zip")
        self._messages.say(f"✓ exported as of seq {done.seq:,}, {size(done.bytes)}: the browser has it", "busy")

    def fork(self, target: Path, seq: int) -> None:
        """Write a fork into a folder of its own, so that names cannot collide."""
        super().fork(Path(tempfile.mkdtemp(dir=self._folder)) / target.name, seq)

    def hand_over(self, fork: Path) -> str:
        self._deliver(fork, "application/vnd.sqlite3")
        return f"the browser has it: quarterdeck --db {shlex.quote(fork.name)}"

    def _deliver(self, file: Path, mime_type: str) -> None:
        """Hand a file to the browser; the disk space is freed once it is downloaded, not only when the tab ends."""
        self._app.deliver_binary(file.open("rb"), save_filename=file.name, mime_type=mime_type)
        for path in [*file.parent.iterdir()]:
            if path.name.startswith(file.name):  # beside a database SQLite leaves two more
                path.unlink()

    def ask_upload(self) -> None:
        """Open the file dialog of the browser."""
        self._app.page.write({"type": "ask_upload"})


class TabApp(QuarterdeckApp):
    """The dashboard in a browser."""

    in_browser = True

    def __init__(self, db: Path, *, viewer: bool, folder: Path, place: Place | None) -> None:
        habits_file, settings = folder / HABITS, read_settings(settings_file(), OWN_KEYS)
        # A browser that stores nothing is not offered the tour.
        habits = Habits(habits_file) if habits_file.exists() else None
        super().__init__(db, readonly=viewer, place=place, settings=settings, habits=habits)
        self.files = TabFiles(self, folder)
        self.page = BrowserPage(self, place)
        self._has_looked = False

    def update_surroundings(self, *, changed: bool) -> bool:
        if not self._has_looked and self.feed.has_polled and not self.feed.opening:
            self._has_looked = True
            if is_demo(self.feed.state):
                self._guide = Guide(in_browser=True, viewer=self.access.readonly)
        to_draw = super().update_surroundings(changed=changed)
        self.page.tell("place", str(self.page.place()))
        self.page.tell("colour", self.current_theme.background or "")
        self.page.tell("habits", self.habits.text)
        if not (self.past.is_shown or self.view.situation.opening):
            counts = self.view.counts
            silent = len(silent_agents(self.view.state, counts, "silent"))
            # The browser's tab says how much needs a person, as the title of a terminal does.
            self.page.tell("title", window_title(self._team_name(), len(counts.needs_person), silent))
        return to_draw

    def open_upload(self, path: str, name: str) -> None:
        """Open the import dialog for a file that the browser has uploaded."""
        if not self.access.can_write():
            return
        if isinstance(self.screen, ImportDialog):
            self.screen.plan_upload(path, name)
        elif not self.screen.is_modal:
            self.push_screen(ImportDialog(self.path, path, display_name=name), self.commands.send)
        else:
            self.messages.say(f"{name} was not looked into: another dialog is open", "warn")
