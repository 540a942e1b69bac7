"""Running git on a folder that nobody vouches for.

The one rule: no setting in the repository may start a program. So hooks on the file system monitor, signature checks,
external diffs and every transport are off, and no variable of the caller's own repository leaks in.
"""

import os
import subprocess
from pathlib import Path

from dashboard.demo.names import name_text

_SETTINGS = ("core.fsmonitor=false", "log.showSignature=false", "core.hooksPath=/dev/null", "diff.external=")
_VARIABLES = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}


class GitFailed(Exception):
    """Git could not answer: not installed, not a repository, one it does not trust, or too slow.

    Attributes:
        reason: Git's own last line, or what went wrong before it ran.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(f"git: {reason}")
        self.reason = reason


def run_git(folder: Path, *arguments: str, timeout_s: float = 60.0) -> bytes:
    """What `git ARGUMENTS` prints when run in `folder`; blocking.

    Args:
        folder: Where to run.
        arguments: The subcommand and its options.
        timeout_s: Longest wait, in seconds.

    Raises:
        GitFailed: It did not run, did not end in time, or ended with another status than 0.
    """
    settings = [part for setting in _SETTINGS for part in ("-c", setting)]
    environment = {key: text for key, text in os.environ.items() if not key.startswith("GIT_")} | _VARIABLES
    command = ["git", "--no-pager", *settings, "-C", str(folder), *arguments]
    try:
        done = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout_s, check=False
        )
    except OSError as error:
        raise GitFailed(error.strerror or str(error)) from error
    except subprocess.TimeoutExpired as error:
        raise GitFailed(f"no answer within {timeout_s:g} s") from error
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise GitFailed(lines[0] if lines else f"ended with status {done.returncode}")
    return done.stdout


def ignored_by_git(folder: Path) -> frozenset[str] | None:
    """Names below `folder` that git ignores, folders with a slash at the end.

    Returns:
        None where git has no say: no repository, no git, or the folder itself is ignored as a whole (a build
        folder that somebody asked to audit).
    """
    try:
        if run_git(folder, "rev-parse", "--is-inside-work-tree").strip() != b"true":
            return None
        listed = run_git(folder, "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
    except GitFailed:
        return None
    names = frozenset(os.fsdecode(raw) for raw in listed.split(b"\0") if raw)
    return None if "./" in names else names


def shown(raw: bytes) -> str:
    """A path that git printed, in the form of `name_text`."""
    return name_text(os.fsdecode(raw))
