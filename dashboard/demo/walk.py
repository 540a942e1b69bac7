"""Which files of a folder are audited, and what is left out and why.

Links are never followed, pipes and devices never opened, and whatever git ignores is not looked at: git is asked, and
where there is no repository, `.gitignore` files are read, path segment by path segment, each through `fnmatch`, whose
expressions cannot backtrack without end (source: gitignore(5)). Nothing is left out silently: every name that is
skipped has its reason in the listing.
"""

import fnmatch
import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dashboard.demo.git_commands import ignored_by_git
from dashboard.demo.names import name_text
from dashboard.demo.source import MAX_FILE_BYTES

MAX_IGNORE_FILE_BYTES = 200_000
_ANY_FOLDERS = None


@dataclass(slots=True, frozen=True)
class IgnoreRule:
    """One line of a `.gitignore`."""

    base: str
    """Folder that holds the file, with a slash at the end; empty at the top."""
    segments: tuple[re.Pattern[str] | None, ...]
    """One pattern a path segment; None stands for `**`, any number of folders."""
    keeps: bool
    """A `!` rule: what matches is not ignored after all."""
    folders_only: bool

    def matches(self, name: str, *, is_folder: bool) -> bool:
        """Whether this rule speaks about `name`, relative to the audited folder."""
        if (self.folders_only and not is_folder) or not name.startswith(self.base):
            return False
        return _segments_match(self.segments, name[len(self.base) :].split("/"))


def rules_of(text: str, base: str) -> tuple[IgnoreRule, ...]:
    """The rules of one `.gitignore`.

    Args:
        text: Content of the file.
        base: Folder that holds it, relative to the audited folder, with a slash at the end or empty.
    """
    return tuple(rule for line in text.splitlines() if (rule := _rule(line, base)) is not None)


def is_ignored(rules: Sequence[IgnoreRule], name: str, *, is_folder: bool) -> bool:
    """Whether the last rule that matches ignores `name`; parents must have been asked before."""
    for rule in reversed(rules):
        if rule.matches(name, is_folder=is_folder):
            return not rule.keeps
    return False


def _rule(line: str, base: str) -> IgnoreRule | None:
    pattern = re.sub(r"(?<!\\) +$", "", line)
    keeps = pattern.startswith("!")
    pattern = pattern.removeprefix("!") if keeps else pattern
    if not pattern or pattern.startswith("#"):
        return None
    folders_only = pattern.endswith("/")
    pattern = pattern.removesuffix("/")
    anchored = "/" in pattern
    parts = pattern.removeprefix("/").split("/")
    if not any(parts):
        return None
    segments = [_ANY_FOLDERS if part == "**" else _segment(part) for part in parts]
    if not anchored:
        segments.insert(0, _ANY_FOLDERS)
    if segments[-1] is _ANY_FOLDERS:
        segments.append(_segment("*"))
    return IgnoreRule(base, tuple(segments), keeps, folders_only)


def _segment(part: str) -> re.Pattern[str]:
    """`fnmatch` knows no backslash and spells a negated class with `!`."""
    glob = re.sub(r"\\(.)", lambda escape: f"[{escape[1]}]" if escape[1] in "*?[" else escape[1], part)
    return re.compile(fnmatch.translate(glob.replace("[^", "[!")))


def _segments_match(pattern: Sequence[re.Pattern[str] | None], parts: Sequence[str]) -> bool:
    """Greedy with one point of return, as for a glob whose only wildcard is `**`: linear in practice."""
    at = here = 0
    retry: tuple[int, int] | None = None
    while here < len(parts):
        rule = pattern[at] if at < len(pattern) else re.compile(r"(?!)")
        if rule is _ANY_FOLDERS:
            retry = (at, here)
            at += 1
        elif rule.match(parts[here]):
            at, here = at + 1, here + 1
        elif retry is not None:
            retry = (retry[0], retry[1] + 1)
            at, here = retry[0] + 1, retry[1]
        else:
            return False
    return at == len(pattern)


MAX_FILES = 20_000
LEFT_OUT = {
    ".git": "version control's own files",
    ".hg": "version control's own files",
    ".svn": "version control's own files",
    ".venv": "a virtual environment",
    "node_modules": "installed packages",
    "__pycache__": "compiled code",
    ".mypy_cache": "a tool's cache",
    ".pytest_cache": "a tool's cache",
    ".ruff_cache": "a tool's cache",
    ".tox": "a tool's environments",
}
_KINDS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


@dataclass(slots=True, frozen=True)
class FileEntry:
    """A file to audit."""

    name: str
    """Relative to the audited folder, in the form of `name_text`."""
    size_bytes: int


@dataclass(slots=True, frozen=True)
class Skipped:
    """Something that is not audited."""

    name: str
    reason: str


@dataclass(slots=True)
class Listing:
    """What a walk found, in a stable order."""

    files: list[FileEntry] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)

    def names(self, *suffixes: str) -> list[str]:
        """Files that end with one of the suffixes; all of them without any."""
        return [file.name for file in self.files if not suffixes or file.name.lower().endswith(suffixes)]


@dataclass(slots=True, frozen=True)
class _Ignores:
    """What is ignored at one place of the tree: git's answer for its repository, or rules read on the way down."""

    base: str
    by_git: frozenset[str] | None
    rules: tuple[IgnoreRule, ...] = ()

    def covers(self, name: str, *, is_folder: bool) -> bool:
        if self.by_git is None:
            return is_ignored(self.rules, name, is_folder=is_folder)
        return name.removeprefix(self.base) + ("/" if is_folder else "") in self.by_git


