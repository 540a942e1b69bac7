"""Typed paths: any input is a path, so that errors occur only when a file is opened."""

from pathlib import Path


def expand_path(text: str | Path) -> Path:
    """Return the path of a text; a leading `~` is expanded if possible."""
    path = Path(text)
    try:
        return path.expanduser()
    except RuntimeError:  # an unknown user, or one without a home folder
        return path


def exists(path: Path) -> bool:
    """Return whether a path exists; False if that cannot be determined."""
    try:
        return path.exists()
    except OSError:  # the name is too long, or a folder is not accessible
        return False
