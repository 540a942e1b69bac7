"""The registry of standby engines: a small file for each beside the database, locked as long as it waits.

Only the lock counts, and it ends with its process; the content (pid, since when, last beat) is for display. A file
without a lock is left over from a kill, and the next standby removes it.
"""

import contextlib
import fcntl
import os
from pathlib import Path

from store.journals.records import StandbyInfo
from store.layout.files import Files, translate_os_errors
from store.leadership.lease import monotonic_ms
from store.leadership.lock import identity
from store.leadership.process import boot_id
from store.wall_clock import wall_ms

_NOTE_BYTES = 200


class Registration:
    """The registration of one standby engine; made by `register_standby`."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        self._descriptor: int | None = descriptor
        self._since_ms = wall_ms()
        self._boot_id = boot_id()
        self.beat()

    def beat(self) -> None:
        """Publish a heartbeat."""
        if self._descriptor is None:
            return
        note = f"{os.getpid()} {self._since_ms} {monotonic_ms()} {self._boot_id}\n"
        with contextlib.suppress(OSError):  # the note is informational; on a full disk the lock is valid without it
            os.pwrite(self._descriptor, note.encode().ljust(_NOTE_BYTES), 0)

    def leave(self) -> None:
        """Remove the registration; a second call does nothing."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            with contextlib.suppress(OSError):
                self._path.unlink(missing_ok=True)
            os.close(descriptor)


def register_standby(files: Files) -> Registration:
    """Register a standby engine; raises ReadOnlyFolder, DiskFull, StoreError if the file cannot be created."""
    _remove_leftovers(files)
    while True:
        path = files.database.with_name(f"{files.standbys}{os.urandom(4).hex()}")
        with translate_os_errors(path):
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        # Between open and lock a concurrent sweep may have removed it as a leftover: then try another name.
        if _try_lock(descriptor, fcntl.LOCK_EX) and identity(path) == identity(descriptor):
            return Registration(path, descriptor)
        os.close(descriptor)


def standbys(path: str | os.PathLike[str]) -> list[StandbyInfo]:
    """Standbys of the database at `path`, longest waiting first; raises NotOurFile if no file can have that name."""
    return standbys_beside(Files.of(path))


def standbys_beside(files: Files) -> list[StandbyInfo]:
    """As `standbys`, for known file names."""
    infos = [info for path in _standby_files(files) if (info := _read_standby(path)) is not None]
    return sorted(infos, key=lambda info: (info.since_ms, info.pid))


def _read_standby(path: Path) -> StandbyInfo | None:
    """Return the standby that holds the file; None if it is free, or unreadable for this user."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if _try_lock(descriptor, fcntl.LOCK_SH):
            return None
        pid, since_ms, beat_ms, boot = os.pread(descriptor, _NOTE_BYTES, 0).decode().split()
        age_ms = max(0, monotonic_ms() - int(beat_ms)) if boot == boot_id() else None
        return StandbyInfo(pid=int(pid), since_ms=int(since_ms), beat_ms=age_ms)
    except (OSError, ValueError):
        return None
    finally:
        os.close(descriptor)


def _remove_leftovers(files: Files) -> None:
    for path in _standby_files(files):
        with contextlib.suppress(OSError):
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                if _try_lock(descriptor, fcntl.LOCK_EX):
                    path.unlink(missing_ok=True)
            finally:
                os.close(descriptor)


def _standby_files(files: Files) -> list[Path]:
    folder = files.database.parent
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        return [folder / entry.name for entry in entries if entry.name.startswith(files.standbys)]
    return []


def _try_lock(descriptor: int, operation: int) -> bool:
    with contextlib.suppress(BlockingIOError):
        fcntl.flock(descriptor, operation | fcntl.LOCK_NB)
        return True
    return False
