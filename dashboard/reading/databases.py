"""The databases that a user has: in the current folder and above it, and in the data folder."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from engine.platform.folders import CATALOGUE_FILE, NoHome, home_folder
from store import EngineInfo, MissingFile, NotOurFile, Reader, StandbyInfo, StoreError, check_database


@dataclass(frozen=True, slots=True)
class DatabaseInfo:
    """A database file, with its engines."""

    path: Path
    engine: EngineInfo | None = None
    error: str | None = None
    """Why it cannot be used; None if it can."""
    standbys: tuple[StandbyInfo, ...] = ()
    """Engines that stand by."""

    @property
    def alive(self) -> bool:
        """True while an engine holds it."""
        return self.engine is not None and self.engine.alive

    @property
    def state(self) -> str:
        """Its state in a few words."""
        if self.error is not None:
            return "cannot be used"
        if self.engine is None or not self.engine.alive:
            return "no engine"
        return f"engine {self.engine.pid}{' hangs' if self.engine.hung else ''}"


def databases(folder: Path) -> list[DatabaseInfo]:
    """Return the databases in the data folder by name, those of the demo included."""
    paths = sorted([*folder.glob("*.db"), *folder.glob("demo/*.db")])
    return [inspect_database(path) for path in paths if path != folder / CATALOGUE_FILE]


def find_databases(folder: Path) -> list[DatabaseInfo]:
    """Return the databases of the current folder, or the nearest above it with any, and of the data `folder`."""
    own_paths = next(filter(None, map(databases_in, folders_to_search())), [])
    return [
        *map(inspect_database, own_paths),
        *(database for database in databases(folder) if database.path not in own_paths),
    ]


def inspect_database(path: Path) -> DatabaseInfo:
    """Inspect the file at `path`: its engine, its standby engines, or why it cannot be used."""
    try:
        with Reader(path) as reader:
            return DatabaseInfo(path, engine=reader.engine(), standbys=tuple(reader.standbys()))
    except StoreError as error:
        return DatabaseInfo(path, error=str(error))


def databases_in(folder: Path) -> list[Path]:
    """Return the Quarterdeck databases in a folder."""
    return [path for path in sorted(folder.glob("*.db")) if is_database(path)]


def folders_to_search() -> Iterator[Path]:
    """Yield the current folder, then those above it up to the root of the repository.

    The search stops below folders that others can write, and below the home folder.
    """
    try:
        current_folder = Path.cwd()
    except FileNotFoundError:  # it was removed
        return
    yield current_folder
    below, home = current_folder, _find_home()
    for folder in current_folder.parents:
        status = folder.stat()
        is_own = status.st_uid == os.geteuid() and not status.st_mode & stat.S_IWOTH
        if (below / ".git").exists() or folder == home or not is_own:
            return
        yield folder
        below = folder


def _find_home() -> Path | None:
    try:
        return home_folder().resolve()
    except NoHome:
        return None


def is_database(path: Path) -> bool:
    """Return whether a file is a Quarterdeck database, damaged or not."""
    try:
        check_database(path)
    except (NotOurFile, MissingFile):
        return False
    except StoreError:
        return True
    return True
