"""The operating system's lock on a store: held until its process ends.

What the lock file says (pid and time) is only for the message of the one who comes second.
"""

import contextlib
import fcntl
import os
import stat
import time
from pathlib import Path

from store.errors import NoPermission, NotOurFile, StoreBusy
from store.files import made_in
from store.process import may_run

_PATIENCE_S = 0.1
"""How long an engine that holds it is waited for."""
_LEFTOVER_S = 10.0
"""How long others are waited for, who let go by themselves, on a busy machine not at once: readers that look whether an
engine lives, and a child that an engine was about to start when it was killed."""


class FileLock:
    """An acquired lock; `release` gives it up."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    def is_in_place(self, path: Path) -> bool:
        """True while the file that is locked is the one at `path`: a removed or replaced one excludes no process."""
        if self._descriptor is None:
            return False
        return identity(path) == identity(self._descriptor)

    def release(self) -> None:
        """Let go; a second call changes nothing."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


def acquire(path: Path, database: Path, *, patience_s: float = _PATIENCE_S) -> FileLock:
    """Take the lock, or say who has it.

    Args:
        path: The lock file; made if it is missing.
        database: What it is about, for the message.
        patience_s: How long to try while an engine holds it, in seconds.

    Raises:
        StoreBusy: If another holds it, also in this same process.
        NotOurFile, NoPermission, ReadOnlyFolder, DiskFull: If there can be no lock file.
    """
    descriptor = opened(path)
    began_s = time.monotonic()
    try:
        while not _taken(descriptor, fcntl.LOCK_EX):
            waited_s = time.monotonic() - began_s
            if waited_s >= patience_s and (waited_s >= _LEFTOVER_S or _is_an_engines(descriptor)):
                raise StoreBusy(*_holder(descriptor), database)
            time.sleep(0.005)
    except BaseException:
        os.close(descriptor)
        raise
    return held(descriptor)


def held(descriptor: int) -> FileLock:
    """The lock that this process has on an open file, with its holder noted in it."""
    _note_holder(descriptor)
    return FileLock(descriptor)


def identity(file: Path | int) -> tuple[int, int] | None:
    """Which file stands at a path, or is open; None when there is none."""
    try:
        found = os.fstat(file) if isinstance(file, int) else file.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def is_held(path: Path) -> bool | None:
    """Whether an engine holds the lock; None when this user may not look."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    except OSError:
        return None
    try:
        return not _taken(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


def opened(path: Path) -> int:
    """Open a lock file, made if it is missing; it is not locked yet.

    Raises:
        NotOurFile, NoPermission, ReadOnlyFolder, DiskFull: If there can be none.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    except OSError as error:
        if not path.exists():
            with made_in(path):
                raise
        if isinstance(error, PermissionError):
            raise NoPermission(path) from error
        raise NotOurFile(path, f"cannot be used as a lock ({error.strerror})", disposable=True) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise NotOurFile(path, "is not a regular file", disposable=True)
    return descriptor


def _taken(descriptor: int, how: int) -> bool:
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_an_engines(descriptor: int) -> bool:
    """Tell whether the process that has noted itself holds the lock; False for those who let go by themselves."""
    if _taken(descriptor, fcntl.LOCK_SH):
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        return False
    pid, _ = _holder(descriptor)
    return pid is None or may_run(pid)


def _note_holder(descriptor: int) -> None:
    # On a full disk the lock counts all the same.
    with contextlib.suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()} {time.time_ns() // 1_000_000}\n".encode(), 0)


def _holder(descriptor: int) -> tuple[int | None, int | None]:
    try:
        pid, since_ms = os.pread(descriptor, 64, 0).split()
        return int(pid), int(since_ms)
    except (OSError, ValueError):
        return None, None
