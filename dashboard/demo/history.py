"""What git says of a folder: how busy it is, who works on it, and which files change most.

The folder is a stranger's, so no setting in its repository may start a program: hooks on the file system monitor,
signature checks, external diffs and every transport are off, and no variable of the caller's own repository leaks in.
"""

import os
import subprocess
from collections import Counter
from pathlib import Path

from dashboard.demo.markdown import place, prose, table
from engine.core.records.values import pluralize

MAX_COMMITS = 3_000
"""Older commits are not read, and the result says so."""
_SETTINGS = ("core.fsmonitor=false", "log.showSignature=false", "core.hooksPath=/dev/null", "diff.external=")
_VARIABLES = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
_LOG = ("log", "--no-merges", f"--max-count={MAX_COMMITS}", "--no-ext-diff", "--no-textconv")


class GitUnavailable(Exception):
    """Git could not answer: not installed, not a repository, one it does not trust, or too slow; it says why."""


def run_git(folder: Path, *arguments: str, timeout_s: float = 60.0) -> bytes:
    """What `git ARGUMENTS` prints when run in `folder`; blocking. Raises GitUnavailable if it fails or is too slow."""
    settings = [part for setting in _SETTINGS for part in ("-c", setting)]
    environment = {key: text for key, text in os.environ.items() if not key.startswith("GIT_")} | _VARIABLES
    command = ["git", "--no-pager", *settings, "-C", str(folder), *arguments]
    try:
        process = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout_s, check=True
        )
    except OSError as error:
        raise GitUnavailable(error.strerror or str(error)) from error
    except subprocess.TimeoutExpired as error:
        raise GitUnavailable(f"no answer within {timeout_s:g} s") from error
    except subprocess.CalledProcessError as error:
        lines = error.stderr.decode("utf-8", "replace").strip().splitlines()
        raise GitUnavailable(lines[0] if lines else f"ended with status {error.returncode}") from error
    return process.stdout


def read(folder: str, under: str) -> dict[str, str]:
    """The chapter of the report about the history of a folder or file inside a folder; blocking."""
    names = ("--relative", "-z", "--name-only", "--no-renames", "--format=")
    try:
        commits = run_git(Path(folder), *_LOG, "--format=%as %aN", "--", under or ".").decode("utf-8", "replace")
        files = run_git(Path(folder), *_LOG, *names, "--", under or ".").decode("utf-8", "backslashreplace")
    except GitUnavailable as error:
        return {"headline": "", "text": f"No history was read: {prose(str(error).removeprefix('fatal: '))}.\n"}
    return summary(commits.rstrip("\n").split("\n"), Counter(filter(None, files.split("\0"))))


def summary(commits: list[str], touched: Counter[str]) -> dict[str, str]:
    """Who worked on the folder and when, and the files that change most.

    Args:
        commits: Date and author of each.
        touched: Number of commits for each file.
    """
    if not touched:
        return {"headline": "", "text": "No commit touches this folder.\n"}
    dates, authors = zip(*(commit.split(" ", 1) for commit in commits), strict=True)
    people = pluralize(len(set(authors)), "author")
    older = " (older ones were not read)" if len(commits) >= MAX_COMMITS else ""
    rows = [(place(file), n) for file, n in touched.most_common(12)]
    return {
        "headline": f"Changes most: {rows[0][0]} ({pluralize(rows[0][1], 'commit')})",
        "text": f"- {pluralize(len(commits), 'commit')} by {people} from {min(dates)} to {max(dates)}{older}\n\n"
        + table(("File", "Commits"), rows),
    }
