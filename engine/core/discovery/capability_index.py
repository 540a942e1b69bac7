"""An inverted index that finds agents by the words of their descriptions.

One posting set per word and field: specialties, single words of them, names, texts. A search adds up the points of all
who match a word. Results do not depend on the order of adding and removing: ties are broken by success rate, load, age,
name and id. See docs/decisions/measurements.md.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from heapq import nlargest, nsmallest
from math import inf, log
from operator import itemgetter
from typing import NamedTuple, TypeAlias

from engine.core.discovery.candidate import Candidate, Profile, Rank, profile_of
from engine.core.discovery.match import Match
from engine.core.discovery.synonyms import SYNONYMS, synonyms_by_phrase
from engine.core.discovery.words import Word, words

SPECIALTY = 3.0
NAME = 2.0
"""A word of the name or the category, or a synonym of such a word or of a specialty."""
PART = 1.5
"""One word of a specialty that has several."""
TEXT = 1.0
"""A word of the description or of a tool; a synonym of one word of a specialty."""

_MAX_PHRASE_WORDS = 4
_DIGITS = 6
"""Points are compared to so many decimals: equal ones, added up in a different order, differ in the last."""
_NOISE = 10**-_DIGITS

Postings: TypeAlias = dict[str, set[str]]


class Grant(NamedTuple):
    """The points that a set of candidates gets for one word."""

    points: float
    """Its weight times the rarity of what they match."""
    weight: float
    ids: set[str]


@dataclass(slots=True, frozen=True)
class RequestWord:
    """A distinct word of a request with its grants, most points first; a candidate gets only its first grant."""

    text: str
    at: int
    """Offset of its first occurrence, in characters."""
    grants: tuple[Grant, ...]
    max_points: float
    """The points of a specialty that is as rare as the rarest match; 0 if no candidate matches."""

    def grant_of(self, id: str) -> Grant | None:
        """The grant of a candidate for this word."""
        for grant in self.grants:
            if id in grant.ids:
                return grant
        return None


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
        self._synonyms_by_phrase = synonyms_by_phrase(synonyms)
        by_id: dict[str, Candidate] = {}
        self._candidates = by_id
        self._profiles: dict[str, Profile] = {}
        self._rank: Callable[[str], Rank] = lambda id: by_id[id].rank
        self._specialties: Postings = {}
        self._parts: Postings = {}
        self._names: Postings = {}
        self._texts: Postings = {}
        self._spread: Counter[str] = Counter()
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
            for postings, keys in self._places(profile):
                for key in keys:
                    postings.setdefault(key, set()).add(candidate.id)
            self._spread.update(profile.every)
        self._candidates[candidate.id] = candidate

    def ranked_by(self, rank: Callable[[str], Rank]) -> "CapabilityIndex":
        """Return an index of the same words in which ties are broken by `rank`, a function of the id."""
        ranked = copy(self)  # a shallow one, which shares the postings
        ranked._rank = rank
        return ranked

    def remove(self, id: str) -> None:
        """Remove a candidate; raises KeyError if there is no candidate with this id."""
        del self._candidates[id]
        profile = self._profiles.pop(id)
        for postings, keys in self._places(profile):
            for key in keys:
                postings[key].discard(id)
                if not postings[key]:
                    del postings[key]
        for key in profile.every:
            self._spread[key] -= 1
            if not self._spread[key]:
                del self._spread[key]

    def search(self, text: str, limit: int = 10) -> list[Match]:
        """Return the best `limit` candidates for `text`, best first; none if no candidate has a word of it."""
        request_words = self.parse_request(text)
        return [self.match(id, request_words) for id in self.best(request_words, limit)]

    def parse_request(self, text: str) -> tuple[RequestWord, ...]:
        """Return the distinct words of `text` in their order."""
        text_words = words(text)
        phrases = self._phrases(text_words)
        first = {word.stem: word for word in reversed(text_words)}
        in_order = sorted(first.values(), key=lambda word: word.at)
        return tuple(self._request_word(word, phrases[word.stem]) for word in in_order)

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
        return {**self._specialties, **self._names}

    def _sums(self, request_words: Iterable[RequestWord], min_weight: float) -> dict[str, float]:
        """Add up the points of each candidate for these words, by id; grants of less weight do not count."""
        sums: dict[str, float] = {}
        for word in request_words:
            of_word: dict[str, float] = {}
            for grant in reversed(word.grants):
                if grant.weight >= min_weight:
                    of_word.update(dict.fromkeys(grant.ids, grant.points))
            if len(of_word) > len(sums):
                of_word, sums = sums, of_word
            for id, points in of_word.items():
                sums[id] = sums.get(id, 0.0) + points
        return sums

    def _places(self, profile: Profile) -> tuple[tuple[Postings, Iterable[str]], ...]:
        return (
            (self._specialties, profile.specialties),
            (self._parts, profile.parts),
            (self._names, profile.names),
            (self._texts, profile.texts),
        )

    def _phrases(self, text_words: tuple[Word, ...]) -> dict[str, list[str]]:
        """Return for each stem the phrases around it that a candidate claims or that have synonyms."""
        phrases: dict[str, list[str]] = {word.stem: [] for word in text_words}
        for start in range(len(text_words)):
            for end in range(start + 2, min(start + _MAX_PHRASE_WORDS, len(text_words)) + 1):
                window = text_words[start:end]
                if window[0].clause != window[-1].clause:
                    break
                phrase = " ".join(word.stem for word in window)
                if phrase in self._specialties or phrase in self._synonyms_by_phrase:
                    for word in window:
                        phrases[word.stem].append(phrase)
        return phrases

    def _request_word(self, word: Word, phrases: Iterable[str]) -> RequestWord:
        grants = sorted(self._grants(word.stem, phrases), key=itemgetter(0, 1), reverse=True)
        max_points = max((SPECIALTY * grant.points / grant.weight for grant in grants), default=0.0)
        return RequestWord(word.text, word.at, tuple(grants), max_points)

    def _grants(self, stem: str, phrases: Iterable[str]) -> Iterator[Grant]:
        for phrase in (stem, *phrases):
            yield from self._granted(SPECIALTY, phrase, self._specialties)
            synonyms = self._synonyms_by_phrase.get(phrase)
            if synonyms:
                # A rare synonym must not count for more than the word itself.
                ceiling = self._rarity(phrase)
                for weight, postings in ((NAME, self._specialties), (NAME, self._names), (TEXT, self._parts)):
                    for synonym in synonyms & postings.keys():
                        yield from self._granted(weight, synonym, postings, ceiling)
        yield from self._granted(NAME, stem, self._names)
        yield from self._granted(PART, stem, self._parts)
        yield from self._granted(TEXT, stem, self._texts)

    def _granted(self, weight: float, key: str, postings: Postings, ceiling: float = inf) -> Iterator[Grant]:
        if key in postings:
            yield Grant(weight * min(self._rarity(key), ceiling), weight, postings[key])

    def _rarity(self, key: str) -> float:
        """Inverse frequency of a word or a whole specialty among the candidates; infinite if no candidate has it."""
        spread = self._spread.get(key, 0) or len(self._specialties.get(key, ()))
        return log(1 + len(self._candidates) / spread) if spread else inf
