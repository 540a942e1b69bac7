"""A git worktree for an attempt: a branch and a folder of its own, removed only where nothing of it would be lost.

Rule: what is not committed, and what no other branch holds, is never deleted. Hooks of the repository are not run.
One at a time is made or removed in a repository: git fails where it reads the entry of a worktree or of a branch that
is being removed. All of this blocks.
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
from engine.runtimes.programs.environment import environment
from store.layout.files import open_for_writing

PREFIX = "quarterdeck/"
"""How the names of our branches begin."""
GIT_TIMEOUT_S = 120.0
"""How long git may take for one thing."""
MAX_TRIES = 100
_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    # Several attempts begin and end at once: git waits for a lock of another only 0.1 to 1 s by itself.
    "core.filesRefLockTimeout=30000",
    "core.packedRefsTimeout=30000",
)


class GitFailed(EngineError):
    """Git did not do what it was asked."""


@dataclass(frozen=True, slots=True)
class Worktree:
    """A folder with a branch of its own."""

    path: Path
    branch: str
    top: Path
    """The repository that it is of."""

    def inside(self, folder: Path) -> Path:
        """Return what corresponds to a folder of the repository."""
        return self.path / folder.resolve().relative_to(self.top)


@dataclass(frozen=True, slots=True)
class Left:
    """Work that is in a worktree and nowhere else."""

    commits: int
    files: int
    """That were changed or added, and not committed."""

    @property
    def words(self) -> str:
        """Return what there is."""
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


def added(top: Path, name: str) -> Worktree:
    """Make a worktree at the commit that the repository is at.

    Args:
        top: The repository.
        name: Of the branch, after `quarterdeck/`; a branch of that name of another attempt does not conflict.

    Raises:
        GitFailed: If git does not make it.
    """
    try:
        folder = folder_of_all() / f"{top.name}-{sha256(os.fsencode(top)).hexdigest()[:8]}"
    except NoHome as error:
        raise GitFailed(str(error)) from error
    folder.mkdir(parents=True, exist_ok=True)
    with _alone(folder):
        return _added(top, name, folder)


def _added(top: Path, name: str, folder: Path) -> Worktree:
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


def existing(path: str, branch: str, top: str) -> Worktree | None:
    """Return a worktree that was made before; None where it is not there any more."""
    tree = Worktree(Path(path), branch, Path(top))
    return tree if (tree.path / ".git").is_file() else None


def removed(worktree: Worktree) -> Left | None:
    """Remove a worktree and its branch; or return what would be lost, and leave them.

    Raises:
        GitFailed: If git cannot say what is in it, or does not remove it; then it is still there.
    """
    with _alone(worktree.path.parent):
        left = work_in(worktree)
        if left.commits or left.files:
            return left
        head = _git(worktree.top, "rev-parse", f"refs/heads/{worktree.branch}")
        _git(worktree.top, "worktree", "remove", str(worktree.path))  # without --force: git looks for itself, too
        # Only as it was when it was looked at.
        _git(worktree.top, "update-ref", "-d", f"refs/heads/{worktree.branch}", head)
        return None


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Wait until no thread or process makes or removes a worktree in the folder of a repository."""
    lock = open_for_writing(folder.with_name(f"{folder.name}.lock"))
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def work_in(worktree: Worktree) -> Left:
    """Return what is in a worktree and in no other branch.

    Raises:
        GitFailed: If git cannot say it.
    """
    changed = _git(worktree.path, "status", "--porcelain", "--untracked-files=normal").splitlines()
    others = ("--not", f"--exclude={worktree.branch}", "--branches")
    own = _git(worktree.path, "rev-list", "--count", "HEAD", f"refs/heads/{worktree.branch}", *others)
    return Left(int(own), len(changed))


def folder_of_all() -> Path:
    """Return where all worktrees of this user are, those of one repository in one folder.

    Raises:
        NoHome: If this user has no home folder.
    """
    return data_folder() / "worktrees"


def all_left() -> Iterator[tuple[Path, str]]:
    """Yield each worktree that is there, with its branch and what is in it, in words."""
    for path in sorted(folder_of_all().glob("*/*")):
        if not path.is_dir():
            continue  # such as what a file browser leaves
        try:
            branch = PREFIX + path.name
            top = Path(_git(path, "rev-parse", "--path-format=absolute", "--git-common-dir")).parent
            left = work_in(Worktree(path, branch, top))
        except (GitFailed, FileNotFoundError) as error:
            yield path, f"cannot be read ({error})"
            continue
        yield path, f"the branch {branch} has {left.words or 'nothing that is not elsewhere too'}"


def _has(top: Path, branch: str) -> bool:
    try:
        _git(top, "rev-parse", "--verify", "--quiet", f"refs/heads/{branch}")
    except GitFailed:
        return False
    return True


def _git(folder: Path, *words: str) -> str:
    """Return what git says.

    Raises:
        GitFailed: If it fails; with its last line.
        FileNotFoundError: If there is no git, or no such folder.
    """
    env = {**environment(()), "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    command = ["git", *(word for setting in _SETTINGS for word in ("-c", setting)), *words]
    try:
        done = subprocess.run(
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
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        raise GitFailed(f"git {words[0]}: {(lines or ['failed'])[-1]}")
    return done.stdout.decode(errors="replace").strip()
