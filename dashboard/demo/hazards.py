"""Worker that looks for hazards: rules over the syntax tree, credentials and notes to self over the text."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from dashboard.demo.hazard_rules import SEVERITIES, findings, module_of
from dashboard.demo.source import over_files, read_bytes, read_python

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


KEPT = 25
"""Findings of one file that are told one by one, the most severe first; all are counted."""

_NOTE = re.compile(r"(?:#|//|/\*)\s*(TODO|FIXME|XXX|HACK)\b[:\s]*([^\n]{0,80})")
_TEST_NAME = re.compile(r"(?:^|/)(?:tests?/|test_[^/]*$|conftest\.py$|[^/]*_test\.py$)")


def scan(value: dict[str, Any]) -> dict[str, Any]:
    """Findings of each file of a work item: `[severity, rule, line, what]`, and counts by rule."""
    return over_files(value, _look)


def _look(folder: str, name: str) -> dict[str, Any]:
    found: list[tuple[str, str, int, str]] = []
    if name.endswith(".py"):
        source = read_python(folder, name)
        text = source.text
        module = module_of(source.tree, is_test=is_test(name))
        found += [(severity, rule, line, said) for rule, severity, line, said in findings(source.tree, module)]
        found += [("low", "invalid escape", line, said) for line, said in source.warnings]
    else:
        text = read_bytes(folder, name).decode("utf-8", "replace")
    found += [("high", "credential", line, said) for line, said in credentials_in(text)]
    found += [("low", "note", line, said) for line, said in notes_in(text)]
    found.sort(key=lambda each: (SEVERITIES.index(each[0]), each[2]))
    counts = Counter(f"{severity}: {rule}" for severity, rule, _, _ in found)
    return {"file": name, "counts": dict(counts), "findings": [list(each) for each in found[:KEPT]]}


def is_test(name: str) -> bool:
    """Whether a file is part of a test suite, by its path."""
    return bool(_TEST_NAME.search(name))


def notes_in(text: str) -> list[tuple[int, str]]:
    """Line and text of what authors left for later: TODO, FIXME, XXX, HACK."""
    notes, line, seen = [], 1, 0
    for match in _NOTE.finditer(text):
        line += text.count("\n", seen, match.start())
        seen = match.start()
        notes.append((line, f"{match[1]} {match[2].strip()}".strip()))
    return notes


def summary(entries: list[dict[str, Any]]) -> dict[str, Any]:
    """Join the findings of all files: counts by severity and rule, and the worst ones with their place."""
    counts: Counter[str] = Counter()
    rows = []
    for entry in entries:
        counts.update(entry["counts"])
        rows += [
            {"file": entry["file"], "severity": severity, "rule": rule, "line": line, "what": what}
            for severity, rule, line, what in entry["findings"]
        ]
    rows.sort(
        key=lambda row: (SEVERITIES.index(row["severity"]), is_test(row["file"]), row["rule"], row["file"], row["line"])
    )
    totals: dict[str, dict[str, int]] = {severity: {} for severity in SEVERITIES}
    for key, count in counts.most_common():
        severity, _, rule = key.partition(": ")
        totals[severity][rule] = count
    return {"files": len(entries), "totals": totals, "findings": _kept(rows)}


def _kept(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """At most 6 of one rule, so that a common one does not push out the rare, and 30 of one severity."""
    shown: Counter[str] = Counter()
    kept = []
    for row in rows:
        shown[row["rule"]] += 1
        if shown[row["rule"]] <= 6 and shown[row["severity"]] < 30:
            shown[row["severity"]] += 1
            kept.append(row)
    return kept
