"""Which of the things that an agent remembers answer a question: by words, as agents are found by theirs."""

from collections.abc import Iterable
from dataclasses import dataclass

from engine.core.candidate import Candidate
from engine.core.capability_index import CapabilityIndex
from engine.core.words import tokens

LEAST = 0.5
"""How much an insight of no importance counts, beside 1.5 of one of the greatest."""


@dataclass(frozen=True, slots=True)
class Recalled:
    """Something that an agent remembers."""

    id: str
    text: str
    tags: tuple[str, ...] = ()
    importance: float = 0.5


def best(query: str, known: Iterable[Recalled], limit: int) -> list[Recalled]:
    """Return what answers `query` best, the best first; of equals the most important, then the newest.

    Args:
        query: Words; one of a tag counts more than one of a text. Without any, all that is known is an answer.
        known: What is remembered, the oldest first.
        limit: The most to return.
    """
    by_id = {one.id: one for one in known}
    ages = {id: age for age, id in enumerate(by_id)}
    if tokens(query):
        index = CapabilityIndex(Candidate(one.id, "", one.tags, one.text) for one in by_id.values())
        scores = {match.id: match.score for match in index.search(query, max(len(by_id), 1))}
    else:
        scores = dict.fromkeys(by_id, 1.0)
    weighed = {id: score * (LEAST + by_id[id].importance) for id, score in scores.items()}
    found = sorted(weighed, key=lambda id: (-round(weighed[id], 6), -by_id[id].importance, -ages[id]))
    return [by_id[id] for id in found[:limit]]
