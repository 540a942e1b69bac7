"""Joining fingerprints into pairs of files to compare, and compared pairs into what the report shows. Pure."""

from collections import defaultdict
from typing import Any

from dashboard.demo.fingerprints import unpack

MAX_PAIRS = 120
"""Pairs of files that are compared token by token: those that share the most fingerprints."""
MIN_TOKENS = 100
"""Shorter copies are not worth a line in a report."""

_CROWD = 8
_SEEDS = 40


def suspects(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The pairs of files that share fingerprints, most first.

    Args:
        entries: As the worker `fingerprints.prints` gives them.

    Returns:
        `{"left", "right", "seeds": [[i, j], ...]}` each; of a fingerprint in many places, neighbours only.
    """
    places: dict[int, list[tuple[str, int]]] = defaultdict(list)
    for entry in sorted(entries, key=lambda entry: str(entry["file"])):
        for hashed, at in unpack(entry["prints"]):
            places[hashed].append((entry["file"], at))
    seeds: dict[tuple[str, str], list[list[int]]] = defaultdict(list)
    for group in places.values():
        reach = len(group) if len(group) <= _CROWD else 2
        for at, (left, i) in enumerate(group):
            for right, j in group[at + 1 : at + reach]:
                seeds[left, right].append([i, j])
    ranked = sorted(seeds.items(), key=lambda item: (-len(item[1]), item[0]))
    return [
        {"left": left, "right": right, "seeds": _spread(pairs)}
        for (left, right), pairs in ranked[:MAX_PAIRS]
    ]  # fmt: skip


def _spread(pairs: list[list[int]]) -> list[list[int]]:
    """At most 40 of the seeds, from all over the files."""
    step = max(1, len(pairs) // _SEEDS)
    return pairs[::step][:_SEEDS]


def summary(entries: list[dict[str, Any]], judged: list[dict[str, Any]]) -> dict[str, Any]:
    """Copies of at least MIN_TOKENS tokens, the longest first, and how much code is copied in all."""
    rows = [
        {
            "tokens": passage["tokens"],
            "left": [pair["left"], *passage["left"]],
            "right": [pair["right"], *passage["right"]],
        }
        for pair in judged
        for passage in pair["passages"]
        if passage["tokens"] >= MIN_TOKENS
    ]
    rows.sort(key=lambda row: (-row["tokens"], row["left"], row["right"]))
    lines: set[tuple[str, int]] = set()
    for row in rows:
        for file, first, last in (row["left"], row["right"]):
            lines.update((file, line) for line in range(first, last + 1))
    return {
        "files": len(entries),
        "tokens": sum(entry["tokens"] for entry in entries),
        "compared": len(judged),
        "copies": len(rows),
        "copied_lines": len(lines),
        "items": rows[:20],
    }
