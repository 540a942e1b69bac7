"""Persists choices made in the dashboard: sizes of panes, that the tour was offered, the theme of a browser.

The dashboard writes them to one JSON file, apart from the settings file, which only the user writes. An unreadable file
counts as empty; if it cannot be written, choices last for the session. For a browser, the file is in the folder of its
tab (`dashboard/web/session.py`), and its contents are stored in the browser.
"""

import contextlib
import json
import os
from pathlib import Path

from dashboard.user.settings import own_file
from dashboard.user.theme import NAMES

MIN_SIZE, MAX_SIZE = 1, 400
"""Valid range of the cells of a pane."""


def habits_file() -> Path | None:
    """Return the path of the file; None if this user has no home folder."""
    return own_file("XDG_STATE_HOME", ".local/state", "dashboard.json")


class Habits:
    """The choices of a user, stored in `file`, or only in memory without one."""

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self.toured = file is None
        """Whether the tour was offered; True without a file, where it is never offered."""
        self.panes: dict[str, int] = {}
        """Cells of resized panes by their names."""
        self.theme = ""
        """The theme chosen in a browser; empty for none. A terminal has it in the settings."""
        if file is not None:
            self._read(file)

    def _read(self, file: Path) -> None:
        try:
            if not file.is_file():  # a pipe would block
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
        """Store that the tour was offered."""
        self.toured = True
        self._write()

    def remember_theme(self, theme: str) -> None:
        """Store the chosen theme."""
        self.theme = theme
        self._write()

    def size(self, pane: str, cells: int | None, *, save: bool = True) -> None:
        """Store the size of a pane; None resets it. Without `save`, only for this session."""
        if cells is None:
            self.panes.pop(pane, None)
        else:
            self.panes[pane] = cells
        if save:
            self._write()

    @property
    def text(self) -> str:
        """The contents of the file."""
        theme = {"theme": self.theme} if self.theme else {}
        return json.dumps({"toured": self.toured, "panes": self.panes, **theme}, indent=1, sort_keys=True)

    def _write(self) -> None:
        if self._file is None:
            return
        beside = self._file.with_suffix(f".{os.getpid()}")
        with contextlib.suppress(OSError):  # a full disk or a read-only home must not end the dashboard
            self._file.parent.mkdir(parents=True, exist_ok=True)
            beside.unlink(missing_ok=True)
            with beside.open("x", encoding="utf-8") as file:  # never follow a link
                file.write(self.text + "\n")
            beside.replace(self._file)
