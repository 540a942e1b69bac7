"""Paths that a person types: nothing that can be typed is an error before the file itself is opened."""

from pathlib import Path


def path_typed(text: str | Path) -> Path:
    """Return the path that a text names; a leading `~` is the home folder, if there is such a user."""
    path = Path(text)
    try:
        return path.expanduser()
    except RuntimeError:  # of no user of this machine, or of one without a home
        return path


def exists(path: Path) -> bool:
    """Tell whether something is at a path; False where that cannot be looked up."""
    try:
        return path.exists()
    except OSError:  # a name that is too long, or a folder that may not be entered
        return False
