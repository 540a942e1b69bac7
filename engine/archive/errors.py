"""What can go wrong with archives, one class per decision that a caller can take."""

from pathlib import Path

from engine.errors import EngineError


class ArchiveError(EngineError):
    """Base of what can go wrong with an archive.

    Attributes:
        path: The file; None for a state that came as a value.
    """

    def __init__(self, path: Path | None, detail: str) -> None:
        super().__init__(f"{_shown(path)} {detail}" if path is not None else detail)
        self.path = path


class ImportRefused(ArchiveError):
    """What was to be imported is no archive, or one that cannot be believed; nothing was written."""


class ExportRefused(ArchiveError):
    """An archive cannot be written where it was asked for; what stood there stands there still."""


def _shown(path: Path) -> str:
    text = str(path)
    return text if text.isprintable() else ascii(text)
