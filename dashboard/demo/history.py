"""What git says of a folder: how busy it is, who works on it, and which files change most.

The folder is a stranger's, so no setting in its repository may start a program: hooks on the file system monitor,
signature checks, external diffs and every transport are off, and no variable of the caller's own repository leaks in.
"""

import os
import subprocess
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from dashboard.demo.markdown import place, prose, table
from engine.core.records.values import pluralize

MAX_COMMITS = 3_000
"""Older commits are not read, and the result says so."""
_MAX_TIME_S = 253_402_300_799
"""The end of the year 9999, after which a commit may say that it was made."""
_SETTINGS = ("core.fsmonitor=false", "log.showSignature=false", "core.hooksPath=/dev/null", "diff.external=")
_VARIABLES = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
_LOG = (
    "log", "--no-merges", f"--max-count={MAX_COMMITS}", "--relative", "-z", "--numstat", "--no-renames",
    "--no-ext-diff", "--no-textconv", "--format=%x01%at%x02%aN",
)  # fmt: skip


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


class Commit(NamedTuple):
    """One commit and the files it changed."""

    at_s: int
    """Author's time, seconds since 1970 UTC."""
    author: str
    changes: dict[str, int]
    """Changed lines of each file, added and removed together; 0 for binary ones."""


def read(folder: str, under: str) -> dict[str, str]:
    """The chapter of the report about the history of a folder or file inside a folder; blocking."""
    try:
        commits = list(commits_in(run_git(Path(folder), *_LOG, "--", under or ".")))
    except GitUnavailable as error:
        return {"headline": "", "text": f"No history was read: {prose(str(error).removeprefix('fatal: '))}.\n"}
    return summary(commits) if commits else {"headline": "", "text": "No commit touches this folder.\n"}


def commits_in(log: bytes) -> Iterator[Commit]:
    """Parse what `git log -z --numstat` printed."""
    for block in log.split(b"\x01")[1:]:
        head, *fields = block.split(b"\0")
        seconds, _, name = head.partition(b"\x02")
        at_s = min(int(seconds), _MAX_TIME_S) if seconds.isdigit() else 0  # a commit may have any time, or none
        changes = [field.lstrip(b"\n").split(b"\t", 2) for field in fields if field.count(b"\t") >= 2]
        lines = {
            path.decode("utf-8", "backslashreplace"): sum(int(count) for count in counts if count.isdigit())
            for *counts, path in changes
        }
        yield Commit(at_s, name.decode("utf-8", "replace"), lines)


def summary(commits: list[Commit]) -> dict[str, str]:
    """Who worked on the folder and when, and the files that change most; of at least one commit."""
    touched = Counter(file for commit in commits for file in commit.changes)
    lines, authors = Counter[str](), defaultdict[str, set[str]](set)
    for commit in commits:
        lines.update(commit.changes)
        for file in commit.changes:
            authors[file].add(commit.author)
    times = sorted(commit.at_s for commit in commits)
    first, last = (time.strftime("%Y-%m-%d", time.gmtime(at_s)) for at_s in (times[0], times[-1]))
    older = " (older ones were not read)" if len(commits) >= MAX_COMMITS else ""
    people = pluralize(len({commit.author for commit in commits}), "author")
    alone = sum(len(names) == 1 for names in authors.values())
    rows = [(place(file), n, lines[file], len(authors[file])) for file, n in touched.most_common(12)]
    return {
        "headline": "".join(f"Changes most: {file} ({pluralize(n, 'commit')})" for file, n, *_ in rows[:1]),
        "text": f"- {pluralize(len(commits), 'commit')} by {people} from {first} to {last}{older}\n"
        f"- {alone:,} of {len(touched):,} files were only ever touched by one person\n\n"
        + table(("File", "Commits", "Changed lines", "Authors"), rows),
    }
