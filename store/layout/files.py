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

_BESIDE_BYTES = len("-inbox-new-0123456789ab")
_LONGEST_NAME_BYTES = 255 - _BESIDE_BYTES
_LONGEST_PATH_BYTES = 512 - len("-journal") - _BESIDE_BYTES
"""SQLite allows paths of 512 bytes, including the suffixes that it appends (MAX_PATHNAME in its os_unix.c)."""
_NAMED_WITHIN_S = 0.05
"""A new file has a second name for a moment, when it is put in its place."""
_TRIAL_BYTES = 65_536
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_NOT_ALLOWED = {errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOENT}


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
            if len(os.fsencode(database.name)) > _LONGEST_NAME_BYTES:
                raise UnusablePath(Path(path), "has a name too long for the files beside it")
            if len(os.fsencode(database)) > _LONGEST_PATH_BYTES:
                raise UnusablePath(Path(path), f"is too long for SQLite, which takes {_LONGEST_PATH_BYTES} bytes here")
            return cls(database)
        except (OSError, RuntimeError, ValueError) as error:
            raise NotOurFile(Path(path), "is not the name of a file") from error

    @property
    def inbox(self) -> Path:
        """Commands; the only file that clients write."""
        return self._beside("-inbox")

    @property
    def live(self) -> Path:
        """Heartbeat and streamed text."""
        return self._beside("-live")

    @property
    def lock(self) -> Path:
        """Held by the engine for its whole life."""
        return self._beside("-lock")

    @property
    def standbys(self) -> str:
        """Prefix of the names of standby files."""
        return f"{self.database.name}-standby-"

    @property
    def wal(self) -> Path:
        """SQLite's write-ahead log: part of the database."""
        return self._beside("-wal")

    @property
    def wal_index(self) -> Path:
        """What SQLite's connections share to read that log."""
        return self._beside("-shm")

    def _beside(self, suffix: str) -> Path:
        return self.database.with_name(self.database.name + suffix)


def file_size(path: Path, *, disposable: bool = False) -> int:
    """Size in bytes of a regular file, without opening it.

    Raises:
        MissingFile, MissingFolder, NoPermission: If it is not there, or cannot be looked at.
        NotOurFile: If it is a folder, a pipe, a device or a socket.
    """
    try:
        # A link in place of a file beside a database was planted; the path of the database itself is resolved before.
        found = path.lstat() if disposable else path.stat()
    except FileNotFoundError:
        raise (MissingFile(path) if path.parent.exists() else MissingFolder(path.parent)) from None
    except NotADirectoryError:
        raise MissingFolder(path.parent) from None
    except PermissionError:
        raise NoPermission(path) from None
    except OSError as error:
        raise NotOurFile(path, f"cannot be looked at ({error.strerror})", disposable=disposable) from error
    if not stat.S_ISREG(found.st_mode):
        raise NotOurFile(path, _kind_of(found.st_mode), disposable=disposable)
    return found.st_size


def check_single_name(path: Path) -> None:
    """Check that a database has no other name: each would have a log, a lock and an inbox of its own.

    Raises:
        SecondName: If it has.
    """
    if _names_of(path) > 1:
        time.sleep(_NAMED_WITHIN_S)
        if _names_of(path) > 1:
            raise SecondName(path)


def _names_of(path: Path) -> int:
    try:
        return path.stat().st_nlink
    except OSError:  # deleted meanwhile: opening it fails next, and says so
        return 0


def _kind_of(mode: int) -> str:
    names = {
        stat.S_IFDIR: "is a folder", stat.S_IFIFO: "is a pipe", stat.S_IFSOCK: "is a socket", stat.S_IFLNK: "is a link",
    }  # fmt: skip
    return names.get(stat.S_IFMT(mode), "is a device")


