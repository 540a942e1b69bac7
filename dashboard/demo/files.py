"""Which files of a folder are audited, what is left out and why, and which part of the folder a request means.

In a git repository git lists the files; elsewhere every folder is read but hidden ones and those of tools. Links are
never followed, pipes and devices never opened, and the rest of the machine is out of reach.
"""

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from dashboard.demo.history import GitUnavailable, run_git
from dashboard.demo.source import MAX_FILE_BYTES

MAX_FILES = 20_000
_TOOL_FOLDERS = frozenset({"__pycache__", "node_modules", "site-packages"})


@dataclass(slots=True)
class AuditedFiles:
    """The files to audit, relative to the audited folder and in a stable order, and what is skipped."""

    files: list[str] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    """Name and reason."""

    def names(self, *suffixes: str) -> list[str]:
        """Files that end with one of the suffixes; all of them without any."""
        return [name for name in self.files if not suffixes or name.lower().endswith(suffixes)]


def list_files(folder: Path, under: str = "", *, max_files: int = MAX_FILES) -> AuditedFiles:
    """List what is to be audited in `folder`, or in a folder or file inside it; blocking.

    What `under` names is audited even if git ignores it.

    Raises:
        OSError: If it cannot be read.
    """
    (folder / under).lstat()  # raises if it is missing
    names, reasons = _names_of_git(folder, under)
    if not names:  # no repository, or it ignores the whole place
        names, reasons = _names_of_folders(folder, under)
    files: list[str] = []
    for name in sorted(names):
        if reason := _skip_reason(folder / name):
            reasons[name] = reason
        elif len(files) < max_files:
            files.append(name)
        else:
            reasons[name] = f"beyond the first {max_files} files"
    skipped = [(name.encode("utf-8", "backslashreplace").decode(), reason) for name, reason in reasons.items()]
    return AuditedFiles(files, sorted(skipped, key=lambda entry: (entry[1], entry[0])))


def _names_of_git(folder: Path, under: str) -> tuple[set[str], dict[str, str]]:
    command = ("ls-files", "-z", "--exclude-standard", "--others")
    try:
        listed = run_git(folder, *command, "--cached", "--", under or ".")
        ignored = run_git(folder, *command, "--ignored", "--directory", "--", under or ".")
    except GitUnavailable:
        return set(), {}
    return _names_in(listed), dict.fromkeys(_names_in(ignored), "ignored by .gitignore")


def _names_in(output: bytes) -> set[str]:
    return {os.fsdecode(name) for name in output.split(b"\0") if name}


def _names_of_folders(folder: Path, under: str) -> tuple[set[str], dict[str, str]]:
    names: set[str] = set() if (folder / under).is_dir() else {under}
    reasons: dict[str, str] = {}
    for root, folders, files in os.walk(folder / under):
        base = Path(root).relative_to(folder)
        links = [name for name in folders if Path(root, name).is_symlink()]
        left_out = {name for name in folders if name.startswith(".") or name in _TOOL_FOLDERS}
        names |= {(base / name).as_posix() for name in (*files, *links)}
        reasons |= {f"{(base / name).as_posix()}/": "hidden, or a tool's folder" for name in left_out}
        folders[:] = [name for name in folders if name not in left_out]
    return names, reasons


def _skip_reason(path: Path) -> str:
    """Return why a file is not audited; empty if it is."""
    try:
        str(path).encode()
        status = path.lstat()
    except UnicodeEncodeError:
        return "a name that is not UTF-8"
    except OSError as error:
        return (error.strerror or str(error)).lower()
    if not stat.S_ISREG(status.st_mode):
        kinds = {stat.S_IFLNK: "a link", stat.S_IFDIR: "another repository"}
        return kinds.get(stat.S_IFMT(status.st_mode), "not a regular file")
    if status.st_size > MAX_FILE_BYTES:
        return f"larger than {MAX_FILE_BYTES // 1_000_000} MB"
    # Check the mode bits as well: root can read files whose mode forbids reading.
    return "" if status.st_mode & 0o444 and os.access(path, os.R_OK) else "no permission to read"


class RequestRefused(Exception):
    """A request that the crew does not understand or must not follow; the message says what it takes instead."""


class AuditTarget(NamedTuple):
    """What to audit."""

    folder: Path
    """The crew's folder, absolute, links resolved."""
    under: str
    """Folder or file inside it, relative; empty for all."""


def target_of(request: str, folder: str) -> AuditTarget:
    """Resolve what a request asks to audit in the crew's folder; blocking.

    It is `audit`, or `audit NAME` with a path inside the folder, a dotted module or just a name.

    Raises:
        RequestRefused: If it is anything else, or nothing has that name.
    """
    root = Path(os.path.realpath(folder))
    verb, _, rest = request.strip().partition(" ")
    if verb and verb.lower() != "audit":
        raise RequestRefused(f"the crew audits: say `audit` or `audit PATH`, not {verb[:40]!r}")
    name = rest.strip().strip("\"'")
    outside = RequestRefused(f"{name[:200]!r} is outside the folder of this crew; start `quarterdeck demo` there")
    if "\0" in name:
        raise outside
    path = Path(os.path.realpath(root / name))
    if not path.is_relative_to(root):
        raise outside
    if os.access(path, os.F_OK):  # false also for a name that no file can have
        return AuditTarget(root, str(path.relative_to(root)) if path != root else "")
    return AuditTarget(root, _path_named(root, name))


def _path_named(root: Path, name: str) -> str:
    """Return the folder or file of that name that is nearest to the top; folders before files."""
    files = list_files(root).files
    folders = {str(parent) for file in files for parent in PurePosixPath(file).parents} - {"."}
    end = f"/{name.strip('/').lower()}"
    ends = (end, end.removesuffix(".py").replace(".", "/"))
    matches = [path for path in (*folders, *files) if _is_named(path.lower(), ends)]
    if not matches:
        raise RequestRefused(f"nothing named {name[:200]!r} in this folder; say `audit` for all of it")
    return min(matches, key=lambda path: (path.count("/"), path not in folders, path))


def _is_named(path: str, ends: tuple[str, ...]) -> bool:
    """Return whether a path has one of the ends, with or without the suffix of Python."""
    return f"/{path}".endswith(ends) or f"/{path.removesuffix('.py')}".endswith(ends)
