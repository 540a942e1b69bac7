"""The list of trusted team files, whose code may run: each is allowed by path and content, as in direnv.

The content is the text of the file and the files of its folder that its references import. After any change to these
the file must be allowed again. Only its user may write the list; no command, archive or database can add to it.
See docs/reference/trust.md.
"""

import fcntl
import hashlib
import json
import os
import secrets
import shlex
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TypeAlias

import msgspec

from engine.core.queries.team.code import is_imported
from engine.core.state import State
from engine.errors import Unusable
from engine.platform.folders import NoHome, data_folder
from engine.runtimes.functions.isolated import Sources
from engine.trusted_code.closure import Folder, files_of
from store.errors import NotOurFile
from store.layout.files import open_for_writing, sync
from store.wall_clock import wall_ms

MAX_LIST_BYTES = 16_000_000
FILE = "trust.json"
"""The list, in the data folder."""

Granted: TypeAlias = dict[str, Sources]
"""References that may be imported, each with the modules that it imports from the team's folder."""


class TrustError(Exception):
    """Base class of errors about trust."""


class UntrustedFile(TrustError):
    """A team file would run code that the operator has not allowed.

    Attributes:
        path: The team file.
        references: The code that it would import.
        changed: The files, itself or imported ones, that changed since it was allowed; empty if it never was.
    """

    def __init__(self, path: Path, references: Sequence[str], *, changed: Sequence[str] = ()) -> None:
        reference_list = ", ".join(references[:5]) + (f" and {len(references) - 5} more" if len(references) > 5 else "")
        reason = f"has changed since it was trusted ({', '.join(changed[:5])})" if changed else "is not trusted"
        verb = "runs" if all(map(is_imported, references)) else "uses"
        super().__init__(
            f"{path} {reason}; it {verb} {reference_list}: look at it, then: quarterdeck trust {shlex.quote(str(path))}"
        )
        self.path = path
        self.references = list(references)
        self.changed = list(changed)


ELSEWHERE = "make its folder writable, or set XDG_DATA_HOME to another one"
"""What to do about a list that cannot be written."""


