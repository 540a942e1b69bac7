"""Chooses agents for a request by words, without a model, and explains the choice.

A greedy set cover of the words of the request, widened by synonyms: first the agent with the highest score, then the
candidate that best matches the remaining words. Weights are in `postings`, the search is in `capability_index`, words
in `words` and `synonyms`. See docs/semantics/coordination.md.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TypeAlias

from engine.core.discovery.candidate import Candidate, Profile, category_stem, profile_of
from engine.core.discovery.capability_index import CapabilityIndex
from engine.core.discovery.match import Match
from engine.core.discovery.nearest import MAX_NAMES_COMPARED, preselect
from engine.core.discovery.postings import NAME, PART, TEXT, RequestWord
from engine.core.discovery.synonyms import synonyms_by_phrase
from engine.core.discovery.words import words
from engine.core.records.records import copy_with

_MAX_JOINERS_TRIED = 8
_MAX_WORDS_COMPARED = 12
_MAX_WORDS_EXPLAINED = 6
_NEAREST = 3
_MAX_CHOSEN = 5
_NO_MATCH = "no agent matches a word of the request"

_Covered: TypeAlias = dict[str, tuple[RequestWord, ...]]
"""The chosen agents by id, with the words that each is chosen for."""


@dataclass(slots=True, frozen=True)
class AgentChoice:
    """The agents chosen for a request, and the reason."""

    matches: tuple[Match, ...]
    """The chosen agents, in the order of the words that they are chosen for."""
    explanation: str
    """One sentence for people."""
    nearest: tuple[str, ...] = ()
    """Names of the agents whose words are most similar to the request's, if none was chosen."""


def choose(
    request: str,
    candidates: Iterable[Candidate] | CapabilityIndex,
    *,
    limit: int = _MAX_CHOSEN,
    first: CapabilityIndex | None = None,
) -> AgentChoice:
    """Choose the agents for `request`.

    First the agent with the highest score; then, while words are left that an agent claims, the agent that scores
    highest on these alone. An agent that covers no new word is not chosen. One word in a description is not enough to
    join others, unless the agent claims no specialty at all. Ties: success rate, load, age, name, id.

    Args:
        request: Its text; of a very long one both ends are read.
        candidates: With unique ids, in any order; an index is fastest, and may have other synonyms.
        limit: Maximum number of agents.
        first: Those that can work now; the others are chosen only for words that none of these claims.

    Returns:
        The chosen agents; none if no candidate claims a word of the request.
    """
    index = _to_index(candidates)
    request_words = index.parse_request(request)
    chosen: _Covered = {}
    if first is not None:
        _cover(first, first.parse_request(request), chosen, limit)
    _cover(index, request_words, chosen, limit)
    matches = tuple(
        copy_with(index.match(id, request_words), matched=[word.text for word in covered])
        for id, covered in sorted(chosen.items(), key=lambda one: one[1][0].at)
    )
    near = () if matches else _nearest_claims(request, index)
    return AgentChoice(matches, _explanation(matches, near), near)


def _cover(index: CapabilityIndex, request_words: Iterable[RequestWord], chosen: _Covered, limit: int) -> None:
    """Add agents of an index to `chosen` until every word that the index knows is covered."""
    uncovered = tuple(word for word in request_words if word.grants and not any(map(word.grant_of, chosen)))
    while uncovered and len(chosen) < limit:
        id = _next_id(index, uncovered, first=not chosen)
        if id is None:
            break
        chosen[id] = tuple(word for word in uncovered if word.grant_of(id))
        uncovered = tuple(word for word in uncovered if not word.grant_of(id))


def choose_category(
    request: str, categories: Mapping[str, object], candidates: Iterable[Candidate] | CapabilityIndex
) -> str | None:
    """Return the key of `categories` that `request` belongs to; None means the supervisor's default mode.

    The score of a category is that of the request's own words for it, plus the scores of the chosen agents that claim
    it by category, name or specialty (half if they claim a synonym of it). Of equal scores the first declared wins.
    """
    index = _to_index(candidates)
    request_words = index.parse_request(request)
    chosen: _Covered = {}
    _cover(index, request_words, chosen, _MAX_CHOSEN)
    points = index.points(request_words)
    profiles = {id: profile_of(index.candidate(id)) for id in chosen}
    keys = [Candidate(key, key, (category_stem(key),)) for key in categories]
    own_index = CapabilityIndex(keys, synonyms=index.synonyms)
    own_points = own_index.points(own_index.parse_request(request))
    scores: dict[str, float] = {}
    for key in categories:
        agent_points = sum(_share(key, profiles[id], index) * points[id] for id in chosen)
        scores[key] = round(own_points.get(key, 0.0) + agent_points, 6)
    best = max(scores, key=scores.__getitem__, default=None)
    return best if best is not None and scores[best] > 0 else None


def _to_index(candidates: Iterable[Candidate] | CapabilityIndex) -> CapabilityIndex:
    return candidates if isinstance(candidates, CapabilityIndex) else CapabilityIndex(candidates)


def _next_id(index: CapabilityIndex, uncovered: tuple[RequestWord, ...], *, first: bool) -> str | None:
    if first:
        return index.best(uncovered, 1)[0]
    for min_weight in (PART, TEXT):
        for id in index.best(uncovered, _MAX_JOINERS_TRIED, min_weight):
            if _brings_enough(index, id, uncovered):
                return id
    return None


def _brings_enough(index: CapabilityIndex, id: str, uncovered: tuple[RequestWord, ...]) -> bool:
    """Return True when the agent matches more than a stray word in its description, or claims no specialty at all."""
    if not index.candidate(id).specialties:
        return True
    return sum(grant.weight for word in uncovered if (grant := word.grant_of(id))) >= NAME


def _share(key: str, profile: Profile, index: CapabilityIndex) -> float:
    """Return the share of an agent's score that a category gets: 1 if the agent claims it, 0.5 for a synonym of it."""
    category = category_stem(key)
    if profile.claims_all(category.split()):
        return 1.0
    synonyms = synonyms_by_phrase(index.synonyms).get(category, ())
    return 0.5 if any(profile.claims_all(synonym.split()) for synonym in synonyms) else 0.0


def _explanation(matches: tuple[Match, ...], near: tuple[str, ...]) -> str:
    if matches:
        return ", ".join(f"{match.name} for {_quote(match.matched)}" for match in matches)
    return f"{_NO_MATCH}; nearest: {', '.join(near)}" if near else _NO_MATCH


def _quote(covered: list[str]) -> str:
    quoted_words = ", ".join(f"'{word}'" for word in covered[:_MAX_WORDS_EXPLAINED])
    remaining = len(covered) - _MAX_WORDS_EXPLAINED
    return f"{quoted_words} and {remaining} more" if remaining > 0 else quoted_words


def _nearest_claims(request: str, index: CapabilityIndex) -> tuple[str, ...]:
    """Return the names of the agents that claim the words most similar to those of a request."""
    stems = list(dict.fromkeys(word.stem for word in words(request)))[:_MAX_WORDS_COMPARED]
    vocabulary = index.vocabulary()
    starts = {stem[:2] for stem in stems}
    pool = vocabulary if len(vocabulary) <= MAX_NAMES_COMPARED else [key for key in vocabulary if key[:2] in starts]
    similar_keys = [
        key for stem in stems for key in get_close_matches(stem, preselect(stem, pool), n=_NEAREST, cutoff=0.7)
    ]
    names = (index.candidate(id).name for key in similar_keys for id in index.in_order(vocabulary[key])[:_NEAREST])
    return tuple(dict.fromkeys(names))[:_NEAREST]
