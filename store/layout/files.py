"""The files of one store, and checks of their folder.

Never open the database itself with `open`: closing such a descriptor drops the locks that SQLite
holds on the same file in this process.
"""

import errno
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from store.errors import (
    DiskFailed,
    DiskFull,
    MissingFile,
    MissingFolder,
    NoPermission,
    NotOurFile,
    ReadOnlyFolder,
    SecondName,
    StoreError,
    UnusablePath,
)

_MAX_SUFFIX_BYTES = len("-inbox-new-0123456789ab")
_MAX_NAME_BYTES = 255 - _MAX_SUFFIX_BYTES
_MAX_PATH_BYTES = 512 - len("-journal") - _MAX_SUFFIX_BYTES
"""SQLite allows paths of 512 bytes, including the suffixes that it appends (MAX_PATHNAME in its os_unix.c)."""
_LINK_GRACE_S = 0.05
"""A new file has two names for a moment, while it is moved to its final name."""
_TRIAL_BYTES = 65_536
_DISK_FULL_CODES = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_READ_ONLY_CODES = {errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOENT}


@dataclass(frozen=True, slots=True)
class Files:
    """The paths of all files of one database."""

    database: Path

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> "Files":
        """Return the files of the database at `path`, with links resolved, so that two names share one lock.

        Raises:
            UnusablePath: If `path` is too long for a database.
            NotOurFile: If it cannot be the name of a file.
        """
        try:
            database = Path(path).resolve()
            if len(os.fsencode(database.name)) > _MAX_NAME_BYTES:
                raise UnusablePath(Path(path), "has a name too long for the files beside it")
            if len(os.fsencode(database)) > _MAX_PATH_BYTES:
                raise UnusablePath(Path(path), f"is too long for SQLite, which takes {_MAX_PATH_BYTES} bytes here")
            return cls(database)
        except (OSError, RuntimeError, ValueError) as error:
            raise NotOurFile(Path(path), "is not the name of a file") from error

    @property
    def inbox(self) -> Path:
        """Commands; the only file that clients write."""
        return self._sidecar("-inbox")

    @property
    def live(self) -> Path:
        """Heartbeat and streamed text."""
        return self._sidecar("-live")

    @property
    def lock(self) -> Path:
        """Locked by the engine until its process ends."""
        return self._sidecar("-lock")

    @property
    def standbys(self) -> str:
        """Prefix of the names of standby files."""
        return f"{self.database.name}-standby-"

    @property
    def wal(self) -> Path:
        """SQLite's write-ahead log: part of the database."""
        return self._sidecar("-wal")

    @property
    def wal_index(self) -> Path:
        """SQLite's shared-memory index of that log."""
        return self._sidecar("-shm")

    def _sidecar(self, suffix: str) -> Path:
        return self.database.with_name(self.database.name + suffix)


def file_size(path: Path, *, disposable: bool = False) -> int:
    """Size in bytes of a regular file, without opening it.

    Raises:
        MissingFile, MissingFolder, NoPermission: If it does not exist, or cannot be examined.
        NotOurFile: If it is a folder, a pipe, a device or a socket.
    """
    try:
        # A symbolic link in place of a sidecar file is an attack; the path of the database itself is already resolved.
        status = path.lstat() if disposable else path.stat()
    except FileNotFoundError:
        raise (MissingFile(path) if path.parent.exists() else MissingFolder(path.parent)) from None
    except NotADirectoryError:
        raise MissingFolder(path.parent) from None
    except PermissionError:
        raise NoPermission(path) from None
    except OSError as error:
        raise NotOurFile(path, f"cannot be looked at ({error.strerror})", disposable=disposable) from error
    if not stat.S_ISREG(status.st_mode):
        raise NotOurFile(path, _describe_type(status.st_mode), disposable=disposable)
    return status.st_size


def check_single_name(path: Path) -> None:
    """Raise SecondName if a database has a second name, which would have its own log, lock and inbox."""
    if _count_links(path) > 1:
        time.sleep(_LINK_GRACE_S)
        if _count_links(path) > 1:
            raise SecondName(path)


def _count_links(path: Path) -> int:
    try:
        return path.stat().st_nlink
    except OSError:  # deleted in the meantime: opening it fails next
        return 0


def _describe_type(mode: int) -> str:
    descriptions = {
        stat.S_IFDIR: "is a folder",
        stat.S_IFIFO: "is a pipe",
        stat.S_IFSOCK: "is a socket",
        stat.S_IFLNK: "is a link",
    }
    return descriptions.get(stat.S_IFMT(mode), "is a device")


