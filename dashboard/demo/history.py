"""What the git history says: how old, how busy, who, which files change most and which change together."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from dashboard.demo.git_commands import GitFailed, run_git, shown

MAX_COMMITS = 3_000
"""Older commits are not read, and the result says so."""

_DAY_S = 86_400
_FEW_FILES = 20


@dataclass(slots=True, frozen=True)
class Commit:
    """One commit and the files it changed."""

    at_s: int
    """Author's time, seconds since 1970 UTC."""
    author: str
    changes: tuple[tuple[str, int], ...]
    """File and changed lines, added and removed together; 0 for binary ones."""


def read(folder: str, under: str) -> dict[str, Any]:
    """The history below a folder; blocking.

    Args:
        folder: The audited folder, as the operating system names it.
        under: A folder or file inside it, relative; empty for all.

    Returns:
        What `summary` says, or `{"why_not": reason}` where there is no history to read.
    """
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
            at_s, author, changes, started = int(time), name.decode("utf-8", "replace"), [], True
        elif started and field.count(b"\t") >= 2:
            added, removed, path = field.lstrip(b"\n").split(b"\t", 2)
            changes.append((shown(path), sum(int(count) for count in (added, removed) if count.isdigit())))
    if started:
        yield Commit(at_s, author, tuple(changes))


def summary(commits: list[Commit]) -> dict[str, Any]:
    """Totals, churn by file, and pairs of files that change together.

    Args:
        commits: At least one, in any order.
    """
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
