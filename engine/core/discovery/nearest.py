"""Finds the known names most similar to a given one."""

from collections.abc import Collection, Iterable
from difflib import get_close_matches
from heapq import nsmallest
from itertools import pairwise

MAX_CHARACTERS_COMPARED = 500
"""Longer than any name or path; comparing a million characters takes seconds."""
MAX_NAMES_COMPARED = 64
_MAX_NAMES_PRESELECTED = 512


def nearest(name: str, names: Iterable[str], limit: int = 3) -> tuple[str, ...]:
    """Return up to `limit` of `names` that are most similar to `name`, ignoring case, the most similar first."""
    folded_name = name[:MAX_CHARACTERS_COMPARED].casefold()
    by_fold: dict[str, str] = {}
    # In reverse order, so that of names that differ only in case the alphabetically first is kept.
    for candidate in sorted(set(names), reverse=True):
        by_fold[candidate.casefold()] = candidate
    pool = preselect(folded_name, by_fold)
    matches = get_close_matches(folded_name, pool, n=max(limit, 1), cutoff=0.5)
    return tuple(by_fold[match] for match in matches[: max(limit, 0)])


def preselect(target: str, pool: Collection[str]) -> Collection[str]:
    """Preselect strings by common letters, then by common pairs of letters: a full comparison is expensive."""
    letters, pairs = set(target), _pairs(target)

    def letter_distance(candidate: str) -> tuple[int, str]:
        return abs(len(candidate) - len(target)) - 2 * len(letters.intersection(candidate)), candidate

    def pair_distance(candidate: str) -> tuple[int, str]:
        return len(candidate) - 3 * len(pairs & _pairs(candidate)), candidate

    if len(pool) > _MAX_NAMES_PRESELECTED:
        pool = nsmallest(_MAX_NAMES_PRESELECTED, pool, key=letter_distance)
    if len(pool) > MAX_NAMES_COMPARED:
        pool = nsmallest(MAX_NAMES_COMPARED, pool, key=pair_distance)
    return pool


def _pairs(text: str) -> set[str]:
    return set(map("".join, pairwise(f" {text} ")))