def open_for_writing(path: Path, *, append: bool = False) -> int:
    """Open a file for writing, created with mode 0600 if it is missing; existing content is kept.

    For every file with a predictable name, where anyone with write permission for the folder can place a link.

    Raises:
        NotOurFile: If it is a link, has a second name, belongs to another user or is not a regular file.
        OSError: If it cannot be opened.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC | (os.O_APPEND if append else 0)
    try:
        descriptor = os.open(path, flags, 0o600)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EISDIR, errno.ENXIO, errno.EOPNOTSUPP):
            raise NotOurFile(path, _describe_type(path.lstat().st_mode), disposable=True) from error
        raise
    status = os.fstat(descriptor)
    fault = ""
    if not stat.S_ISREG(status.st_mode):
        fault = _describe_type(status.st_mode)
    elif status.st_nlink > 1:
        fault = "has another name (a hard link)"
    elif os.geteuid() not in (status.st_uid, 0) and status.st_uid != 0:
        fault = "belongs to another user"
    if fault:
        os.close(descriptor)
        raise NotOurFile(path, fault, disposable=True)
    return descriptor


def exists(path: Path, *, disposable: bool = False) -> bool:
    """Return whether anything exists at `path`; raises as `file_size`."""
    try:
        file_size(path, disposable=disposable)
    except (MissingFile, MissingFolder):
        return False
    return True


def check_readable(path: Path) -> None:
    """Raise NoPermission unless this user may read the file."""
    if not _has_access(path, os.R_OK):
        raise NoPermission(path)


def check_writable_folder(folder: Path) -> None:
    """Check that files can be created in `folder`.

    Raises:
        MissingFolder, NoPermission, ReadOnlyFolder: If they cannot.
    """
    try:
        if not stat.S_ISDIR(folder.stat().st_mode):
            raise MissingFolder(folder)
    except (FileNotFoundError, NotADirectoryError):
        raise MissingFolder(folder) from None
    except PermissionError:
        raise NoPermission(folder) from None
    if not _has_access(folder, os.X_OK):
        raise NoPermission(folder)
    if not _has_access(folder, os.W_OK):
        raise ReadOnlyFolder(folder)


@contextmanager
def translate_os_errors(path: Path) -> Iterator[None]:
    """Translate errors of the operating system while creating `path`."""
    try:
        yield
    except OSError as error:
        if error.errno in _DISK_FULL_CODES:
            raise DiskFull(path) from error
        if error.errno == errno.EIO:
            raise DiskFailed(path) from error
        if error.errno in _READ_ONLY_CODES:
            raise ReadOnlyFolder(path.parent) from error
        raise StoreError(f"{path} cannot be made ({error.strerror}): choose another path") from error


def is_disk_full(path: Path) -> bool:
    """Return whether the disk lacks space for a second file of the size of `path`; creates one to find out."""
    trial = path.with_name(f"{path.name}-new-{os.urandom(6).hex()}")
    try:
        max_size = max(file.stat().st_size for file in (path, Files(path).wal) if file.exists())
        descriptor = os.open(trial, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        try:
            os.pwrite(descriptor, b"\0", max_size + _TRIAL_BYTES)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
            trial.unlink(missing_ok=True)
    except (OSError, ValueError) as error:
        return isinstance(error, OSError) and error.errno in _DISK_FULL_CODES
    return False


def create_temporary(path: Path) -> Path:
    """Create an empty temporary file of mode 0600 beside `path`, for `put_in_place`.

    Raises:
        ReadOnlyFolder, DiskFull: If the folder does not allow it.
    """
    temporary = path.with_name(f"{path.name}-new-{os.urandom(6).hex()}")
    with translate_os_errors(path):
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    return temporary


def put_in_place(temporary: Path, path: Path) -> None:
    """Give a finished file its final name, unless another process was first; durable when this returns.

    Raises:
        ReadOnlyFolder, DiskFull: If the folder does not allow it.
    """
    with translate_os_errors(path):
        sync(temporary)
        # An empty file (made by `touch`, for example) is replaced; for a missing one, a hard link fails if another
        # process was faster, which a rename would overwrite.
        if exists(path) and file_size(path) == 0:
            temporary.replace(path)
        else:
            _link(temporary, path)
        sync(path.parent)


def _link(temporary: Path, path: Path) -> None:
    try:
        os.link(temporary, path)
        temporary.unlink()  # at once: a database that has two names is refused
    except FileExistsError:
        return
    except OSError as error:
        # A file system without hard links: only a rename is possible, although it could overwrite a file.
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS):
            raise
        temporary.rename(path)


def sync(path: Path) -> None:
    """Flush a folder, or a file that no process has open, so that its content and renames survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def is_writable(path: Path) -> bool:
    """Return whether this user may write the file."""
    return _has_access(path, os.W_OK)


def can_command(database: Path) -> bool:
    """Return whether this user may give commands to the team of a database, rather than only view it."""
    inbox = Files.of(database).inbox
    return is_writable(inbox if _has_access(inbox, os.F_OK) else inbox.parent)


def _has_access(path: Path, mode: int) -> bool:
    """Test permissions of the effective user, who also opens the files, not of the real one."""
    return os.access(path, mode, effective_ids=os.access in os.supports_effective_ids)
