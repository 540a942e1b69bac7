"""Searches the insights of an agent by words, with the index that also finds agents."""

from collections.abc import Iterable
from dataclasses import dataclass

from engine.core.discovery.candidate import Candidate
from engine.core.discovery.capability_index import CapabilityIndex
from engine.core.discovery.words import tokens

MIN_FACTOR = 0.5
"""Factor of an insight of importance 0; importance 1 has 1.5."""


@dataclass(frozen=True, slots=True)
class Recalled:
    """An insight of an agent."""

    id: str
    text: str
    tags: tuple[str, ...] = ()
    importance: float = 0.5


def best_insights(query: str, insights: Iterable[Recalled], limit: int) -> list[Recalled]:
    """Return the insights that match `query`, best first; of equals the most important, then the newest.

    Args:
        query: Words; a match in a tag counts more than one in a text. An empty query matches every insight.
        insights: The insights, the oldest first.
        limit: Maximum number of results.
    """
    by_id = {insight.id: insight for insight in insights}
    ages = {id: age for age, id in enumerate(by_id)}
    if tokens(query):
        index = CapabilityIndex(Candidate(insight.id, "", insight.tags, insight.text) for insight in by_id.values())
        points = index.points(index.parse_request(query))
    else:
        points = dict.fromkeys(by_id, 1.0)
    weights = {id: points[id] * (MIN_FACTOR + by_id[id].importance) for id in points}
    ranked_ids = sorted(weights, key=lambda id: (-round(weights[id], 6), -by_id[id].importance, -ages[id]))
    return [by_id[id] for id in ranked_ids[:limit]]
