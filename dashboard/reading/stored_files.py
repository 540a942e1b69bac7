"""Finds the archives and forks beside a database by their names, and summarizes their contents."""

from pathlib import Path
from typing import Literal

from dashboard.views.changes.team_summary import team_summary
from dashboard.views.drawing.lines import Line, Span
from dashboard.views.stored import SiblingFile
from engine.core.errors import CoreError
from engine.reading.folding import fold_from
from store import Reader, StoreError

MAX_FILES = 50
"""Maximum files that are listed, the newest first."""


def files_beside(db: Path) -> list[SiblingFile]:
    """Return archives and forks of `db` in its folder, the newest first."""
    files: list[SiblingFile] = []
    for path in db.parent.glob("*"):
        kind = _kind_of(path, db)
        if kind is None:
            continue
        try:
            stat = path.stat()
        except OSError:  # deleted meanwhile
            continue
        files.append(SiblingFile(kind, str(path), path.name, stat.st_mtime_ns // 1_000_000, stat.st_size))
    return sorted(files, key=lambda file: -file.at_ms)[:MAX_FILES]


def stored_summary(path: Path, seq: int | None, *, working: bool) -> list[Line]:
    """Summarize a file after an event, or after its newest if `seq` is None; blocks, because it folds the state.

    `working` says whether an engine works on the file.
    """
    try:
        with Reader(path) as reader:
            return team_summary(fold_from(reader, seq), working=working)
    except (StoreError, CoreError) as error:
        return [Line((Span(str(error), "error"),))]


def _kind_of(path: Path, db: Path) -> Literal["archive", "fork"] | None:
    if path.suffix == ".zip" and path.name.startswith(db.stem):
        return "archive"
    return "fork" if path.suffix == db.suffix and path.name.startswith(f"{db.stem}.at-") else None
