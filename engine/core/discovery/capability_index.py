"""An inverted index that finds agents by their descriptions, among a hundred thousand of them.

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

from engine.core.discovery.best_matches import Asked, Grant, best
from engine.core.discovery.candidate import Candidate, Profile, profile_of
from engine.core.discovery.ranks import OrderedRanks, Rank, Ranks, Slot, rank_of
from engine.core.discovery.synonyms import SYNONYMS, widened
from engine.core.discovery.words import Word, words

SPECIALTY = 3.0
NAME = 2.0
"""A word of the name or the category, or a synonym of such a word or of a specialty."""
PART = 1.5
"""One word of a specialty that has several."""
TEXT = 1.0
"""A word of the description or of a tool; a synonym of one word of a specialty."""

_LONGEST_PHRASE = 4
_REMEMBERED = 4_096

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
        self._widened = widened(synonyms)
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
        self._granted: dict[tuple[str, ...], tuple[Grant, ...]] = {}
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
        known = self._slots.get(candidate.id)
        if known is not None and self._profiles[known] != profile:
            self.remove(candidate.id)
            known = None
        if known is None:
            known = self._slots[candidate.id] = self._next_slot
            self._next_slot += 1
            self._profiles[known] = profile
            for postings, keys in self._places(profile):
                for key in keys:
                    postings.setdefault(key, set()).add(known)
            self._spread.update(profile.every)
            # How rare a word is depends on the number of candidates, so that every cached grant is outdated.
            self._granted.clear()
        self._candidates[known] = candidate
        (self.without_specialties.discard if candidate.specialties else self.without_specialties.add)(known)
        rank = rank_of(candidate.id, candidate.name, candidate.done, candidate.failed, candidate.load, candidate.age)
        self._own_ranks.put(known, rank)

    def ranked_by(self, rank: Callable[[str], Rank]) -> "CapabilityIndex":
        """Return an index of the same words, in which `rank` breaks the ties, by id."""
        # Shallow: the twin shares the posting lists, which are far larger than the ranks.
        twin = copy(self)
        twin._ranks = Ranks(lambda slot: rank(self._candidates[slot].id))
        return twin

    def remove(self, id: str) -> None:
        """Remove a candidate.

        Raises:
            KeyError: If there is none of this id.
        """
        slot = self._slots.pop(id)
        del self._candidates[slot]
        self._own_ranks.drop(slot)
        profile = self._profiles.pop(slot)
        self.without_specialties.discard(slot)
        self._granted.clear()
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
        asked = self.ask(text)
        return [self.match(slot, asked) for slot in self.best(asked, limit)]

    def ask(self, text: str) -> tuple[Asked, ...]:
        """Return the distinct words of `text` that at least one candidate matches, in their order."""
        said = words(text)
        phrases = self._phrases(said)
        first = {word.stem: word for word in reversed(said)}
        asked = (Asked(word.text, word.at, self._grants_of((stem, *phrases[stem]))) for stem, word in first.items())
        return tuple(word for word in sorted(asked, key=lambda word: word.at) if word.grants)

    def best(self, asked: Iterable[Asked], limit: int) -> Iterator[Slot]:
        """Yield the slots of the best `limit` candidates for these words, best first."""
        return best(asked, self._ranks, limit)

    def match(self, slot: Slot, asked: Iterable[Asked], among: Iterable[Asked] | None = None) -> Match:
        """Return the candidate's score for `asked`, and the words of `among` (of `asked` by default) it covers."""
        granted = [(word, grant.points) for word in asked if (grant := word.grant_of(slot))]
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

    def _phrases(self, said: tuple[Word, ...]) -> dict[str, list[str]]:
        """For each stem, the phrases that contain it and that a candidate claims or that have synonyms."""
        around: dict[str, list[str]] = {word.stem: [] for word in said}
        for start in range(len(said)):
            for end in range(start + 2, min(start + _LONGEST_PHRASE, len(said)) + 1):
                window = said[start:end]
                if window[0].run != window[-1].run:
                    break
                phrase = " ".join(word.stem for word in window)
                if phrase in self._specialties or phrase in self._widened:
                    for word in window:
                        around[word.stem].append(phrase)
        return around

    def _grants_of(self, sayings: tuple[str, ...]) -> tuple[Grant, ...]:
        """The grants of a stem and the phrases around it, cached until a candidate joins or leaves."""
        grants = self._granted.get(sayings)
        if grants is None:
            if len(self._granted) >= _REMEMBERED:
                self._granted.clear()
            grants = self._granted[sayings] = self._grants(sayings)
        return grants

    def _grants(self, sayings: tuple[str, ...]) -> tuple[Grant, ...]:
        found: list[Grant] = []
        stem = sayings[0]
        for said in sayings:
            self._grant(found, SPECIALTY, said, self._specialties, inf)
            called = self._widened.get(said)
            if called:
                # However rare a synonym is, it must not count for more than the word itself.
                ceiling = self._rarity(said)
                for weight, postings in ((NAME, self._specialties), (NAME, self._names), (TEXT, self._parts)):
                    for synonym in called & postings.keys():
                        self._grant(found, weight, synonym, postings, ceiling)
        self._grant(found, NAME, stem, self._names, inf)
        self._grant(found, PART, stem, self._parts, inf)
        self._grant(found, TEXT, stem, self._texts, inf)
        found.sort(key=itemgetter(0, 1), reverse=True)
        return tuple(found)

    def _grant(self, found: list[Grant], weight: float, key: str, postings: Postings, ceiling: float) -> None:
        slots = postings.get(key)
        if slots:
            found.append(Grant(weight * min(self._rarity(key), ceiling), weight, slots))

    def _rarity(self, key: str) -> float:
        """Inverse frequency of a word or a whole specialty among the candidates; infinite if no candidate has it."""
        spread = self._spread.get(key, 0) or len(self._specialties.get(key, ()))
        return log(1 + len(self._candidates) / spread) if spread else inf
