"""Which files of a folder are audited, and which part of the folder a request means.

Links are never followed, pipes and devices never opened, and the rest of the machine is out of reach.
"""

import os
import stat
from contextlib import suppress
from pathlib import Path, PurePosixPath

from dashboard.demo.git import GitUnavailable, run_git
from dashboard.demo.source import MAX_FILE_BYTES

_LEFT_OUT = ("__pycache__", "node_modules", "site-packages")


def _is_left_out(folder: str) -> bool:
    return folder.startswith(".") or folder in _LEFT_OUT


def list_files(folder: Path, under: str = "") -> tuple[list[str], list[str]]:
    """Return the files to audit in `folder`, or below a place in it, and names that are no readable files; blocking.

    Git lists a repository; elsewhere, and where git ignores the place, folders that are hidden or of tools are left
    out. Names are relative to `folder`, in a stable order.
    """
    (folder / under).lstat()  # raises if it is missing
    command = ("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", under or ".")
    names: set[str] = set()
    with suppress(GitUnavailable):
        names = {os.fsdecode(name) for name in run_git(str(folder), *command).split(b"\0") if name}
    if not names:
        place = folder / under
        inner = [path.relative_to(place) for path in place.rglob("*") if path.is_symlink() or not path.is_dir()]
        seen = [path for path in inner if not any(_is_left_out(part) for part in path.parts[:-1])]
        names = {(under / path).as_posix() for path in seen} if place.is_dir() else {under}
    # A name that is not UTF-8 becomes one that is not there.
    texts = sorted(name.encode("utf-8", "backslashreplace").decode() for name in names)
    is_file = {name: _is_readable(folder / name) for name in texts}
    return [name for name in texts if is_file[name]], [name for name in texts if not is_file[name]]


def _is_readable(path: Path) -> bool:
    """Return whether a path is a regular file that may be read and is not too large."""
    try:
        status = path.lstat()
    except OSError:
        return False
    # The mode too: root can read files whose mode forbids it.
    may_read = status.st_mode & 0o444 and os.access(path, os.R_OK)
    return bool(may_read) and stat.S_ISREG(status.st_mode) and status.st_size <= MAX_FILE_BYTES


class RequestRefused(Exception):
    """A request that the crew does not understand or must not follow; the message says what it takes instead."""


def target_of(request: str, root: Path) -> str:
    """The folder or file that a request asks to audit, relative to the crew's folder, empty for all of it; blocking.

    The request is `audit`, or `audit NAME` with a path inside the folder, a dotted module or just a name.

    Raises:
        RequestRefused: If it is anything else, or nothing has that name.
    """
    verb, _, rest = request.strip().partition(" ")
    if verb.lower() not in ("", "audit"):
        raise RequestRefused(f"the crew audits: say `audit` or `audit PATH`, not {verb[:40]!r}")
    name = rest.strip().strip("\"'")
    path = root if "\0" in name else Path(os.path.realpath(root / name))
    if "\0" in name or not path.is_relative_to(root):
        raise RequestRefused(f"{name[:200]!r} is outside the folder of this crew; start `quarterdeck demo` there")
    if os.access(path, os.F_OK):  # false also for a name that no file can have
        return str(path.relative_to(root)) if path != root else ""
    files, _ = list_files(root)
    folders = {str(parent) for file in files for parent in PurePosixPath(file).parents} - {"."}
    end = f"/{name.strip('/').lower()}"
    ends = (end, end.removesuffix(".py").replace(".", "/"))
    matches = [path for path in (*folders, *files) if f"/{path}".lower().removesuffix(".py").endswith(ends)]
    if not matches:
        raise RequestRefused(f"nothing named {name[:200]!r} in this folder; say `audit` for all of it")
    return min(matches, key=lambda path: (path.count("/"), path not in folders, path))