class ForeignTeam(TrustError):
    """A command from elsewhere loads a team that the user of the engine did not load.

    Attributes:
        path: Its team file.
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path} {reason}")
        self.path = path


class UnusableTrustList(TrustError):
    """The list of trusted files cannot be read or written.

    Attributes:
        path: The list.
    """

    def __init__(self, path: Path, reason: str, remedy: str = "correct or delete it, then trust files again") -> None:
        super().__init__("; ".join(filter(None, (f"the list of trusted files {path} {reason}", remedy))))
        self.path = path


@dataclass(frozen=True, slots=True)
class Allowed:
    """One file that may run its code."""

    path: str
    sha256: str
    """Hash of its text."""
    references: list[str]
    """The references that were shown when it was allowed."""
    at_ms: int
    """When, UTC milliseconds."""
    files: dict[str, str]
    """The hash of each file of the folder that the references import, by its relative path."""
    db: str
    """The database that it is allowed for; empty for a team file."""
    databases: dict[str, str] = field(default_factory=dict)
    """The databases that the user loaded a team file into, each with the folder in which its agents work there."""

    def holds(self, files: Mapping[str, str]) -> bool:
        """Return True when all of these files are unchanged."""
        return files.items() <= self.files.items()


class TrustList:
    """The allowed files of a user, in one JSON file of mode 0600.

    Every call raises UnusableTrustList if the list is damaged, cannot be written, or can be written by other users.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def entries(self) -> list[Allowed]:
        """Return the allowed files, the latest first."""
        return sorted(self._read().values(), key=lambda entry: entry.at_ms, reverse=True)

    def is_trusted(self, path: Path, sha256: str, files: Mapping[str, str]) -> bool:
        """Return whether the team file at `path` with this text may run its code; `files` as in `allow`."""
        entry = self._read().get(_key(path, sha256, ""))
        return entry is not None and entry.holds(files)

    def check(self, path: Path, sha256: str, *, references: Sequence[str], files: Mapping[str, str]) -> None:
        """Raise UntrustedFile unless a team file may run its code; a file without code always passes."""
        if not references or self.is_trusted(path, sha256, files):
            return
        before = next(iter(self._entries_of(path)), None)
        changed: list[str] = []
        if before is not None:
            changed = [name for name, content in files.items() if before.files.get(name) != content]
            changed = [path.name, *changed] if before.sha256 != sha256 else changed
        raise UntrustedFile(path, references, changed=changed)

    def find_granted(self, references: Iterable[str], folder: Folder, *, db: Path | None, team: Path | None) -> Granted:
        """Return which of some references an engine may import, each with its code as it is now; blocks.

        Args:
            references: Named by a command or a spec.
            folder: Holds their code, if it is not installed.
            db: The engine's database; without one, as in memory, nothing is granted.
            team: The team file of the engine.
        """
        # A database names its team file itself, so that name counts only where the user loaded the file into it.
        entries = [
            entry
            for entry in self._read().values()
            if db is not None and (entry.db == str(db) or (entry.path == str(team) and str(db) in entry.databases))
        ]
        granted_sources: Granted = {}
        for reference in references:
            allowing = [entry for entry in entries if reference in entry.references]
            if not allowing:
                continue
            with suppress(Unusable):  # unreadable code cannot be the code that was allowed
                sources = folder.sources(reference)
                if any(entry.holds(files_of(sources, folder.path)) for entry in allowing):
                    granted_sources[reference] = sources
        return granted_sources

    def allow(
        self,
        path: Path,
        sha256: str,
        *,
        references: Sequence[str],
        at_ms: int,
        files: Mapping[str, str],
        db: Path | None = None,
    ) -> None:
        """Allow a file to run its code; replaces the entry of its earlier content.

        Args:
            path: The file that names the code.
            sha256: Hash of its content.
            at_ms: The time, UTC milliseconds.
            files: The hash of each file that the references import.
            db: The database that this is for; None for a team file. Earlier references of the same file stay allowed
                for the database.
        """
        db_name = "" if db is None else str(db)
        databases: dict[str, str] = {}
        with self._locked_entries() as entries:
            for key in [key for key, entry in entries.items() if (entry.path, entry.db) == (str(path), db_name)]:
                before = entries.pop(key)
                databases = before.databases
                # Agents of an earlier import may be at work in this database, so their references stay allowed.
                if db_name:
                    references = list(dict.fromkeys([*before.references, *references]))
                    files = {**before.files, **files}
            allowed = Allowed(str(path), sha256, list(references), at_ms, dict(files), db_name, databases)
            entries[_key(path, sha256, db_name)] = allowed

    def work_folder(self, path: Path, db: Path) -> str | None:
        """Return where the agents of a team file work in a database; None if the user did not load it there."""
        folders = (entry.databases.get(str(db)) for entry in self._entries_of(path))
        return next((folder for folder in folders if folder is not None), None)

    def assign(self, path: Path, sha256: str, *, db: Path, folder: Path, at_ms: int) -> None:
        """Note that the user loads a team file into a database; one without code gets an entry without references.

        Args:
            path: The team file.
            sha256: Hash of its text.
            db: The database.
            folder: The folder in which its agents work there.
            at_ms: The time, UTC milliseconds.
        """
        if self.work_folder(path, db) == str(folder):
            return
        if not self._entries_of(path):
            self.allow(path, sha256, references=[], at_ms=at_ms, files={})
        with self._locked_entries() as entries:
            for entry in entries.values():
                if entry.path == str(path) and not entry.db:
                    entry.databases[str(db)] = str(folder)

    def inherit(self, db: Path, fork: Path) -> None:
        """Note that the user's team files of a database are also those of its fork."""
        if any(str(db) in entry.databases for entry in self._read().values()):
            with self._locked_entries() as entries:
                for entry in entries.values():
                    if str(db) in entry.databases:
                        entry.databases[str(fork)] = entry.databases[str(db)]

    def _entries_of(self, path: Path) -> list[Allowed]:
        """Return the entry of a team file, if there is one."""
        return [entry for entry in self._read().values() if entry.path == str(path) and not entry.db]

    def revoke(self, path: Path) -> bool:
        """Remove a file from the list; False if it was not trusted."""
        with self._locked_entries() as entries:
            keys = [key for key, entry in entries.items() if entry.path == str(path)]
            for key in keys:
                del entries[key]
            return bool(keys)

    @contextmanager
    def _locked_entries(self) -> Iterator[dict[str, Allowed]]:
        """Read, change and replace the list under a lock."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            lock = open_for_writing(self.path.with_suffix(".lock"))
        except NotOurFile as error:
            raise UnusableTrustList(self.path, f"cannot be locked: {error}", "") from error
        except OSError as error:
            raise UnusableTrustList(self.path, f"cannot be written ({error.strerror})", ELSEWHERE) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            entries = self._read()
            yield entries
            self._write(entries)
        finally:
            os.close(lock)

    def _write(self, entries: dict[str, Allowed]) -> None:
        body = {"v": 1, "files": {key: asdict(entry) for key, entry in entries.items()}}
        # Written aside and renamed: a crash must not leave half a list, which would be refused as damaged.
        temporary = self.path.with_name(f"{self.path.name}-new-{secrets.token_hex(6)}")
        try:
            descriptor = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump(body, file, indent=1)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self.path)
            sync(self.path.parent)  # else a power cut could bring back what was revoked
        except OSError as error:
            raise UnusableTrustList(self.path, f"cannot be written ({error.strerror})", ELSEWHERE) from error
        finally:
            temporary.unlink(missing_ok=True)

    def _read(self) -> dict[str, Allowed]:
        try:
            # Without blocking, in case it is a pipe, which `_check_owner` refuses.
            descriptor = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise UnusableTrustList(self.path, f"cannot be read ({error.strerror})") from error
        try:
            _check_owner(self.path, os.fstat(descriptor))
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                return _entries(file.read(MAX_LIST_BYTES + 1), self.path)
        finally:
            os.close(descriptor)


def user_list() -> TrustList | None:
    """Return the list of the user of this process; None without a home folder."""
    try:
        return TrustList(data_folder() / FILE)
    except NoHome:
        return None


def _check_owner(path: Path, status: os.stat_result) -> None:
    """Refuse a list that another user could have written."""
    if not stat.S_ISREG(status.st_mode):
        raise UnusableTrustList(path, "is not a regular file")
    if status.st_uid not in (os.geteuid(), 0):
        raise UnusableTrustList(path, "belongs to another user")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise UnusableTrustList(path, "can be written by others")


def _entries(content: bytes, path: Path) -> dict[str, Allowed]:
    """Return the entries of a list by key."""
    try:
        entries = msgspec.convert(list(json.loads(content)["files"].values()), list[Allowed])
        return {_key(Path(entry.path), entry.sha256, entry.db): entry for entry in entries}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise UnusableTrustList(path, "is damaged") from error


def _key(path: Path, sha256: str, db: str) -> str:
    return hashlib.sha256(f"{path}\n{sha256}\n{db}".encode("utf-8", "surrogateescape")).hexdigest()


# Code from a spec file, an archive or another process, which is allowed for one database. These functions block.


def needs_assignment(state: State, *, path: str, folder: str, references: Sequence[str]) -> bool:
    """Return whether only the user of the engine may load a team file.

    Others may change the present team, or load a first one without code. Another file would mean another folder for
    code and programs that are trusted already.
    """
    if state.team is not None:
        return (state.team.path, state.team.folder) != (path, folder)
    return bool(references or state.trusted) or str(Path(path).parent) != folder


def code_folder(state: State, default: Path) -> Path:
    """Return the folder of a team's own code: that of its team file, else the folder where its engine was started."""
    return Path(state.team.path).parent if state.team is not None else default


def needs_trust(allowed: TrustList, references: Sequence[str], state: State, db: Path | None) -> list[str]:
    """Return the references that the user's list does not allow for a database."""
    team = Path(state.team.path) if state.team is not None else None
    folder = Folder(code_folder(state, Path.cwd()))
    granted = allowed.find_granted(references, folder, db=None if db is None else db.resolve(), team=team)
    return [reference for reference in references if reference not in granted]


def grant(allowed: TrustList, references: Sequence[str], state: State, *, db: Path, path: Path, sha256: str) -> None:
    """Allow references for a database, with their code as it is now.

    Args:
        allowed: The list of the user of the engine.
        references: The code to allow.
        state: The state in the database.
        path: Source of the references: a file, an archive, or the database itself.
        sha256: Hash of its content; empty for a database.

    Raises:
        Unusable: If the code cannot be read.
    """
    code = Folder(code_folder(state, Path.cwd()))
    files = files_of(code.sources(*references), code.path)
    at_ms = wall_ms()
    allowed.allow(path, sha256, references=references, at_ms=at_ms, files=files, db=db.resolve())
