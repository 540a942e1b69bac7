"""Which of the known names are most like one that was typed."""

from collections.abc import Collection, Iterable
from difflib import get_close_matches
from heapq import nsmallest
from itertools import pairwise

NAMES_COMPARED = 64
_LETTERS_COMPARED = 512


def nearest(name: str, names: Iterable[str], limit: int = 3) -> tuple[str, ...]:
    """Return up to `limit` of `names` that are most similar to `name`, ignoring case, the most similar first."""
    wanted = name.casefold()
    by_fold: dict[str, str] = {}
    # In reverse order, so that of names that differ only in case the alphabetically first is kept.
    for known in sorted(set(names), reverse=True):
        by_fold[known.casefold()] = known
    pool = likeliest(wanted, by_fold)
    return tuple(
        by_fold[fold] for fold in get_close_matches(wanted, pool, n=max(limit, 1), cutoff=0.5)[: max(limit, 0)]
    )


def likeliest(wanted: str, pool: Collection[str]) -> Collection[str]:
    """Preselect strings by common letters, then by common pairs of letters: a full comparison is expensive."""
    letters, pairs = set(wanted), _pairs(wanted)
    if len(pool) > _LETTERS_COMPARED:
        pool = nsmallest(
            _LETTERS_COMPARED,
            pool,
            key=lambda known: (abs(len(known) - len(wanted)) - 2 * len(letters.intersection(known)), known),
        )
    if len(pool) > NAMES_COMPARED:
        pool = nsmallest(NAMES_COMPARED, pool, key=lambda known: (len(known) - 3 * len(pairs & _pairs(known)), known))
    return pool


def _pairs(text: str) -> set[str]:
    return set(map("".join, pairwise(f" {text} ")))
