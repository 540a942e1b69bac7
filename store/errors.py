"""The errors of the store, one class for each decision that a caller can take.

Each message is one line that says what, where and what to do next. Data stands in fields.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar


def worded(error: Any) -> str:
    """Return the message of an error: its `says`, where its fields stand by their names in braces."""
    return error.says.format_map(_Shown(error)) if error.says else Exception.__str__(error)


class _Shown:
    """The fields of an error as its message shows them: on one line, whatever the name of a file is."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __getitem__(self, name: str) -> Any:
        value = getattr(self._error, name)
        return shown(value) if isinstance(value, Path) else value


def shown(path: Path) -> str:
    """Return a path on one line."""
    text = str(path)
    return text if text.isprintable() else ascii(text)


class StoreError(Exception):
    """Base of everything that this package raises on purpose."""

    says: ClassVar[str] = ""
    __str__ = worded


@dataclass(eq=False)
class PathError(StoreError):
    """Base of what is wrong with one file or folder."""

    path: Path


@dataclass(eq=False)
class UnusablePath(PathError):
    """No database can stand at a path; nothing was made."""

    why: str
    says = "{path} {why}; nothing was made: choose another path"


class SecondName(PathError):
    """A database has another name, a hard link, under which it would get a second log, lock and inbox."""

    says = (
        "{path} has another name (a hard link): with a log for each name it would be damaged;"
        " find it with 'find FOLDER -samefile {path}', and remove one of them"
    )


@dataclass(eq=False)
class NotOurFile(PathError):
    """What stands at a path was not written by this program; nothing in it was changed."""

    found: str
    """What it is, in words."""
    disposable: bool = False
    """True if the file may simply be deleted, because it is made again when needed."""

    def __str__(self) -> str:
        what_next = "delete it, it is made again" if self.disposable else "choose another path"
        return f"{shown(self.path)} {self.found}, not one of our files; nothing was changed: {what_next}"


@dataclass(eq=False)
class NewerFile(PathError):
    """A file was written by a later version of this program."""

    found: int
    """Version of its layout."""
    known: int
    """Newest version that this program reads."""
    says = "{path} has layout {found}, this program reads up to {known}: upgrade quarterdeck to open it"


@dataclass(eq=False)
class OlderFile(PathError):
    """A file was written by an earlier version of this program, whose files are read no more."""

    found: int
    """Version of its layout."""
    oldest: int
    """First version that this program reads."""
    says = "{path} has layout {found}, this program reads from {oldest} on: start a new file"


@dataclass(eq=False)
class CorruptFile(PathError):
    """A file is ours, and damaged."""

    found: str
    """What is wrong, in words."""
    disposable: bool = False
    """As of `NotOurFile`."""

    def __str__(self) -> str:
        what_next = (
            "stop the engine and delete it; it is created again" if self.disposable else "restore it from a copy"
        )
        return f"{shown(self.path)} is damaged ({self.found}): {what_next}"


@dataclass(eq=False)
class RowsLost(PathError):
    """A journal ends before a row that was acknowledged: its log was cut off, or an older copy stands there."""

    end_seq: int
    """The last row that is there."""
    acknowledged_seq: int
    """The last that is known to have been there."""

    def __str__(self) -> str:
        rows, path = self.acknowledged_seq - self.end_seq, shown(self.path)
        return (
            f"{path} has lost {rows} event{'s' * (rows != 1)}: its journal ends at {self.end_seq}, and event"
            f" {self.acknowledged_seq} was acknowledged: restore the file and its -wal from a copy, or go on without"
            f" them: quarterdeck engine --accept-loss {rows} --db {path}; in a program accept_loss={rows}"
        )


@dataclass(eq=False)
class ReadRowsLost(PathError):
    """A journal does not hold any more what was read of it: others may come under the same seqs."""

    seq: int
    """The last row that was read."""
    says = "{path} has lost events that were read from it, event {seq} among them: open it again"


class LeftoverWal(PathError):
    """A write-ahead log stands there without its database; opening would mix it into a new one."""

    says = "{path} is left over from a database that no longer exists: put the database back beside it, or delete it"


