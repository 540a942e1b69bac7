"""The words that widen a request: the data of `synonyms.txt`, and the one step that makes them comparable.

The file is read when this module is imported, by the loader that reads the module itself: choosing agents does no I/O,
and what it decides depends on nothing but the version of the program.

A team edits the words by passing another mapping, such as `{**SYNONYMS, "chart": ("cartography",)}`. An entry works in
both directions and one step far: "dataset" finds who claims "data science", "data science" finds who claims "dataset",
and the synonyms of a synonym are not followed. Both sides are compared by their stems.
"""

import pkgutil
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

from engine.core.discovery.words import phrase


def _shipped() -> Mapping[str, tuple[str, ...]]:
    data = pkgutil.get_data("engine.core.discovery", "synonyms.txt")
    assert data is not None
    entries = (line.split(": ") for line in data.decode().splitlines() if line and not line.startswith("#"))
    return MappingProxyType({said: tuple(called.split(", ")) for said, called in entries})


SYNONYMS = _shipped()
"""What a request says -> what an agent may call it. Words that mean too much ("error", "state") are left out."""


def widened(synonyms: Mapping[str, tuple[str, ...]]) -> Mapping[str, frozenset[str]]:
    """Return each phrase of `synonyms` with all that it may be called, in stems and in both directions."""
    # Stemming them all costs 10 ms, so a mapping with the same content is not worked through again.
    if synonyms is SYNONYMS:
        return _widened_shipped()
    return _widened(tuple((said, tuple(synonyms[said])) for said in synonyms))


@lru_cache(maxsize=1)
def _widened_shipped() -> Mapping[str, frozenset[str]]:
    return _widened(tuple(SYNONYMS.items()))


@lru_cache(maxsize=16)
def _widened(synonyms: tuple[tuple[str, tuple[str, ...]], ...]) -> Mapping[str, frozenset[str]]:
    table: dict[str, set[str]] = {}
    for said, called in synonyms:
        here = phrase(said)
        for there in map(phrase, called):
            if here and there and here != there:
                table.setdefault(here, set()).add(there)
                table.setdefault(there, set()).add(here)
    return MappingProxyType({said: frozenset(called) for said, called in table.items()})
