"""A git worktree for an attempt: its own branch and folder, removed only if nothing would be lost.

Rule: uncommitted files, and commits that are in no other branch, are never deleted. Hooks of the repository are not
run. A lock serializes changes to the worktrees of a repository, because git fails if it reads the entry of a worktree
or branch while that is being removed. All functions block.
"""

import fcntl
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from engine.errors import EngineError, Unusable
from engine.platform.folders import NoHome, data_folder
from engine.runtimes.programs.environment import build_environment
from store.layout.files import open_for_writing

PREFIX = "quarterdeck/"
"""Prefix of the names of our branches."""
GIT_TIMEOUT_S = 120.0
"""Timeout of one git command."""
MAX_TRIES = 100
"""Number of names that are tried for a worktree."""
_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    # Several attempts may begin and end at once, and by default git waits only 0.1 to 1 s for a lock.
    "core.filesRefLockTimeout=30000",
    "core.packedRefsTimeout=30000",
)


class GitFailed(EngineError):
    """A git command failed."""


@dataclass(frozen=True, slots=True)
class Worktree:
    """A worktree with its own branch."""

    path: Path
    branch: str
    top: Path
    """Top folder of its repository."""

    def inside(self, folder: Path) -> Path:
        """Return the folder in the worktree that corresponds to a folder of the repository."""
        return self.path / folder.resolve().relative_to(self.top)


@dataclass(frozen=True, slots=True)
class UnmergedWork:
    """Work that exists only in a worktree."""

    commits: int
    files: int
    """Number of changed or added files that are not committed."""

    @property
    def description(self) -> str:
        """Its description; empty if there is none."""
        parts = [f"{self.commits} commit{'s' * (self.commits != 1)}"] if self.commits else []
        parts += [f"{self.files} uncommitted file{'s' * (self.files != 1)}"] if self.files else []
        return " and ".join(parts)


def repository_of(folder: Path) -> Path:
    """Return the top folder of the repository around a folder.

    Raises:
        Unusable: If there is no git, no repository, or no commit in it; one line.
    """
    try:
        top = _git(folder, "rev-parse", "--show-toplevel")
    except FileNotFoundError:
        raise Unusable("'worktree' needs git, which is not in PATH; install it, or leave 'worktree' out") from None
    except GitFailed:
        raise Unusable(
            f"'worktree' needs a git repository, and {folder} is in none: git init, or leave it out"
        ) from None
    try:
        _git(folder, "rev-parse", "--verify", "HEAD^{commit}")
    except GitFailed:
        raise Unusable(f"'worktree' needs a commit to begin from, and {top} has none yet") from None
    return Path(top).resolve()


def make_worktree(top: Path, name: str) -> Worktree:
    """Make a worktree at the HEAD of the repository.

    Args:
        top: The repository.
        name: Name of the branch, after `quarterdeck/`; gets a number if it is in use.

    Raises:
        GitFailed: If it cannot be made.
    """
    try:
        folder = worktrees_folder() / f"{top.name}-{sha256(os.fsencode(top)).hexdigest()[:8]}"
    except NoHome as error:
        raise GitFailed(str(error)) from error
    folder.mkdir(parents=True, exist_ok=True)
    with _lock_worktrees(folder):
        return _make_worktree(top, name, folder)


def _make_worktree(top: Path, name: str, folder: Path) -> Worktree:
    for number in range(1, MAX_TRIES):
        unique = name if number == 1 else f"{name}-{number}"
        path, branch = folder / unique, f"{PREFIX}{unique}"
        if path.exists() or _has(top, branch):
            continue
        try:
            _git(top, "worktree", "add", "--quiet", "-b", branch, str(path), "HEAD")
        except GitFailed:
            if path.exists() or _has(top, branch):
                continue  # another attempt was faster
            raise
        return Worktree(path, branch, top)
    raise GitFailed(f"there are {MAX_TRIES} worktrees for {name} in {folder}; remove those that are not needed")


def find_worktree(path: str, branch: str, top: str) -> Worktree | None:
    """Return a worktree that was made earlier; None if it no longer exists."""
    tree = Worktree(Path(path), branch, Path(top))
    return tree if (tree.path / ".git").is_file() else None


def remove_worktree(worktree: Worktree) -> UnmergedWork | None:
    """Remove a worktree and its branch, or return the work that would be lost and keep them.

    Raises:
        GitFailed: If git fails; the worktree still exists then.
    """
    with _lock_worktrees(worktree.path.parent):
        work = unmerged_work(worktree)
        if work.commits or work.files:
            return work
        head = _git(worktree.top, "rev-parse", f"refs/heads/{worktree.branch}")
        _git(worktree.top, "worktree", "remove", str(worktree.path))  # without --force: git checks for changes, too
        # With the old value, so that a branch that has moved since is kept.
        _git(worktree.top, "update-ref", "-d", f"refs/heads/{worktree.branch}", head)
        return None


@contextmanager
def _lock_worktrees(folder: Path) -> Iterator[None]:
    """Hold the lock on the worktrees of a repository, against other threads and processes."""
    lock = open_for_writing(folder.with_name(f"{folder.name}.lock"))
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def unmerged_work(worktree: Worktree) -> UnmergedWork:
    """Return the work that is in a worktree and in no other branch.

    Raises:
        GitFailed: If git fails.
    """
    changed = _git(worktree.path, "status", "--porcelain", "--untracked-files=normal").splitlines()
    others = ("--not", f"--exclude={worktree.branch}", "--branches")
    own = _git(worktree.path, "rev-list", "--count", "HEAD", f"refs/heads/{worktree.branch}", *others)
    return UnmergedWork(int(own), len(changed))


def worktrees_folder() -> Path:
    """Return the folder of all worktrees of this user, with a folder for each repository.

    Raises:
        NoHome: If this user has no home folder.
    """
    return data_folder() / "worktrees"


def describe_worktrees() -> Iterator[tuple[Path, str]]:
    """Yield the path of each worktree, and a description of its branch and its work."""
    for path in sorted(worktrees_folder().glob("*/*")):
        if not path.is_dir():
            continue  # such as a file of a file browser
        try:
            branch = PREFIX + path.name
            top = Path(_git(path, "rev-parse", "--path-format=absolute", "--git-common-dir")).parent
            work = unmerged_work(Worktree(path, branch, top))
        except (GitFailed, FileNotFoundError) as error:
            yield path, f"cannot be read ({error})"
            continue
        yield path, f"the branch {branch} has {work.description or 'nothing that is not elsewhere too'}"


def _has(top: Path, branch: str) -> bool:
    try:
        _git(top, "rev-parse", "--verify", "--quiet", f"refs/heads/{branch}")
    except GitFailed:
        return False
    return True


def _git(folder: Path, *words: str) -> str:
    """Run git in `folder`, and return its standard output.

    Raises:
        GitFailed: If it fails, with the last line of its standard error.
        FileNotFoundError: If there is no git, or no such folder.
    """
    env = {**build_environment(()), "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    command = ["git", *(word for setting in _SETTINGS for word in ("-c", setting)), *words]
    try:
        completed = subprocess.run(
            command,
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=GIT_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise GitFailed(f"git {words[0]} took longer than {GIT_TIMEOUT_S:g} s") from None
    if completed.returncode:
        lines = completed.stderr.decode(errors="replace").strip().splitlines()
        raise GitFailed(f"git {words[0]}: {(lines or ['failed'])[-1]}")
    return completed.stdout.decode(errors="replace").strip()