class NameTaken(PathError):
    """A new file was to stand where something stands already."""

    says = "{path} already exists: give another name"


class MissingFile(PathError):
    """There is no file at a path that was to be read."""

    says = "{path} does not exist: check the path, or make one: quarterdeck up TEAM"


class MissingFolder(PathError):
    """The folder that is to hold the file does not exist."""

    says = "the folder {path} does not exist: make it first, or choose another path"


class NoPermission(PathError):
    """The operating system does not let this user at a file or folder."""

    says = "no permission for {path}: ask its owner for access, or choose another path"


class ReadOnlyFolder(PathError):
    """The folder can be read and not written."""

    says = "the folder {path} cannot be written: choose another path, or copy the file into another folder"


@dataclass(eq=False)
class NetworkFileSystem(PathError):
    """The file would stand in a folder on a network file system, whose locks cannot be trusted."""

    filesystem: str
    """Its type, as the operating system calls it."""
    says = "{path} is on a network file system ({filesystem}), which can lose data: use a local disk"


class DiskFull(PathError):
    """A write to a file found no room; nothing of it was written, and it can be tried again."""

    says = "no room to write {path}: free some space; nothing is lost, it can be repeated"


class DiskFailed(DiskFull):
    """A write to a file failed on a disk that has room; nothing of it was written, and it can be tried again."""

    says = "{path} cannot be written: the disk reports an I/O error; look at the disk; nothing is lost"


@dataclass(eq=False)
class ClockUnusable(StoreError):
    """The clock of this computer says a time that no database can hold."""

    says = "the clock of this computer is before 1970 or after 2261: set it, then start again; nothing is lost"


@dataclass(eq=False)
class CommandTooLarge(StoreError):
    """A command is larger than an inbox takes; nothing of it was written."""

    size_bytes: int
    largest_bytes: int

    def __str__(self) -> str:
        sizes = f"{self.size_bytes / 1e6:,.1f} MB, and at most {self.largest_bytes / 1e6:,.0f} MB are taken"
        return f"the command has {sizes}: pass large data by the name of a file"


@dataclass(eq=False)
class StoreBusy(StoreError):
    """Another process holds the file."""

    pid: int | None
    """Process that holds it, or None if the lock file does not say."""
    since_ms: int | None
    """UTC milliseconds since when, or None."""
    path: Path

    def __str__(self) -> str:
        holder = f"the engine with pid {self.pid}" if self.pid is not None else "another process"
        return f"{shown(self.path)} is held by {holder}: stop that one first, or attach to it as a client"


class InboxBusy(StoreBusy):
    """Other senders have written an inbox for as long as a client waits; its command was not put."""

    def __init__(self, path: Path, waited_s: float) -> None:
        super().__init__(None, None, path)
        self.waited_s = waited_s

    def __str__(self) -> str:
        return (
            f"{shown(self.path)} was in use by other senders for {self.waited_s:g} s,"
            " so the command was not sent: send it again"
        )


@dataclass(eq=False)
class Deposed(StoreError):
    """Another engine raised the token: this one may never write again."""

    token: int
    """Token that this engine wrote with."""
    found: int
    """Token that the file has now."""
    says = "token {token} was replaced by {found}: another engine took over, stop this one"


@dataclass(eq=False)
class FileLost(PathError):
    """The database was deleted, moved away or replaced while an engine held it."""

    found: str
    """What stands there now, in words."""
    says = "{path} {found} under its engine, which stops: start another on the file to continue with"


class NotItsTurn(PathError):
    """An engine that stood by was about to take over, and another was first."""

    says = "{path} was taken over by another engine first: keep standing by"


@dataclass(eq=False)
class SeqTaken(StoreError):
    """A batch does not start where the journal ends."""

    expected: int
    """First seq of the batch."""
    found: int
    """Last seq of the journal."""
    says = "cannot append at seq {expected}, the journal ends at {found}: read it again from there"


@dataclass(eq=False)
class NoSuchSeq(StoreError):
    """The journal has no record with a seq."""

    seq: int
    says = "the journal has no record {seq}: it may be newer than the file, or compacted away"
