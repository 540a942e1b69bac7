"""`.gitignore` files where there is no git repository to ask.

Patterns match path segment by path segment, each through `fnmatch`, whose expressions cannot backtrack without end; a
hostile pattern costs no more than a friendly one. Source: gitignore(5).
"""

import fnmatch
import re
from collections.abc import Sequence
from dataclasses import dataclass

MAX_IGNORE_FILE_BYTES = 200_000
_ANY_FOLDERS = None


@dataclass(slots=True, frozen=True)
class IgnoreRule:
    """One line of a `.gitignore`."""

    base: str
    """Folder that holds the file, with a slash at the end; empty at the top."""
    segments: tuple[re.Pattern[str] | None, ...]
    """One pattern a path segment; None stands for `**`, any number of folders."""
    keeps: bool
    """A `!` rule: what matches is not ignored after all."""
    folders_only: bool

    def matches(self, name: str, *, is_folder: bool) -> bool:
        """Whether this rule speaks about `name`, relative to the audited folder."""
        if (self.folders_only and not is_folder) or not name.startswith(self.base):
            return False
        return _segments_match(self.segments, name[len(self.base) :].split("/"))


def rules_of(text: str, base: str) -> tuple[IgnoreRule, ...]:
    """The rules of one `.gitignore`.

    Args:
        text: Content of the file.
        base: Folder that holds it, relative to the audited folder, with a slash at the end or empty.
    """
    return tuple(rule for line in text.splitlines() if (rule := _rule(line, base)) is not None)


def is_ignored(rules: Sequence[IgnoreRule], name: str, *, is_folder: bool) -> bool:
    """Whether the last rule that matches ignores `name`; parents must have been asked before."""
    for rule in reversed(rules):
        if rule.matches(name, is_folder=is_folder):
            return not rule.keeps
    return False


def _rule(line: str, base: str) -> IgnoreRule | None:
    pattern = re.sub(r"(?<!\\) +$", "", line)
    keeps = pattern.startswith("!")
    pattern = pattern.removeprefix("!") if keeps else pattern
    if not pattern or pattern.startswith("#"):
        return None
    folders_only = pattern.endswith("/")
    pattern = pattern.removesuffix("/")
    anchored = "/" in pattern
    parts = pattern.removeprefix("/").split("/")
    if not any(parts):
        return None
    segments = [_ANY_FOLDERS if part == "**" else _segment(part) for part in parts]
    if not anchored:
        segments.insert(0, _ANY_FOLDERS)
    if segments[-1] is _ANY_FOLDERS:
        segments.append(_segment("*"))
    return IgnoreRule(base, tuple(segments), keeps, folders_only)


def _segment(part: str) -> re.Pattern[str]:
    """`fnmatch` knows no backslash and spells a negated class with `!`."""
    glob = re.sub(r"\\(.)", lambda escape: f"[{escape[1]}]" if escape[1] in "*?[" else escape[1], part)
    return re.compile(fnmatch.translate(glob.replace("[^", "[!")))


def _segments_match(pattern: Sequence[re.Pattern[str] | None], parts: Sequence[str]) -> bool:
    """Greedy with one point of return, as for a glob whose only wildcard is `**`: linear in practice."""
    at = here = 0
    retry: tuple[int, int] | None = None
    while here < len(parts):
        rule = pattern[at] if at < len(pattern) else re.compile(r"(?!)")
        if rule is _ANY_FOLDERS:
            retry = (at, here)
            at += 1
        elif rule.match(parts[here]):
            at, here = at + 1, here + 1
        elif retry is not None:
            retry = (retry[0], retry[1] + 1)
            at, here = retry[0] + 1, retry[1]
        else:
            return False
    return at == len(pattern)
