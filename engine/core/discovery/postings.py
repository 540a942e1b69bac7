"""Posting sets: which candidates have a word, by field, and how much each of them gets for a word of a request."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import inf, log
from operator import itemgetter
from typing import NamedTuple, TypeAlias

from engine.core.discovery.candidate import Profile
from engine.core.discovery.words import Word, words

SPECIALTY = 3.0
NAME = 2.0
"""A word of the name or the category, or a synonym of such a word or of a specialty."""
PART = 1.5
"""One word of a specialty that has several."""
TEXT = 1.0
"""A word of the description or of a tool; a synonym of one word of a specialty."""

_MAX_PHRASE_WORDS = 4

_Field: TypeAlias = dict[str, set[str]]


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

    def points_by_id(self, min_weight: float) -> dict[str, float]:
        """The points of each candidate for this word; grants of less weight do not count."""
        points: dict[str, float] = {}
        for grant in reversed(self.grants):
            if grant.weight >= min_weight:
                points.update(dict.fromkeys(grant.ids, grant.points))
        return points


class Postings:
    """The ids of candidates by their words, one posting set per word and field.

    Args:
        synonyms: Phrases that also match a phrase of a request, in stems.
    """

    def __init__(self, synonyms: Mapping[str, frozenset[str]]) -> None:
        self._synonyms = synonyms
        self._specialties: _Field = {}
        self._parts: _Field = {}
        self._names: _Field = {}
        self._texts: _Field = {}
        self._spread: Counter[str] = Counter()
        self._size = 0

    def add(self, id: str, profile: Profile) -> None:
        """Add a candidate that is not there."""
        self._size += 1
        self._spread.update(profile.every)
        for field, keys in self._places(profile):
            for key in keys:
                field.setdefault(key, set()).add(id)

    def remove(self, id: str, profile: Profile) -> None:
        """Remove a candidate, which was added with this profile."""
        self._size -= 1
        for key in profile.every:
            self._spread[key] -= 1
            if not self._spread[key]:
                del self._spread[key]
        for field, keys in self._places(profile):
            for key in keys:
                field[key].discard(id)
                if not field[key]:
                    del field[key]

    def parse_request(self, text: str) -> tuple[RequestWord, ...]:
        """Return the distinct words of `text` in their order."""
        text_words = words(text)
        phrases = self._phrases(text_words)
        first = {word.stem: word for word in reversed(text_words)}
        in_order = sorted(first.values(), key=lambda word: word.at)
        return tuple(self._request_word(word, phrases[word.stem]) for word in in_order)

    def claimed(self) -> dict[str, set[str]]:
        """Every claimed word and specialty, with the ids of the candidates that claim it."""
        return {**self._specialties, **self._names}

    def _places(self, profile: Profile) -> tuple[tuple[_Field, Iterable[str]], ...]:
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
                if phrase in self._specialties or phrase in self._synonyms:
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
            synonyms = self._synonyms.get(phrase)
            if synonyms:
                # A rare synonym must not count for more than the word itself.
                ceiling = self._rarity(phrase)
                for weight, field in ((NAME, self._specialties), (NAME, self._names), (TEXT, self._parts)):
                    for synonym in synonyms & field.keys():
                        yield from self._granted(weight, synonym, field, ceiling)
        yield from self._granted(NAME, stem, self._names)
        yield from self._granted(PART, stem, self._parts)
        yield from self._granted(TEXT, stem, self._texts)

    def _granted(self, weight: float, key: str, field: _Field, ceiling: float = inf) -> Iterator[Grant]:
        if key in field:
            yield Grant(weight * min(self._rarity(key), ceiling), weight, field[key])

    def _rarity(self, key: str) -> float:
        """Inverse frequency of a word or a whole specialty among the candidates; infinite if no candidate has it."""
        spread = self._spread.get(key, 0) or len(self._specialties.get(key, ()))
        return log(1 + self._size / spread) if spread else inf
