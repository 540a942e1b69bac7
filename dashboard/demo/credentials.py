"""Credentials that were written into a file, found by their shape or by the name they are given.

The one rule: what is found is never repeated whole: a report that leaks the secret it warns of is worse than none.
"""

import re
from collections.abc import Iterator

MAX_LINE = 2_000
"""Longer lines are cut: minified code and data, where a match would mean nothing."""

_SHAPES = {
    "private key": re.compile(r"-----BEGIN (?:[A-Z]+ ){0,3}PRIVATE KEY-----"),
    "AWS access key": re.compile(r"\bAKIA[0-9A-Z]{16}\b"),
    "GitHub token": re.compile(r"\bgh[pousr]_[A-Za-z0-9]{36,255}\b"),
    "Slack token": re.compile(r"\bxox[abprs]-[A-Za-z0-9-]{10,250}"),
    "API key": re.compile(r"\bsk-[A-Za-z0-9_-]{32,250}\b"),
    "address with a password": re.compile(
        r"\b[a-z][a-z0-9+.-]{1,20}://[^\s:/@'\"]{1,60}:[^\s:/@'\"<>{}$*]{3,60}@[\w.-]+"
    ),
}
_NAMED = re.compile(
    r"""(?i)\b\w{0,40}(?:passwo?rd|passwd|secret|token|api_?key|access_?key|private_?key)\w{0,20}["']?\s{0,4}[:=]\s{0,4}"""
    r"""(["'])([^"'\s]{8,200})\1"""
)
_PLACEHOLDER = re.compile(r"(?i)example|placeholder|change.?me|your|dummy|test|xxxx|\*\*\*|<|\{|\$|^\W+$|^[a-z_.\-]+$")


def credentials_in(text: str) -> Iterator[tuple[int, str]]:
    """Line number and a description of each credential, the value cut down to its first characters."""
    for number, line in enumerate(text.splitlines(), 1):
        if found := _credential(line[:MAX_LINE]):
            yield number, found


def _credential(line: str) -> str:
    for kind, shape in _SHAPES.items():
        if match := shape.search(line):
            return f"{kind} {match[0][:4]}…"
    match = _NAMED.search(line)
    if match and not _PLACEHOLDER.search(match[2]) and len(set(match[2])) > 5:
        return f"value {match[2][:3]}… for a name that says it is secret"
    return ""
