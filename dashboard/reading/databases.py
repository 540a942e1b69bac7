"""The databases that a user has: in the current folder and above it, and in the data folder."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from engine.platform.folders import NoHome, home_folder
from store import EngineInfo, MissingFile, NotOurFile, Reader, StandbyInfo, StoreError, check_database


@dataclass(frozen=True, slots=True)
class Found:
    """A file in the data folder that is named like a database."""

    path: Path
    engine: EngineInfo | None = None
    error: str | None = None
    """Why it cannot be used, in words."""
    standbys: tuple[StandbyInfo, ...] = ()
    """Engines that stand by."""

    @property
    def alive(self) -> bool:
        """True while an engine holds it."""
        return self.engine is not None and self.engine.alive

    @property
    def state(self) -> str:
        """What it is, in a few words."""
        if self.error is not None:
            return "cannot be used"
        if self.engine is None or not self.engine.alive:
            return "no engine"
        return f"engine {self.engine.pid}{' hangs' if self.engine.hung else ''}"


def databases(folder: Path) -> list[Found]:
    """Return the databases in the data folder by name, those of the demo included."""
    return [inspected(path) for path in sorted([*folder.glob("*.db"), *folder.glob("demo/*.db")])]


def databases_at_hand(folder: Path) -> list[Found]:
    """Return the databases of the current folder, or the nearest above it with any, and of the data `folder`."""
    here = next(filter(None, map(ours_in, own_folders())), [])
    return [*map(inspected, here), *(found for found in databases(folder) if found.path not in here)]


def inspected(path: Path) -> Found:
    """Inspect the file at `path`: its engine, its standby engines, or why it cannot be used."""
    try:
        with Reader(path) as reader:
            return Found(path, engine=reader.engine(), standbys=tuple(reader.standbys()))
    except StoreError as error:
        return Found(path, error=str(error))


def ours_in(folder: Path) -> list[Path]:
    """Return the Quarterdeck databases in a folder."""
    return [path for path in sorted(folder.glob("*.db")) if is_ours(path)]


def own_folders() -> Iterator[Path]:
    """Yield the current folder, then those above it up to the root of the repository.

    Folders that others can write, and the home folder and everything above it, are not searched from below.
    """
    try:
        here = Path.cwd()
    except FileNotFoundError:  # it was removed
        return
    yield here
    below, home = here, _home()
    for folder in here.parents:
        found = folder.stat()
        is_own = found.st_uid == os.geteuid() and not found.st_mode & stat.S_IWOTH
        if (below / ".git").exists() or folder == home or not is_own:
            return
        yield folder
        below = folder


def _home() -> Path | None:
    try:
        return home_folder().resolve()
    except NoHome:
        return None


def is_ours(path: Path) -> bool:
    """Tell whether a file is a Quarterdeck database, damaged or not."""
    try:
        check_database(path)
    except (NotOurFile, MissingFile):
        return False
    except StoreError:
        return True
    return True
