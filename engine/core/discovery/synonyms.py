"""Synonyms of the words of requests: the data of `synonyms.txt`, by stems.

The file is read when this module is imported: choosing agents does no I/O, and depends only on the version of the
program.

A program adds synonyms by passing another mapping, such as `{**SYNONYMS, "chart": ("cartography",)}`. An entry works in
both directions: "dataset" matches a claim of "data science", and the reverse. Synonyms of a synonym are not followed.
Both sides are compared by their stems.
"""

import pkgutil
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

from engine.core.discovery.words import phrase_key


def _load_shipped() -> Mapping[str, tuple[str, ...]]:
    data = pkgutil.get_data("engine.core.discovery", "synonyms.txt")
    assert data is not None
    entries = (line.split(": ") for line in data.decode().splitlines() if line and not line.startswith("#"))
    return MappingProxyType({term: tuple(synonyms.split(", ")) for term, synonyms in entries})


SYNONYMS = _load_shipped()
"""Synonyms that agents may claim, by the word of a request. Ambiguous words ("error", "state") are left out."""


def synonyms_by_phrase(synonyms: Mapping[str, tuple[str, ...]]) -> Mapping[str, frozenset[str]]:
    """Return each phrase of `synonyms` with its synonyms, in stems and in both directions."""
    # Stemming them all costs 10 ms, so results are cached by the content of the mapping.
    if synonyms is SYNONYMS:
        return _shipped_synonyms_by_phrase()
    return _synonyms_by_phrase(tuple((term, tuple(synonyms[term])) for term in synonyms))


@lru_cache(maxsize=1)
def _shipped_synonyms_by_phrase() -> Mapping[str, frozenset[str]]:
    return _synonyms_by_phrase(tuple(SYNONYMS.items()))


@lru_cache(maxsize=16)
def _synonyms_by_phrase(synonyms: tuple[tuple[str, tuple[str, ...]], ...]) -> Mapping[str, frozenset[str]]:
    table: dict[str, set[str]] = {}
    for term, term_synonyms in synonyms:
        term_phrase = phrase_key(term)
        for synonym_phrase in map(phrase_key, term_synonyms):
            if term_phrase and synonym_phrase and term_phrase != synonym_phrase:
                table.setdefault(term_phrase, set()).add(synonym_phrase)
                table.setdefault(synonym_phrase, set()).add(term_phrase)
    return MappingProxyType({term_phrase: frozenset(phrases) for term_phrase, phrases in table.items()})
