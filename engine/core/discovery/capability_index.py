"""Finds agents by the words of their descriptions.

A search adds up the points of all who match a word. Results do not depend on the order of adding and removing: ties are
broken by success rate, load, age, name and id. See docs/decisions/measurements.md.
"""

from collections.abc import Callable, Iterable, Mapping
from copy import copy
from heapq import nlargest, nsmallest
from math import inf

from engine.core.discovery.candidate import Candidate, Profile, Rank, profile_of
from engine.core.discovery.match import Match
from engine.core.discovery.postings import Postings, RequestWord
from engine.core.discovery.synonyms import SYNONYMS, synonyms_by_phrase

_DIGITS = 6
"""Points are compared to so many decimals: equal ones, added up in a different order, differ in the last."""
_NOISE = 10**-_DIGITS


class CapabilityIndex:
    """Candidates by their words.

    Args:
        candidates: The first entries; ids are unique.
        synonyms: Words that also match a word of a request, see `engine.core.discovery.synonyms`.
    """

    def __init__(
        self, candidates: Iterable[Candidate] = (), *, synonyms: Mapping[str, tuple[str, ...]] = SYNONYMS
    ) -> None:
        self.synonyms = synonyms
        by_id: dict[str, Candidate] = {}
        self._candidates = by_id
        self._profiles: dict[str, Profile] = {}
        self._rank: Callable[[str], Rank] = lambda id: by_id[id].rank
        self._postings = Postings(synonyms_by_phrase(synonyms))
        for candidate in candidates:
            self.add(candidate)

    def candidate(self, id: str) -> Candidate:
        """Return the candidate with this id; raises KeyError if there is none."""
        return self._candidates[id]

    def add(self, candidate: Candidate) -> None:
        """Add `candidate`, or update the one with its id (cheap while its words are the same)."""
        profile = profile_of(candidate)
        known_profile = self._profiles.get(candidate.id)
        if known_profile != profile:
            if known_profile is not None:
                self.remove(candidate.id)
            self._profiles[candidate.id] = profile
            self._postings.add(candidate.id, profile)
        self._candidates[candidate.id] = candidate

    def remove(self, id: str) -> None:
        """Remove a candidate; raises KeyError if there is no candidate with this id."""
        del self._candidates[id]
        self._postings.remove(id, self._profiles.pop(id))

    def ranked_by(self, rank: Callable[[str], Rank]) -> "CapabilityIndex":
        """Return an index of the same words in which ties are broken by `rank`, a function of the id."""
        ranked = copy(self)  # a shallow one, which shares the postings
        ranked._rank = rank
        return ranked

    def search(self, text: str, limit: int = 10) -> list[Match]:
        """Return the best `limit` candidates for `text`, best first; none if no candidate has a word of it."""
        request_words = self.parse_request(text)
        return [self.match(id, request_words) for id in self.best(request_words, limit)]

    def parse_request(self, text: str) -> tuple[RequestWord, ...]:
        """Return the distinct words of `text` in their order."""
        return self._postings.parse_request(text)

    def points(self, request_words: Iterable[RequestWord]) -> dict[str, float]:
        """Return the points of each candidate that matches one of these words, by id."""
        return {id: round(points, _DIGITS) for id, points in self._sums(request_words, 0.0).items()}

    def best(self, request_words: Iterable[RequestWord], limit: int, min_weight: float = 0.0) -> list[str]:
        """Return the ids of the best `limit` candidates by these points, best first; equal ones by their ranks."""
        sums = self._sums(request_words, min_weight)
        least = min(nlargest(limit, sums.values()), default=inf) - _NOISE
        contenders = [id for id, points in sums.items() if points >= least]
        return nsmallest(limit, contenders, key=lambda id: (-round(sums[id], _DIGITS), self._rank(id)))

    def match(self, id: str, request_words: Iterable[RequestWord]) -> Match:
        """Return a candidate's score for a request, and which of its words it matches."""
        matched, missing, points, max_points = list[str](), list[str](), 0.0, 0.0
        for word in request_words:
            grant = word.grant_of(id)
            (matched if grant else missing).append(word.text)
            points += grant.points if grant else 0.0
            max_points += word.max_points
        score = round(points / max_points, _DIGITS) if max_points else 0.0
        return Match(id=id, name=self._candidates[id].name, score=score, matched=matched, missing=missing)

    def in_order(self, ids: Iterable[str]) -> list[str]:
        """Return `ids` by success rate, load, age, name and id."""
        return sorted(ids, key=self._rank)

    def vocabulary(self) -> dict[str, set[str]]:
        """Every claimed word and specialty, with the ids of the candidates that claim it."""
        return self._postings.claimed()

    def _sums(self, request_words: Iterable[RequestWord], min_weight: float) -> dict[str, float]:
        """Add up the points of each candidate for these words, by id; grants of less weight do not count."""
        sums: dict[str, float] = {}
        for word in request_words:
            of_word = word.points_by_id(min_weight)
            if len(of_word) > len(sums):
                of_word, sums = sums, of_word
            for id, points in of_word.items():
                sums[id] = sums.get(id, 0.0) + points
        return sums
