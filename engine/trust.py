"""Which team files may run their code: allowed once, by place and content, as direnv does it.

One rule holds inside: an edited file, or the same text in another folder (where its modules are others), is not
trusted until it is allowed again. The list is a file of the user's own that nobody else may write.
"""

import fcntl
import hashlib
import json
import os
import secrets
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

LARGEST_BYTES = 4_000_000


class TrustError(Exception):
    """Base of what can go wrong with trust."""


class UntrustedFile(TrustError):
    """A team file would run code that the operator has not allowed.

    Attributes:
        path: The team file.
        references: What it would import.
        changed: Whether another content of the same file was allowed before.
    """

    def __init__(self, path: Path, references: Sequence[str], *, changed: bool = False) -> None:
        shown = ", ".join(references[:5]) + (f" and {len(references) - 5} more" if len(references) > 5 else "")
        why = "has changed since it was trusted" if changed else "is not trusted"
        super().__init__(f"{path} {why}; it runs {shown}: look at it, then: quarterdeck trust {path}")
        self.path = path
        self.references = list(references)
        self.changed = changed


class UnusableTrustList(TrustError):
    """The list of trusted files cannot be read or written.

    Attributes:
        path: The list.
    """

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"the list of trusted files {path} {why}; correct or delete it, then trust files again")
        self.path = path


@dataclass(frozen=True, slots=True)
class Allowed:
    """One file that may run its code."""

    path: str
    sha256: str
    """Of its text."""
    references: list[str]
    """What was shown when it was allowed."""
    at_ms: int
    """When, UTC milliseconds."""


class TrustList:
    """The files that a user allowed, kept in one JSON file of mode 0600."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def entries(self) -> list[Allowed]:
        """Return what is allowed, the latest first.

        Raises:
            UnusableTrustList: If the list is damaged, or others may write to it.
        """
        return sorted(self._read().values(), key=lambda entry: entry.at_ms, reverse=True)

    def is_trusted(self, path: Path, sha256: str) -> bool:
        """Return whether the file at `path` with this content may run its code.

        Raises:
            UnusableTrustList: As `entries`.
        """
        return _key(path, sha256) in self._read()

    def check(self, path: Path, sha256: str, references: Sequence[str]) -> None:
        """Return when a file may run its code; one that runs none always may.

        Raises:
            UntrustedFile: If it may not.
            UnusableTrustList: As `entries`.
        """
        if references and not self.is_trusted(path, sha256):
            known = any(entry.path == str(path) for entry in self._read().values())
            raise UntrustedFile(path, references, changed=known)

    def allow(self, path: Path, sha256: str, *, references: Sequence[str], at_ms: int) -> None:
        """Let a file run its code; an earlier content of the same file is forgotten.

        Raises:
            UnusableTrustList: If the list cannot be written.
        """
        with self._changing() as entries:
            _forget(entries, path)
            entries[_key(path, sha256)] = Allowed(str(path), sha256, list(references), at_ms)

    def revoke(self, path: Path) -> bool:
        """Forget a file; False if it was not trusted.

        Raises:
            UnusableTrustList: If the list cannot be written.
        """
        with self._changing() as entries:
            return _forget(entries, path)

    @contextmanager
    def _changing(self) -> Iterator[dict[str, Allowed]]:
        """Read, change and replace the list while nobody else does."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            lock = os.open(self.path.with_suffix(".lock"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise UnusableTrustList(self.path, f"cannot be written ({error.strerror})") from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            entries = self._read()
            yield entries
            self._write(entries)
        finally:
            os.close(lock)

    def _write(self, entries: dict[str, Allowed]) -> None:
        body = {"v": 1, "files": {key: asdict(entry) for key, entry in entries.items()}}
        temporary = self.path.with_name(f"{self.path.name}-new-{secrets.token_hex(6)}")
        try:
            descriptor = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump(body, file, indent=1)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self.path)
        except OSError as error:
            raise UnusableTrustList(self.path, f"cannot be written ({error.strerror})") from error
        finally:
            temporary.unlink(missing_ok=True)

    def _read(self) -> dict[str, Allowed]:
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise UnusableTrustList(self.path, f"cannot be read ({error.strerror})") from error
        try:
            _check_owner(self.path, os.fstat(descriptor))
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                return _entries(file.read(LARGEST_BYTES + 1), self.path)
        finally:
            os.close(descriptor)


def _check_owner(path: Path, found: os.stat_result) -> None:
    """Refuse a list that somebody else could have written."""
    if not stat.S_ISREG(found.st_mode):
        raise UnusableTrustList(path, "is not a regular file")
    if found.st_uid not in (os.geteuid(), 0):
        raise UnusableTrustList(path, "belongs to another user")
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise UnusableTrustList(path, "can be written by others")


def _entries(content: bytes, path: Path) -> dict[str, Allowed]:
    """Return the entries of a list under their keys."""
    try:
        files = json.loads(content)["files"]
        entries = [
            Allowed(str(entry["path"]), str(entry["sha256"]), list(map(str, entry["references"])), int(entry["at_ms"]))
            for entry in files.values()
        ]
        return {_key(Path(entry.path), entry.sha256): entry for entry in entries}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise UnusableTrustList(path, "is damaged") from error


def _forget(entries: dict[str, Allowed], path: Path) -> bool:
    known = [key for key, entry in entries.items() if entry.path == str(path)]
    for key in known:
        del entries[key]
    return bool(known)


def _key(path: Path, sha256: str) -> str:
    return hashlib.sha256(f"{path}\n{sha256}".encode("utf-8", "surrogateescape")).hexdigest()
