"""What git says of a folder: what it ignores, and its history: how busy, who, which files change most and together.

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
from tempfile import TemporaryDirectory
from typing import Any

from dashboard.demo.source import name_text

MAX_COMMITS = 3_000
"""Older commits are not read, and the result says so."""

_DAY_S = 86_400
_LAST_S = 253_402_300_799
"""The end of the year 9999, after which a commit may say that it was made."""
_FEW_FILES = 20

_SETTINGS = ("core.fsmonitor=false", "log.showSignature=false", "core.hooksPath=/dev/null", "diff.external=")
_VARIABLES = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}


class GitFailed(Exception):
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


def ignored_by_git(folder: Path) -> frozenset[str]:
    """Names below `folder` that git ignores, folders with a slash at the end; blocking.

    Outside a repository git reads the `.gitignore` files for an empty one. Nothing is ignored where there is no git, or
    where the folder itself is ignored as a whole (a build folder that is audited on request).
    """
    listing = ("ls-files", "-z", "--others", "--ignored", "--directory")
    try:
        try:
            listed = run_git(folder, *listing, "--exclude-standard")
        except GitFailed:
            own = "--exclude-per-directory=.gitignore"  # not what the user's own settings ignore
            with TemporaryDirectory() as empty:
                run_git(Path(empty), "init", "--quiet", "--bare")
                listed = run_git(folder, f"--git-dir={empty}", "--work-tree=.", *listing, own)
    except GitFailed:
        return frozenset()
    names = frozenset(os.fsdecode(raw) for raw in listed.split(b"\0") if raw)
    return frozenset() if "./" in names else names


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
            Path(folder), "log", "--no-merges", f"--max-count={MAX_COMMITS}", "--relative", "-z", "--numstat",
            "--no-renames", "--no-ext-diff", "--no-textconv", "--format=%x01%at%x02%aN", "--", under or ".",
        )  # fmt: skip
    except GitFailed as error:
        return {"why_not": error.reason.removeprefix("fatal: ")}
    commits = list(commits_in(log))
    return summary(commits) if commits else {"why_not": "no commit touches this folder"}


def commits_in(log: bytes) -> Iterator[Commit]:
    """Parse what `git log -z --numstat` printed."""
    at_s, author, changes = 0, "", list[tuple[str, int]]()
    started = False
    for field in log.split(b"\0"):
        if field.startswith(b"\x01"):
            if started:
                yield Commit(at_s, author, tuple(changes))
            time, _, name = field[1:].partition(b"\x02")
            at_s = min(int(time), _LAST_S) if time.isdigit() else 0  # nothing keeps a commit from any time, or none
            author, changes, started = name.decode("utf-8", "replace"), [], True
        elif started and field.count(b"\t") >= 2:
            added, removed, path = field.lstrip(b"\n").split(b"\t", 2)
            changes.append(
                (name_text(os.fsdecode(path)), sum(int(count) for count in (added, removed) if count.isdigit()))
            )
    if started:
        yield Commit(at_s, author, tuple(changes))


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
        if len(files) <= _FEW_FILES:
            pairs.update(combinations(files, 2))
    rows = [
        {"left": left, "right": right, "commits": n, "share": round(n / min(touched[left], touched[right]), 2)}
        for (left, right), n in pairs.most_common(200)
        if n >= 4 and n * 2 >= min(touched[left], touched[right])
    ]
    return rows[:8]
