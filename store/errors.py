"""The errors of the store, one class for each decision that a caller can take.

Each message is one line: the problem, the file, and what to do next. The data is in fields.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from typing_extensions import override


def format_message(error: Any) -> str:
    """Format an error's template `says` with its fields."""
    return error.template.format_map(_MessageFields(error)) if error.template else Exception.__str__(error)


class _MessageFields:
    """The fields of an error for its message; a path is formatted on one line."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __getitem__(self, name: str) -> Any:
        value = getattr(self._error, name)
        return format_path(value) if isinstance(value, Path) else value


def format_path(path: Path) -> str:
    """Return a path as printable text on one line."""
    text = str(path)
    return text if text.isprintable() else ascii(text)


class StoreError(Exception):
    """Base class of the errors of this package."""

    template: ClassVar[str] = ""
    __str__ = format_message


@dataclass(eq=False)
class PathError(StoreError):
    """Base class of the errors about one file or folder."""

    path: Path


@dataclass(eq=False)
class UnusablePath(PathError):
    """A database cannot be created at a path; nothing was written."""

    reason: str
    template = "{path} {reason}; nothing was made: choose another path"


class SecondName(PathError):
    """A database has a second name (a hard link), under which it would get its own log, lock and inbox."""

    template = (
        "{path} has another name (a hard link): with a log for each name it would be damaged;"
        " find it with 'find FOLDER -samefile {path}', and remove one of them"
    )


@dataclass(eq=False)
class NotOurFile(PathError):
    """The file at a path was not written by this program; it was not changed."""

    description: str
    """What the file is, for the message: `is a folder`."""
    disposable: bool = False
    """True if the file can be deleted: it is created again when needed."""

    @override
    def __str__(self) -> str:
        advice = "delete it, it is made again" if self.disposable else "choose another path"
        return f"{format_path(self.path)} {self.description}, not one of our files; nothing was changed: {advice}"


@dataclass(eq=False)
class NewerFile(PathError):
    """A file was written by a later version of this program."""

    version: int
    """Version of its layout."""
    newest: int
    """Newest version that this program reads."""
    template = "{path} has layout {version}, this program reads up to {newest}: upgrade quarterdeck to open it"


@dataclass(eq=False)
class OlderFile(PathError):
    """A file was written by an earlier version of this program, whose layout is no longer supported."""

    version: int
    """Version of its layout."""
    oldest: int
    """Oldest version that this program reads."""
    template = "{path} has layout {version}, this program reads from {oldest} on: start a new file"


@dataclass(eq=False)
class CorruptFile(PathError):
    """A Quarterdeck file is damaged."""

    damage: str
    """What is damaged, for the message: `event 7 is missing`."""
    disposable: bool = False
    """As in `NotOurFile`."""

    @override
    def __str__(self) -> str:
        advice = "stop the engine and delete it; it is created again" if self.disposable else "restore it from a copy"
        return f"{format_path(self.path)} is damaged ({self.damage}): {advice}"


@dataclass(eq=False)
class RowsLost(PathError):
    """A journal ends before an acknowledged row: its log was truncated, or the file is an older copy."""

    end_seq: int
    """Seq of the last row in the journal."""
    acknowledged_seq: int
    """Seq of the last acknowledged row."""

    @override
    def __str__(self) -> str:
        rows, path = self.acknowledged_seq - self.end_seq, format_path(self.path)
        return (
            f"{path} has lost {rows} event{'s' * (rows != 1)}: its journal ends at {self.end_seq}, and event"
            f" {self.acknowledged_seq} was acknowledged: restore the file and its -wal from a copy, or go on without"
            f" them: quarterdeck engine --accept-loss {rows} --db {path}; in a program accept_loss={rows}"
        )


@dataclass(eq=False)
class ReadRowsLost(PathError):
    """A journal no longer contains rows that were read from it; other rows may get their seqs."""

    seq: int
    """The last row that was read."""
    template = "{path} has lost events that were read from it, event {seq} among them: open it again"


class LeftoverWal(PathError):
    """A write-ahead log exists without its database; SQLite would apply it to a new one."""

    template = (
        "{path} is left over from a database that no longer exists: put the database back beside it, or delete it"
    )


class NameTaken(PathError):
    """The path of a new file is already in use."""

    template = "{path} already exists: give another name"


class MissingFile(PathError):
    """The file to read does not exist."""

    template = "{path} does not exist: check the path, or make one: quarterdeck up TEAM"


class MissingFolder(PathError):
    """The folder of the file does not exist."""

    template = "the folder {path} does not exist: make it first, or choose another path"


class NoPermission(PathError):
    """The operating system denies this user access to a file or folder."""

    template = "no permission for {path}: ask its owner for access, or choose another path"


class ReadOnlyFolder(PathError):
    """The folder is read-only."""

    template = "the folder {path} cannot be written: choose another path, or copy the file into another folder"


@dataclass(eq=False)
class NetworkFileSystem(PathError):
    """The folder is on a network file system, whose locks are unreliable."""

    filesystem: str
    """Type of the file system, as the operating system reports it."""
    template = "{path} is on a network file system ({filesystem}), which can lose data: use a local disk"


class DiskFull(PathError):
    """The disk is full; nothing was written, and the write can be retried."""

    template = "no room to write {path}: free some space; nothing is lost, it can be repeated"


class DiskFailed(DiskFull):
    """A write failed on a disk that is not full; nothing was written, and the write can be retried."""

    template = "{path} cannot be written: the disk reports an I/O error; look at the disk; nothing is lost"


@dataclass(eq=False)
class ClockUnusable(StoreError):
    """The computer's clock is outside the range of times that a database can store."""

    template = "the clock of this computer is before 1970 or after 2261: set it, then start again; nothing is lost"


