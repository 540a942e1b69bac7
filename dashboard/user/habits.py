"""Remembers what a user has set by hand: sizes of panes, that the tour was offered, in a browser the theme.

One JSON file that the dashboard itself writes, apart from the settings, which are the user's to write. What cannot be
read counts as nothing, and what cannot be written holds until the dashboard is left. Those of a browser are kept there:
the file is in the folder of its tab (`dashboard/web/session.py`).
"""

import contextlib
import json
import os
from pathlib import Path

from dashboard.user.settings import own_file
from dashboard.user.theme import NAMES

MIN_SIZE, MAX_SIZE = 1, 400
"""Cells of a pane that are believed."""


def habits_file() -> Path | None:
    """Return where they are; None where this user has no home folder."""
    return own_file("XDG_STATE_HOME", ".local/state", "dashboard.json")


class Habits:
    """What was set by hand, kept in `file`; without a file in memory alone."""

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self.toured = file is None
        """Whether the tour has been offered; where that cannot be remembered it is not offered at all."""
        self.panes: dict[str, int] = {}
        """Cells of panes that were dragged, by their names."""
        self.theme = ""
        """The theme that was chosen in a browser; a terminal has it in its settings. Empty for none."""
        if file is not None:
            self._read(file)

    def _read(self, file: Path) -> None:
        try:
            if not file.is_file():  # one that is a pipe would be waited for
                return
            document = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return
        if not isinstance(document, dict):
            return
        self.toured = document.get("toured") is True
        self.theme = theme if isinstance(theme := document.get("theme"), str) and theme in NAMES else ""
        panes = document.get("panes")
        for name, size in panes.items() if isinstance(panes, dict) else ():
            if isinstance(size, int) and not isinstance(size, bool) and MIN_SIZE <= size <= MAX_SIZE:
                self.panes[name] = size

    def remember_offer(self) -> None:
        """Remember that the tour was offered."""
        self.toured = True
        self._write()

    def remember_theme(self, theme: str) -> None:
        """Remember the theme that was chosen."""
        self.theme = theme
        self._write()

    def size(self, pane: str, cells: int | None, *, save: bool = True) -> None:
        """Remember the size of a pane; None lets it have its own again. Without `save`, until the dashboard is left."""
        if cells is None:
            self.panes.pop(pane, None)
        else:
            self.panes[pane] = cells
        if save:
            self._write()

    @property
    def text(self) -> str:
        """All of it, as its file holds it."""
        theme = {"theme": self.theme} if self.theme else {}
        return json.dumps({"toured": self.toured, "panes": self.panes, **theme}, indent=1, sort_keys=True)

    def _write(self) -> None:
        if self._file is None:
            return
        beside = self._file.with_suffix(f".{os.getpid()}")
        with contextlib.suppress(OSError):  # a full disk or a read-only home is not a reason to stop looking at a team
            self._file.parent.mkdir(parents=True, exist_ok=True)
            beside.unlink(missing_ok=True)
            with beside.open("x", encoding="utf-8") as file:  # never through a link
                file.write(self.text + "\n")
            beside.replace(self._file)
