"""What git says of a folder: how busy it is, who works on it, which files change most and together.

The folder is a stranger's, so no setting in its repository may start a program: hooks on the file system monitor,
signature checks, external diffs and every transport are off, and no variable of the caller's own repository leaks in.
"""

import os
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

MAX_COMMITS = 3_000
"""Older commits are not read, and the result says so."""
_DAY_S = 86_400
_MAX_TIME_S = 253_402_300_799
"""The end of the year 9999, after which a commit may say that it was made."""
_MAX_PAIRED_FILES = 20

_SETTINGS = ("core.fsmonitor=false", "log.showSignature=false", "core.hooksPath=/dev/null", "diff.external=")
_VARIABLES = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}


class GitUnavailable(Exception):
    """Git could not answer: not installed, not a repository, one it does not trust, or too slow; it says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"git: {reason}")
        self.reason = reason


def run_git(folder: Path, *arguments: str, timeout_s: float = 60.0) -> bytes:
    """What `git ARGUMENTS` prints when run in `folder`; blocking. Raises GitFailed if it fails or takes too long."""
    settings = [part for setting in _SETTINGS for part in ("-c", setting)]
    environment = {key: text for key, text in os.environ.items() if not key.startswith("GIT_")} | _VARIABLES
    command = ["git", "--no-pager", *settings, "-C", str(folder), *arguments]
    try:
        process = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout_s, check=False
        )
    except OSError as error:
        raise GitUnavailable(error.strerror or str(error)) from error
    except subprocess.TimeoutExpired as error:
        raise GitUnavailable(f"no answer within {timeout_s:g} s") from error
    if process.returncode:
        lines = process.stderr.decode("utf-8", "replace").strip().splitlines()
        raise GitUnavailable(lines[0] if lines else f"ended with status {process.returncode}")
    return process.stdout


@dataclass(slots=True, frozen=True)
class Commit:
    """One commit and the files it changed."""

    at_s: int
    """Author's time, seconds since 1970 UTC."""
    author: str
    changes: tuple[tuple[str, int], ...]
    """File and changed lines, added and removed together; 0 for binary ones."""


def read(folder: str, under: str) -> dict[str, Any]:
    """What `summary` says of a folder or file inside a folder; blocking. `{"why_not"}` where there is no history."""
    try:
        log = run_git(
            Path(folder),
            "log",
            "--no-merges",
            f"--max-count={MAX_COMMITS}",
            "--relative",
            "-z",
            "--numstat",
            "--no-renames",
            "--no-ext-diff",
            "--no-textconv",
            "--format=%x01%at%x02%aN",
            "--",
            under or ".",
        )
    except GitUnavailable as error:
        return {"why_not": error.reason.removeprefix("fatal: ")}
    commits = list(commits_in(log))
    return summary(commits) if commits else {"why_not": "no commit touches this folder"}


def commits_in(log: bytes) -> Iterator[Commit]:
    """Parse what `git log -z --numstat` printed."""
    for block in log.split(b"\x01")[1:]:
        head, *fields = block.split(b"\0")
        time, _, name = head.partition(b"\x02")
        at_s = min(int(time), _MAX_TIME_S) if time.isdigit() else 0  # nothing keeps a commit from any time, or none
        changes = [field.lstrip(b"\n").split(b"\t", 2) for field in fields if field.count(b"\t") >= 2]
        yield Commit(
            at_s,
            name.decode("utf-8", "replace"),
            tuple(
                (path.decode("utf-8", "backslashreplace"), sum(int(count) for count in counts if count.isdigit()))
                for *counts, path in changes
            ),
        )


def summary(commits: list[Commit]) -> dict[str, Any]:
    """Totals, churn by file, and pairs of files that change together, of at least one commit."""
    touched: Counter[str] = Counter()
    lines: Counter[str] = Counter()
    authors: dict[str, set[str]] = defaultdict(set)
    for commit in commits:
        for file, changed in commit.changes:
            touched[file] += 1
            lines[file] += changed
            authors[file].add(commit.author)
    first, last = min(commit.at_s for commit in commits), max(commit.at_s for commit in commits)
    by_author = Counter(commit.author for commit in commits)
    return {
        "commits": len(commits),
        "all_read": len(commits) < MAX_COMMITS,
        "first_s": first,
        "last_s": last,
        "last_90_days": sum(commit.at_s > last - 90 * _DAY_S for commit in commits),
        "authors": len(by_author),
        "busiest_author_share": round(by_author.most_common(1)[0][1] / len(commits), 3),
        "one_author_files": sum(len(names) == 1 for names in authors.values()),
        "files": len(touched),
        "churn": [
            {"file": f, "commits": n, "lines": lines[f], "authors": len(authors[f])} for f, n in touched.most_common(60)
        ],
        "together": _together(commits, touched),
    }


def _together(commits: list[Commit], touched: Counter[str]) -> list[dict[str, Any]]:
    """Pairs that changed in the same commit at least 4 times and in half of the commits of the rarer one."""
    pairs: Counter[tuple[str, str]] = Counter()
    for commit in commits:
        files = sorted({file for file, _ in commit.changes})
        if len(files) <= _MAX_PAIRED_FILES:
            pairs.update(combinations(files, 2))
    rows = [
        {"left": left, "right": right, "commits": n, "share": round(n / min(touched[left], touched[right]), 2)}
        for (left, right), n in pairs.most_common(200)
        if n >= 4 and n * 2 >= min(touched[left], touched[right])
    ]
    return rows[:8]
