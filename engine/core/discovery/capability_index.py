"""An inverted index that finds agents by the words of their descriptions, fast among a hundred thousand agents.

One posting list per word and field: specialties, single words of them, names, texts. Results do not depend on the order
of adding and removing: ties are broken by success rate, load, age, name and id. See docs/decisions/measurements.md.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from math import inf, log
from operator import itemgetter
from typing import TypeAlias

from engine.core.discovery.best_matches import Grant, RequestWord, best_slots
from engine.core.discovery.candidate import Candidate, Profile, profile_of
from engine.core.discovery.ranks import OrderedRanks, Rank, Ranks, Slot, rank_of
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
_MAX_CACHED = 4_096

Postings: TypeAlias = dict[str, set[Slot]]


@dataclass(slots=True, frozen=True)
class Match:
    """A candidate that matches a request."""

    id: str
    name: str
    score: float
    words: tuple[str, ...]
    """The words of the request that it covers, in lower case and in their order; for a chosen agent only those that
    no agent chosen before it covers."""
    first_at: int
    """Offset of the first of these words in the text, in characters."""


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
        self._slots: dict[str, Slot] = {}
        self._candidates: dict[Slot, Candidate] = {}
        self._profiles: dict[Slot, Profile] = {}
        self._own_ranks = OrderedRanks()
        self._ranks: OrderedRanks | Ranks = self._own_ranks
        self.without_specialties: set[Slot] = set()
        """Candidates that claim no specialty."""
        self._next_slot: Slot = 0
        self._specialties: Postings = {}
        self._parts: Postings = {}
        self._names: Postings = {}
        self._texts: Postings = {}
        self._spread: Counter[str] = Counter()
        self._cached_grants: dict[tuple[str, ...], tuple[Grant, ...]] = {}
        for candidate in candidates:
            self.add(candidate)

    def __len__(self) -> int:
        return len(self._candidates)

    def __contains__(self, id: str) -> bool:
        return id in self._slots

    def __getitem__(self, id: str) -> Candidate:
        return self._candidates[self._slots[id]]

    def add(self, candidate: Candidate) -> None:
        """Add `candidate`, or update the one with its id (cheap while its words are the same)."""
        profile = profile_of(candidate)
        slot = self._slots.get(candidate.id)
        if slot is not None and self._profiles[slot] != profile:
            self.remove(candidate.id)
            slot = None
        if slot is None:
            slot = self._slots[candidate.id] = self._next_slot
            self._next_slot += 1
            self._profiles[slot] = profile
            for postings, keys in self._places(profile):
                for key in keys:
                    postings.setdefault(key, set()).add(slot)
            self._spread.update(profile.every)
            # The rarity of a word depends on the number of candidates, so every cached grant is outdated.
            self._cached_grants.clear()
        self._candidates[slot] = candidate
        (self.without_specialties.discard if candidate.specialties else self.without_specialties.add)(slot)
        rank = rank_of(candidate.id, candidate.name, candidate.done, candidate.failed, candidate.load, candidate.age)
        self._own_ranks.put(slot, rank)

    def ranked_by(self, rank: Callable[[str], Rank]) -> "CapabilityIndex":
        """Return an index of the same words in which ties are broken by `rank`, a function of the id."""
        # A shallow copy: it shares the posting lists, which are far larger than the ranks.
        ranked = copy(self)
        ranked._ranks = Ranks(lambda slot: rank(self._candidates[slot].id))
        return ranked

    def remove(self, id: str) -> None:
        """Remove a candidate; raises KeyError if there is no candidate with this id."""
        slot = self._slots.pop(id)
        del self._candidates[slot]
        self._own_ranks.drop(slot)
        profile = self._profiles.pop(slot)
        self.without_specialties.discard(slot)
        self._cached_grants.clear()
        for postings, keys in self._places(profile):
            for key in keys:
                postings[key].discard(slot)
                if not postings[key]:
                    del postings[key]
        for key in profile.every:
            self._spread[key] -= 1
            if not self._spread[key]:
                del self._spread[key]

    def search(self, text: str, limit: int = 10) -> list[Match]:
        """Return the best `limit` candidates for `text`, best first; none if no candidate has a word of it."""
        request_words = self.parse_request(text)
        return [self.match(slot, request_words) for slot in self.best(request_words, limit)]

    def parse_request(self, text: str) -> tuple[RequestWord, ...]:
        """Return the distinct words of `text` that at least one candidate matches, in their order."""
        text_words = words(text)
        phrases = self._phrases(text_words)
        first = {word.stem: word for word in reversed(text_words)}
        request_words = (
            RequestWord(word.text, word.at, self._grants_of((stem, *phrases[stem]))) for stem, word in first.items()
        )
        return tuple(word for word in sorted(request_words, key=lambda word: word.at) if word.grants)

    def best(self, request_words: Iterable[RequestWord], limit: int) -> Iterator[Slot]:
        """Yield the slots of the best `limit` candidates for these words, best first."""
        return best_slots(request_words, self._ranks, limit)

    def match(
        self, slot: Slot, request_words: Iterable[RequestWord], among: Iterable[RequestWord] | None = None
    ) -> Match:
        """Return a candidate's score for `request_words`, and which words of `among`, or of all of these, it covers."""
        granted = [(word, grant.points) for word in request_words if (grant := word.grant_of(slot))]
        counted = None if among is None else {word.at for word in among}
        covered = [word for word, _ in granted if counted is None or word.at in counted]
        candidate = self._candidates[slot]
        return Match(
            id=candidate.id,
            name=candidate.name,
            score=round(sum(points for _, points in granted), 6),
            words=tuple(word.text for word in covered),
            first_at=min((word.at for word in covered), default=0),
        )

    def slot(self, id: str) -> Slot:
        """The slot of a candidate."""
        return self._slots[id]

    def in_order(self, slots: Iterable[Slot]) -> list[str]:
        """The ids of `slots`, by success rate, load, age, name and id."""
        return [self._candidates[slot].id for slot in sorted(slots, key=self._ranks.__getitem__)]

    def vocabulary(self) -> dict[str, set[Slot]]:
        """Every claimed word and specialty, with the slots of the candidates that claim it."""
        return {**self._specialties, **self._names}

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

    def _grants_of(self, phrases: tuple[str, ...]) -> tuple[Grant, ...]:
        """Return the grants of a stem and the phrases around it, cached until a candidate joins or leaves."""
        grants = self._cached_grants.get(phrases)
        if grants is None:
            if len(self._cached_grants) >= _MAX_CACHED:
                self._cached_grants.clear()
            grants = self._cached_grants[phrases] = self._grants(phrases)
        return grants

    def _grants(self, phrases: tuple[str, ...]) -> tuple[Grant, ...]:
        grants: list[Grant] = []
        stem = phrases[0]
        for phrase in phrases:
            self._add_grant(grants, SPECIALTY, phrase, self._specialties, inf)
            synonyms = self._synonyms_by_phrase.get(phrase)
            if synonyms:
                # A rare synonym must not count for more than the word itself.
                ceiling = self._rarity(phrase)
                for weight, postings in ((NAME, self._specialties), (NAME, self._names), (TEXT, self._parts)):
                    for synonym in synonyms & postings.keys():
                        self._add_grant(grants, weight, synonym, postings, ceiling)
        self._add_grant(grants, NAME, stem, self._names, inf)
        self._add_grant(grants, PART, stem, self._parts, inf)
        self._add_grant(grants, TEXT, stem, self._texts, inf)
        grants.sort(key=itemgetter(0, 1), reverse=True)
        return tuple(grants)

    def _add_grant(self, grants: list[Grant], weight: float, key: str, postings: Postings, ceiling: float) -> None:
        slots = postings.get(key)
        if slots:
            grants.append(Grant(weight * min(self._rarity(key), ceiling), weight, slots))

    def _rarity(self, key: str) -> float:
        """Inverse frequency of a word or a whole specialty among the candidates; infinite if no candidate has it."""
        spread = self._spread.get(key, 0) or len(self._specialties.get(key, ()))
        return log(1 + len(self._candidates) / spread) if spread else inf
