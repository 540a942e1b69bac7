"""Which files of a folder are audited, what is left out and why, and which part of the folder a request means.

Links are never followed, pipes and devices never opened, and git is asked what its `.gitignore` files leave out, also
where there is no repository. Nothing is left out silently: every name that is skipped has its reason in the listing.
The rest of the machine is out of reach.
"""

import difflib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from dashboard.demo.history import ignored_by_git
from dashboard.demo.source import MAX_FILE_BYTES, name_text, os_name

MAX_FILES = 20_000
LEFT_OUT = {
    **dict.fromkeys((".git", ".hg", ".svn"), "version control's own files"),
    **dict.fromkeys((".mypy_cache", ".pytest_cache", ".ruff_cache"), "a tool's cache"),
    ".venv": "a virtual environment",
    "node_modules": "installed packages",
    "__pycache__": "compiled code",
    ".tox": "a tool's environments",
}
_KINDS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


@dataclass(slots=True, frozen=True)
class Skipped:
    """Something that is not audited."""

    name: str
    reason: str


@dataclass(slots=True)
class Listing:
    """What a walk found, in a stable order."""

    files: list[str] = field(default_factory=list)
    """Relative to the audited folder, in the form of `name_text`."""
    skipped: list[Skipped] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)

    def names(self, *suffixes: str) -> list[str]:
        """Files that end with one of the suffixes; all of them without any."""
        return [name for name in self.files if not suffixes or name.lower().endswith(suffixes)]


@dataclass(slots=True, frozen=True)
class _Ignored:
    """What git ignores at one place of the tree."""

    base: str
    """Folder of the repository, relative to the audited one, with a slash at the end; empty at the top."""
    names: frozenset[str]

    def covers(self, name: str, *, is_folder: bool) -> bool:
        return name.removeprefix(self.base) + ("/" if is_folder else "") in self.names

    def inside(self, folder: Path, here: str) -> "_Ignored":
        """Return what is ignored in one of its folders: another repository there has its own answer."""
        nested = bool(here) and os.path.lexists(folder / here / ".git")
        return _Ignored(f"{here}/", ignored_by_git(folder / here)) if nested else self


def walk(folder: Path, under: str = "", *, max_files: int = MAX_FILES) -> Listing:
    """List what is to be audited below `folder`, or below a folder or file inside it; blocking.

    What `under` names is audited even if ignored. Files beyond `max_files` are skipped, and said. Raises OSError if the
    folder itself cannot be read.
    """
    listing = Listing()
    if under and not (folder / under).is_dir():
        _take(listing, folder, under, max_files)
        return listing
    os.scandir(folder / under).close()
    ignored = _Ignored("", ignored_by_git(folder))
    for above in reversed(Path(under).parents):
        ignored = ignored.inside(folder, "" if above == Path() else str(above))
    stack = [(under, ignored)]
    while stack:
        stack += reversed(list(_visit(listing, folder, *stack.pop(), max_files)))
    listing.skipped.sort(key=lambda skipped: (skipped.reason, skipped.name))
    return listing


def _visit(
    listing: Listing, folder: Path, here: str, ignored: _Ignored, max_files: int
) -> Iterator[tuple[str, _Ignored]]:
    """Sort the entries of one folder into the listing; yield the folders to go into."""
    try:
        with os.scandir(folder / here) as scan:
            entries = sorted(scan, key=lambda entry: entry.name)
    except OSError as error:
        listing.skipped.append(Skipped(name_text(here) + "/", _because(error)))
        return
    if here:
        listing.folders.append(name_text(here))
    ignored = ignored.inside(folder, here)
    for entry in entries:
        name = f"{here}/{entry.name}" if here else entry.name
        is_folder = entry.is_dir(follow_symlinks=False)
        shown = name_text(name) + ("/" if is_folder else "")
        if is_folder and (reason := _left_out(entry)):
            listing.skipped.append(Skipped(shown, reason))
        elif ignored.covers(name, is_folder=is_folder):
            listing.skipped.append(Skipped(shown, "ignored by .gitignore"))
        elif is_folder:
            yield name, ignored
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
            listing.files.append(name_text(name))
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


_FILLERS = frozenset({
    "the", "package", "folder", "module", "directory", "file", "please", "of", "all", "everything", "again", "only",
    "just",
})  # fmt: skip


class RequestRefused(Exception):
    """A request that the crew does not understand or must not follow; the message says what it takes instead."""


class NoSuchTarget(RequestRefused):
    """Nothing in the folder has the name that was asked for; some have a name that is near."""

    def __init__(self, asked: str, near: list[str]) -> None:
        hint = f"; near: {', '.join(near)}" if near else ""
        super().__init__(f"nothing named {asked!r} in this folder{hint}")


class OutsideFolder(RequestRefused):
    """A path that leaves the audited folder."""

    def __init__(self, asked: str) -> None:
        super().__init__(f"{asked!r} is outside the folder of this crew; start `quarterdeck demo` there")


@dataclass(slots=True, frozen=True)
class Target:
    """What to audit."""

    folder: Path
    """The crew's folder, absolute, links resolved."""
    under: str
    """Folder or file inside it, relative; empty for all."""

    @property
    def folder_text(self) -> str:
        """The folder in the form of `name_text`."""
        return name_text(str(self.folder))


def target_of(request: str, folder: str) -> Target:
    """Find what a request asks to audit in the crew's folder; blocking.

    It is `audit`, or `audit NAME` with a path inside the folder, a dotted module or just a name; else it is refused.
    """
    root = Path(os.path.realpath(folder))
    verb, _, rest = request.strip().partition(" ")
    if verb and verb.lower() != "audit":
        raise RequestRefused(f"the crew audits: say `audit` or `audit PATH`, not {verb[:40]!r}")
    words = rest.strip().strip("\"'")
    plain = " ".join(word for word in words.split() if word.lower() not in _FILLERS)
    for asked in (words, plain):
        path = root if "\0" in asked else Path(os.path.realpath(root / asked))
        if "\0" in asked or not path.is_relative_to(root):
            raise OutsideFolder(asked[:200])
        if os.access(path, os.F_OK):  # false also for a name that no file can have
            return Target(root, str(path.relative_to(root)) if path != root else "")
    return Target(root, _best_match(root, plain))


def _best_match(root: Path, asked: str) -> str:
    """The folder or file of that name that is nearest to the top; folders before files."""
    listing = walk(root)
    places = [*listing.folders, *listing.names()]
    wanted = asked.replace(".", "/") if "/" not in asked and not asked.endswith(".py") else asked
    wanted = wanted.strip("/").lower()
    matches = [
        place
        for place in places
        if f"/{_stem(place)}".endswith(f"/{wanted}") or f"/{place.lower()}".endswith(f"/{asked.lower()}")
    ]
    if not matches or not wanted:
        stems = {_stem(place).rpartition("/")[2]: place for place in reversed(places)}
        near = difflib.get_close_matches(wanted.rpartition("/")[2], stems, n=3, cutoff=0.5)
        raise NoSuchTarget(asked[:200], [stems[name] for name in near])
    return os_name(min(matches, key=lambda place: (place.count("/"), place not in listing.folders, place)))


def _stem(place: str) -> str:
    return place.lower().removesuffix(".py")
