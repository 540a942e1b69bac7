"""The errors of the store, one class for each decision that a caller can take.

Each message is one line that says what, where and what to do next. Data stands in attributes.
"""

from pathlib import Path
from typing import ClassVar


def _shown(path: Path | str) -> str:
    """Keep a message on one line, whatever the name of the file is."""
    text = str(path)
    return text if text.isprintable() else ascii(text)


class StoreError(Exception):
    """Base of everything that this package raises on purpose."""


class PathError(StoreError):
    """Base of what is wrong with one file or folder.

    Attributes:
        path: Which one.
    """

    says: ClassVar[str]
    """The message; `{path}` stands in it."""

    def __init__(self, path: Path | str) -> None:
        super().__init__(self.says.format(path=_shown(path)))
        self.path = path


class UnusablePath(StoreError):
    """No database can stand at a path; nothing was made.

    Attributes:
        path: The path.
        why: What is wrong with it.
    """

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{_shown(path)} {why}; nothing was made: choose another path")
        self.path = path
        self.why = why


class SecondName(StoreError):
    """A database has another name, a hard link, under which it would get a second log, lock and inbox.

    Attributes:
        path: The name that was given.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{_shown(path)} has another name (a hard link): with a log for each name it would be damaged;"
            f" find it with 'find FOLDER -samefile {_shown(path)}', and remove one of them"
        )
        self.path = path


class NotOurFile(StoreError):
    """What stands at a path was not written by this program; nothing in it was changed.

    Attributes:
        path: Where it stands.
        found: What it is, in words.
        disposable: True if the file may simply be deleted, because it is made again when needed.
    """

    def __init__(self, path: Path, found: str, *, disposable: bool = False) -> None:
        what_next = "delete it, it is made again" if disposable else "choose another path"
        super().__init__(f"{_shown(path)} {found}, not one of our files; nothing was changed: {what_next}")
        self.path = path
        self.found = found
        self.disposable = disposable


class NewerFile(StoreError):
    """A file was written by a later version of this program.

    Attributes:
        path: Where it stands.
        found: Version of its layout.
        known: Newest version that this program reads.
    """

    def __init__(self, path: Path, found: int, known: int) -> None:
        super().__init__(
            f"{_shown(path)} has layout {found}, this program reads up to {known}: upgrade quarterdeck to open it"
        )
        self.path = path
        self.found = found
        self.known = known


class OlderFile(StoreError):
    """A file was written by an earlier version of this program, whose files are read no more.

    Attributes:
        path: Where it stands.
        found: Version of its layout.
        oldest: First version that this program reads.
    """

    def __init__(self, path: Path, found: int, oldest: int) -> None:
        super().__init__(f"{_shown(path)} has layout {found}, this program reads from {oldest} on: start a new file")
        self.path = path
        self.found = found
        self.oldest = oldest


class CorruptFile(StoreError):
    """A file is ours, and damaged.

    Attributes:
        path: Where it stands.
        found: What is wrong, in words.
        disposable: True if the file may simply be deleted, because it is made again when needed.
    """

    def __init__(self, path: Path, found: str, *, disposable: bool = False) -> None:
        what_next = "stop the engine and delete it; it is created again" if disposable else "restore it from a copy"
        super().__init__(f"{_shown(path)} is damaged ({found}): {what_next}")
        self.path = path
        self.found = found
        self.disposable = disposable


class RowsLost(StoreError):
    """A journal ends before a row that was acknowledged: its log was cut off, or an older copy stands there.

    Attributes:
        path: The database.
        end_seq: The last row that is there.
        acknowledged_seq: The last that is known to have been there.
    """

    def __init__(self, path: Path, end_seq: int, acknowledged_seq: int) -> None:
        rows = acknowledged_seq - end_seq
        super().__init__(
            f"{_shown(path)} has lost {rows} event{'s' * (rows != 1)}: its journal ends at {end_seq}, and event"
            f" {acknowledged_seq} was acknowledged: restore the file and its -wal from a copy, or go on without them:"
            f" quarterdeck engine --accept-loss {rows} --db {_shown(path)}; in a program accept_loss={rows}"
        )
        self.path = path
        self.end_seq = end_seq
        self.acknowledged_seq = acknowledged_seq


class ReadRowsLost(StoreError):
    """A journal does not hold any more what was read of it: others may come under the same seqs.

    Attributes:
        path: The database.
        seq: The last row that was read.
    """

    def __init__(self, path: Path, seq: int) -> None:
        super().__init__(
            f"{_shown(path)} has lost events that were read from it, event {seq} among them: open it again"
        )
        self.path = path
        self.seq = seq


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


class NetworkFileSystem(StoreError):
    """The file would stand on a network file system, whose locks cannot be trusted.

    Attributes:
        path: The folder.
        filesystem: Its type, as the operating system calls it.
    """

    def __init__(self, path: Path, filesystem: str) -> None:
        super().__init__(
            f"{_shown(path)} is on a network file system ({filesystem}), which can lose data: use a local disk"
        )
        self.path = path
        self.filesystem = filesystem


class DiskFull(PathError):
    """A write to a file found no room; nothing of it was written, and it can be tried again."""

    says = "no room to write {path}: free some space; nothing is lost, it can be repeated"


class CommandTooLarge(StoreError):
    """A command is larger than an inbox takes; nothing of it was written.

    Attributes:
        size_bytes: Of its body.
        largest_bytes: Of a body that is taken.
    """

    def __init__(self, size_bytes: int, largest_bytes: int) -> None:
        sizes = f"{size_bytes / 1e6:,.1f} MB, and at most {largest_bytes / 1e6:,.0f} MB are taken"
        super().__init__(f"the command has {sizes}: pass large data by the name of a file")
        self.size_bytes = size_bytes
        self.largest_bytes = largest_bytes


class StoreBusy(StoreError):
    """Another process holds the file.

    Attributes:
        pid: Process that holds it, or None if the lock file does not say.
        since_ms: UTC milliseconds since when, or None.
        path: The file.
    """

    def __init__(self, pid: int | None, since_ms: int | None, path: Path | str) -> None:
        holder = f"the engine with pid {pid}" if pid is not None else "another process"
        super().__init__(f"{_shown(path)} is held by {holder}: stop that one first, or attach to it as a client")
        self.pid = pid
        self.since_ms = since_ms
        self.path = path


class Deposed(StoreError):
    """Another engine raised the token: this one may never write again.

    Attributes:
        token: Token that this engine wrote with.
        found: Token that the file has now.
    """

    def __init__(self, token: int, found: int) -> None:
        super().__init__(f"token {token} was replaced by {found}: another engine took over, stop this one")
        self.token = token
        self.found = found


class FileLost(StoreError):
    """The database was deleted, moved away or replaced while an engine held it.

    Attributes:
        path: Where it stood.
        found: What stands there now, in words.
    """

    def __init__(self, path: Path, found: str) -> None:
        super().__init__(
            f"{_shown(path)} {found} under its engine, which stops: start another on the file to continue with"
        )
        self.path = path
        self.found = found


class NotItsTurn(PathError):
    """An engine that stood by was about to take over, and another was first."""

    says = "{path} was taken over by another engine first: keep standing by"


class SeqTaken(StoreError):
    """A batch does not start where the journal ends.

    Attributes:
        expected: First seq of the batch.
        found: Last seq of the journal.
    """

    def __init__(self, expected: int, found: int) -> None:
        super().__init__(f"cannot append at seq {expected}, the journal ends at {found}: read it again from there")
        self.expected = expected
        self.found = found


class NoSuchSeq(StoreError):
    """The journal has no record with a seq.

    Attributes:
        seq: What was asked for.
    """

    def __init__(self, seq: int) -> None:
        super().__init__(f"the journal has no record {seq}: it may be newer than the file, or compacted away")
        self.seq = seq