def open_for_writing(path: Path, *, append: bool = False) -> int:
    """Open a file to write it, created with mode 0600 if it is missing; what is in it stays.

    For every file whose name is known beforehand: whoever may write its folder can plant something else there.

    Raises:
        NotOurFile: If that is a link, a file with a second name or of another user, or no file; nothing was changed.
        OSError: If it cannot be opened.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC | (os.O_APPEND if append else 0)
    try:
        descriptor = os.open(path, flags, 0o600)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EISDIR, errno.ENXIO, errno.EOPNOTSUPP):
            raise NotOurFile(path, _kind_of(path.lstat().st_mode), disposable=True) from error
        raise
    found = os.fstat(descriptor)
    wrong = ""
    if not stat.S_ISREG(found.st_mode):
        wrong = _kind_of(found.st_mode)
    elif found.st_nlink > 1:
        wrong = "has another name (a hard link)"
    elif os.geteuid() not in (found.st_uid, 0) and found.st_uid != 0:
        wrong = "belongs to another user"
    if wrong:
        os.close(descriptor)
        raise NotOurFile(path, wrong, disposable=True)
    return descriptor


def exists(path: Path, *, disposable: bool = False) -> bool:
    """Return whether anything exists at `path`.

    Raises:
        NoPermission, NotOurFile: As `file_size`.
    """
    try:
        file_size(path, disposable=disposable)
    except (MissingFile, MissingFolder):
        return False
    return True


def check_readable(path: Path) -> None:
    """Raise NoPermission unless this user may read the file."""
    if not _may(path, os.R_OK):
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
    if not _may(folder, os.X_OK):
        raise NoPermission(folder)
    if not _may(folder, os.W_OK):
        raise ReadOnlyFolder(folder)


@contextmanager
def made_in(path: Path) -> Iterator[None]:
    """Translate errors of the operating system while creating `path`."""
    try:
        yield
    except OSError as error:
        if error.errno in _NO_ROOM:
            raise DiskFull(path) from error
        if error.errno == errno.EIO:
            raise DiskFailed(path) from error
        if error.errno in _NOT_ALLOWED:
            raise ReadOnlyFolder(path.parent) from error
        raise StoreError(f"{path} cannot be made ({error.strerror}): choose another path") from error


def finds_no_room(path: Path) -> bool:
    """Return whether a file beside `path` cannot be made as long as it, for want of room; tries that."""
    trial = path.with_name(f"{path.name}-new-{os.urandom(6).hex()}")
    try:
        longest = max(one.stat().st_size for one in (path, Files(path).wal) if one.exists())
        descriptor = os.open(trial, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        try:
            os.pwrite(descriptor, b"\0", longest + _TRIAL_BYTES)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
            trial.unlink(missing_ok=True)
    except (OSError, ValueError) as error:
        return isinstance(error, OSError) and error.errno in _NO_ROOM
    return False


def new_beside(path: Path) -> Path:
    """Create an empty temporary file of mode 0600 beside `path`, to be filled and then put in its place.

    Raises:
        ReadOnlyFolder, DiskFull: If the folder does not allow it.
    """
    temporary = path.with_name(f"{path.name}-new-{os.urandom(6).hex()}")
    with made_in(path):
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    return temporary


def put_in_place(temporary: Path, path: Path) -> None:
    """Give a finished file its final name, unless another process was first; durable when this returns.

    Raises:
        ReadOnlyFolder, DiskFull: If the folder does not allow it.
    """
    with made_in(path):
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
        # A file system without hard links: a rename is all there is, although it could overwrite.
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS):
            raise
        temporary.rename(path)


def sync(path: Path) -> None:
    """Write a folder, or a file that no process has open, to the disk; renames in a folder survive a power cut then."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def is_writable(path: Path) -> bool:
    """Return whether this user may write the file."""
    return _may(path, os.W_OK)


def may_command(database: Path) -> bool:
    """Return whether this user may give the team of a database commands: who may only read it is a viewer."""
    inbox = Files.of(database).inbox
    return is_writable(inbox if _may(inbox, os.F_OK) else inbox.parent)


def _may(path: Path, how: int) -> bool:
    """Test permissions of the effective user, who also opens the files, not of the real one."""
    return os.access(path, how, effective_ids=os.access in os.supports_effective_ids)
