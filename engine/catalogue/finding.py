"""Finds the entries of the catalogue that match a request, scored as the members of a team are."""

from collections.abc import Collection

from engine.catalogue.catalogue import Catalogue
from engine.catalogue.entries import CatalogueEntry, Source
from engine.core.discovery.capability_index import CapabilityIndex
from engine.core.discovery.match import Match
from engine.core.discovery.synonyms import SYNONYMS, synonyms_by_phrase
from engine.core.discovery.words import words
from engine.core.queries.team.fits import candidate_from
from engine.core.records.records import copy_with
from engine.core.signals import FoundSpec
from engine.core.specs.discovery import AgentDiscoveryMode

PRESELECTED = 50
"""Entries that the scorer compares."""


def find(
    catalogue: Catalogue,
    text: str,
    limit: int = 5,
    *,
    sources: Collection[Source] | None = None,
    approved_only: bool = True,
) -> list[tuple[Match, CatalogueEntry]]:
    """Return the entries that match a request best, best first; none if no entry has a word of it.

    The rarity of words is that among the preselected entries. Blocks, for at most some ten milliseconds.

    Args:
        catalogue: Where to look.
        text: The request.
        limit: The most entries.
        sources: Only entries from these; None is all.
        approved_only: Only approved entries; False also returns those that are not.

    Raises:
        CatalogueError: If the catalogue cannot be used.
    """
    entries = _preselect(catalogue, text, sources, approved_only=approved_only)
    by_id = {entry.id: entry for entry in entries}
    index = CapabilityIndex(candidate_from(entry.spec, entry.id, entry.name) for entry in entries)
    matches = [(match, by_id[match.id]) for match in index.search(text, limit)]
    return [(copy_with(match, source=_mode_of(entry).value), entry) for match, entry in matches]


def find_specs(catalogue: Catalogue, text: str, *, sources: Collection[Source] | None = None) -> list[FoundSpec]:
    """Return the specs of the approved entries among which `find` would choose, for a scorer that has others too."""
    return [
        FoundSpec(source=_mode_of(entry), id=entry.id, hash=entry.hash, spec=entry.spec)
        for entry in _preselect(catalogue, text, sources, approved_only=True)
    ]


def _preselect(
    catalogue: Catalogue, text: str, sources: Collection[Source] | None, *, approved_only: bool
) -> list[CatalogueEntry]:
    """Return entries with the words of a text; where there are none, entries with a synonym of them."""
    stems = [word.stem for word in words(text)]
    entries = catalogue.search(stems, limit=PRESELECTED, sources=sources, approved_only=approved_only)
    if entries:
        return entries
    synonyms = synonyms_by_phrase(SYNONYMS)
    stems = [stem for key in stems for phrase in sorted(synonyms.get(key, ())) for stem in phrase.split()]
    return catalogue.search(stems, limit=PRESELECTED, sources=sources, approved_only=approved_only)


def _mode_of(entry: CatalogueEntry) -> AgentDiscoveryMode:
    """Return the mode of discovery that finds an entry."""
    return AgentDiscoveryMode.COMPONENT if entry.source == "entry_point" else AgentDiscoveryMode.CATALOGUE
