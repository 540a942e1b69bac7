"""Finds the archives and forks that lie beside a database, by the names that the dashboard gives."""

from pathlib import Path
from typing import Literal

from dashboard.views.stored import Beside

MOST = 50
"""The newest that are listed."""


def files_beside(db: Path) -> list[Beside]:
    """Return archives and forks of `db` in its folder, the newest first."""
    found: list[Beside] = []
    for path in db.parent.glob("*"):
        kind = _kind_of(path, db)
        if kind is None:
            continue
        try:
            stat = path.stat()
        except OSError:  # gone meanwhile
            continue
        found.append(Beside(kind, str(path), path.name, stat.st_mtime_ns // 1_000_000, stat.st_size))
    return sorted(found, key=lambda one: -one.at_ms)[:MOST]


def _kind_of(path: Path, db: Path) -> Literal["archive", "fork"] | None:
    if path.suffix == ".zip" and path.name.startswith(db.stem):
        return "archive"
    return "fork" if path.suffix == db.suffix and path.name.startswith(f"{db.stem}.at-") else None
