"""The operating system's lock on a store, held until the process ends.

Only the lock counts; the content of the lock file (pid, time) serves the message of a second engine.
"""

import contextlib
import fcntl
import os
import time
from pathlib import Path

from store.errors import FileLost, NoPermission, NotOurFile, StoreBusy
from store.layout.files import open_for_writing, translate_os_errors
from store.leadership.process import can_exist
from store.wall_clock import wall_ms

_TIMEOUT_S = 0.1
"""How long to wait for an engine that holds the lock."""
_LEFTOVER_S = 10.0
"""How long to wait for short-lived holders: readers that test whether an engine runs, and a child process that a killed
engine had just started. On a busy machine they may need seconds."""


class FileLock:
    """An acquired lock; `release` gives it up."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    def is_in_place(self, path: Path) -> bool:
        """True while the locked file is the one at `path`; a lock on a removed or replaced file excludes nobody."""
        if self._descriptor is None:
            return False
        return identity(path) == identity(self._descriptor)

    def release(self) -> None:
        """Release the lock; a second call does nothing."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


def acquire(path: Path, database: Path, *, timeout_s: float = _TIMEOUT_S) -> FileLock:
    """Take the lock.

    Args:
        path: The lock file; created if missing.
        database: The database, for the message.
        timeout_s: How long to wait while an engine holds it, in seconds.

    Raises:
        StoreBusy: If another engine holds it, also one of this process.
        NotOurFile, NoPermission, ReadOnlyFolder, DiskFull: If the lock file cannot be opened or created.
    """
    descriptor = open_lock_file(path)
    began_s = time.monotonic()
    try:
        while not _try_lock(descriptor, fcntl.LOCK_EX):
            waited_s = time.monotonic() - began_s
            if waited_s >= timeout_s and (waited_s >= _LEFTOVER_S or _is_engine_lock(descriptor)):
                raise StoreBusy(*_read_holder(descriptor), database)
            time.sleep(0.005)
    except BaseException:
        os.close(descriptor)
        raise
    return adopt_lock(descriptor)


def adopt_lock(descriptor: int) -> FileLock:
    """Return the lock that this process has on an open file, after noting the holder in the file."""
    _write_holder(descriptor)
    return FileLock(descriptor)


def identity(file: Path | int) -> tuple[int, int] | None:
    """Return the identity (device, inode) of the file at a path or of an open file; None if there is none."""
    try:
        status = os.fstat(file) if isinstance(file, int) else file.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def find_file_loss(path: Path, opened_identity: tuple[int, int] | None) -> FileLost | None:
    """Return an error if `path` no longer leads to the open file with `opened_identity`, or None."""
    current_identity = identity(path)
    if current_identity == opened_identity:
        return None
    return FileLost(path, "was deleted or moved away" if current_identity is None else "was replaced by another file")


def is_held(path: Path) -> bool | None:
    """Return whether an engine holds the lock; None if this user may not open it."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    except OSError:
        return None
    try:
        return not _try_lock(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


def open_lock_file(path: Path) -> int:
    """Open a lock file, created if missing, without locking it.

    Raises:
        NotOurFile, NoPermission, ReadOnlyFolder, DiskFull: If it cannot be opened or created.
    """
    try:
        return open_for_writing(path)
    except OSError as error:
        if not path.exists():
            with translate_os_errors(path):
                raise
        if isinstance(error, PermissionError):
            raise NoPermission(path) from error
        raise NotOurFile(path, f"cannot be used as a lock ({error.strerror})", disposable=True) from error


def _try_lock(descriptor: int, operation: int) -> bool:
    try:
        fcntl.flock(descriptor, operation | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_engine_lock(descriptor: int) -> bool:
    """Return whether an engine holds the lock, and not a short-lived holder."""
    if _try_lock(descriptor, fcntl.LOCK_SH):  # so the holder has a shared lock, which is a reader's
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        return False
    pid, _ = _read_holder(descriptor)
    return pid is None or can_exist(pid)


def _write_holder(descriptor: int) -> None:
    with contextlib.suppress(OSError):  # the note is informational; on a full disk the lock is valid without it
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()} {wall_ms()}\n".encode(), 0)


def _read_holder(descriptor: int) -> tuple[int | None, int | None]:
    try:
        pid, since_ms = os.pread(descriptor, 64, 0).split()
        return int(pid), int(since_ms)
    except (OSError, ValueError):
        return None, None