@dataclass(eq=False)
class CommandTooLarge(StoreError):
    """A command exceeds the size limit of the inbox; nothing was written."""

    size_bytes: int
    max_bytes: int

    @override
    def __str__(self) -> str:
        sizes = f"{self.size_bytes / 1e6:,.1f} MB, and at most {self.max_bytes / 1e6:,.0f} MB are taken"
        return f"the command has {sizes}: pass large data by the name of a file"


@dataclass(eq=False)
class StoreBusy(StoreError):
    """Another process holds the file."""

    pid: int | None
    """Process that holds it, or None if the lock file does not say."""
    since_ms: int | None
    """When it acquired the lock, in UTC milliseconds; None if unknown."""
    path: Path

    @override
    def __str__(self) -> str:
        holder = f"the engine with pid {self.pid}" if self.pid is not None else "another process"
        return f"{format_path(self.path)} is held by {holder}: stop that one first, or attach to it as a client"


class InboxBusy(StoreBusy):
    """Other senders held the lock of the inbox until the client's timeout; the command was not sent."""

    def __init__(self, path: Path, waited_s: float) -> None:
        super().__init__(None, None, path)
        self.waited_s = waited_s

    @override
    def __str__(self) -> str:
        return (
            f"{format_path(self.path)} was in use by other senders for {self.waited_s:g} s,"
            " so the command was not sent: send it again"
        )


@dataclass(eq=False)
class Deposed(StoreError):
    """Another engine raised the token: this one can no longer write."""

    token: int
    """Token that this engine wrote with."""
    newer_token: int
    """Token that the file has now."""
    template = "token {token} was replaced by {newer_token}: another engine took over, stop this one"


@dataclass(eq=False)
class FileLost(PathError):
    """The database was deleted, moved away or replaced while an engine held it."""

    reason: str
    """What happened to the file, for the message: `was deleted or moved away`."""
    template = "{path} {reason} under its engine, which stops: start another on the file to continue with"


class NotItsTurn(PathError):
    """Another engine took over before this standby."""

    template = "{path} was taken over by another engine first: keep standing by"


@dataclass(eq=False)
class SeqTaken(StoreError):
    """A batch does not start where the journal ends."""

    expected: int
    """First seq of the batch."""
    last_seq: int
    """Last seq of the journal."""
    template = "cannot append at seq {expected}, the journal ends at {last_seq}: read it again from there"


@dataclass(eq=False)
class NoSuchSeq(StoreError):
    """The journal has no record with a seq."""

    seq: int
    template = "the journal has no record {seq}: it may be newer than the file, or compacted away"