def walk(folder: Path, under: str = "", *, max_files: int = MAX_FILES) -> Listing:
    """List what is to be audited below `folder`; blocking.

    Args:
        folder: An existing folder.
        under: A folder or file inside it, relative; empty for all. What is named is audited even if ignored.
        max_files: Files beyond this count are skipped, and said.

    Raises:
        OSError: The folder itself cannot be read.
    """
    listing = Listing()
    if under and not (folder / under).is_dir():
        _take(listing, folder, under, max_files)
        return listing
    os.scandir(folder / under).close()
    stack = [(under, _ignores_above(folder, under))]
    while stack:
        here, ignores = stack.pop()
        stack.extend(
            reversed(
                [(name, ignores_below) for name, ignores_below in _visit(listing, folder, here, ignores, max_files)]
            )
        )
    listing.skipped.sort(key=lambda skipped: (skipped.reason, skipped.name))
    return listing


def _visit(
    listing: Listing, folder: Path, here: str, ignores: _Ignores, max_files: int
) -> Iterator[tuple[str, _Ignores]]:
    """Sort the entries of one folder into the listing; yield the folders to go into."""
    try:
        with os.scandir(folder / here) as scan:
            entries = sorted(scan, key=lambda entry: entry.name)
    except OSError as error:
        listing.skipped.append(Skipped(name_text(here) + "/", _because(error)))
        return
    if here:
        listing.folders.append(name_text(here))
    ignores = _ignores_here(folder, here, ignores, {entry.name for entry in entries})
    for entry in entries:
        name = f"{here}/{entry.name}" if here else entry.name
        is_folder = entry.is_dir(follow_symlinks=False)
        shown = name_text(name) + ("/" if is_folder else "")
        if is_folder and (reason := _left_out(entry)):
            listing.skipped.append(Skipped(shown, reason))
        elif ignores.covers(name, is_folder=is_folder):
            listing.skipped.append(Skipped(shown, "ignored by .gitignore"))
        elif is_folder:
            yield name, ignores
        else:
            _take(listing, folder, name, max_files)


def _left_out(entry: os.DirEntry[str]) -> str:
    if reason := LEFT_OUT.get(entry.name):
        return reason
    try:
        return "a virtual environment" if Path(entry.path, "pyvenv.cfg").is_file() else ""
    except OSError:
        return ""  # it may not be looked into, which is said when the walk comes to it


def _take(listing: Listing, folder: Path, name: str, max_files: int) -> None:
    """Take a file, or skip it with the reason."""
    path = folder / name
    try:
        status = path.lstat()
    except OSError as error:
        reason = _because(error)
    else:
        reason = _refusal(status, folder, path)
        if not reason and len(listing.files) >= max_files:
            reason = f"beyond the first {max_files} files"
        if not reason:
            listing.files.append(FileEntry(name_text(name), status.st_size))
            return
    listing.skipped.append(Skipped(name_text(name), reason))


def _refusal(status: os.stat_result, folder: Path, path: Path) -> str:
    """Why a file is not audited; empty if it is."""
    if stat.S_ISLNK(status.st_mode):
        return _link_reason(folder, path)
    if not stat.S_ISREG(status.st_mode):
        return _KINDS.get(stat.S_IFMT(status.st_mode), "not a regular file")
    if status.st_size > MAX_FILE_BYTES:
        return f"larger than {MAX_FILE_BYTES // 1_000_000} MB"
    # Mode bits too: root may read a file that nobody is meant to read.
    if not status.st_mode & 0o444 or not os.access(path, os.R_OK):
        return "no permission to read"
    return ""


def _link_reason(folder: Path, path: Path) -> str:
    try:
        target = Path(os.path.realpath(path, strict=True))
    except OSError as error:
        return "a link that leads nowhere" if isinstance(error, FileNotFoundError) else "a link in a loop"
    if not target.is_relative_to(os.path.realpath(folder)):
        return "a link out of the folder"
    if target.is_dir():
        looped = Path(os.path.realpath(path.parent)).is_relative_to(target)
        return "a link in a loop" if looped else "a link to a folder inside this one"
    return "a link to a file inside this folder"


def _because(error: OSError) -> str:
    return "no permission to read" if isinstance(error, PermissionError) else (error.strerror or str(error)).lower()


def _ignores_above(folder: Path, under: str) -> _Ignores:
    """What holds at the start of the walk: the rules of the folders above it."""
    ignores = _Ignores("", ignored_by_git(folder))
    parts = under.split("/") if under else []
    for depth in range(len(parts)):
        here = "/".join(parts[:depth])
        ignores = _ignores_here(folder, here, ignores, {path.name for path in (folder / here).iterdir()})
    return ignores


def _ignores_here(folder: Path, here: str, ignores: _Ignores, entries: set[str]) -> _Ignores:
    """Ask a nested repository's own git; else add this folder's `.gitignore` to the rules."""
    base = f"{here}/" if here else ""
    if here and ".git" in entries and (by_git := ignored_by_git(folder / here)) is not None:
        return _Ignores(base, by_git)
    if ignores.by_git is not None or ".gitignore" not in entries:
        return ignores
    path = folder / here / ".gitignore"
    try:
        if _refusal(path.lstat(), folder, path):
            return ignores
        with path.open(encoding="utf-8", errors="surrogateescape") as file:
            rules = rules_of(file.read(MAX_IGNORE_FILE_BYTES), base)
    except OSError:
        return ignores
    return _Ignores(ignores.base, None, ignores.rules + rules)
