"""Finding agents by what they say about themselves, among a hundred thousand of them.

Four dicts of sets, from a word to who has it, one dict a place where it may stand. An answer is the same whatever the
order of adding and removing was: equal scores are parted by success rate, load, age, name and id.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from heapq import nlargest, nsmallest
from math import inf, log
from typing import NamedTuple, TypeAlias

from engine.core.candidate import Candidate, Profile, asked_stems, profile_of, suits
from engine.core.synonyms import SYNONYMS, widened
from engine.core.words import Word, phrase, words

SPECIALTY = 3.0
NAME = 2.0
"""A word of the name or the category, and a synonym of one or of a specialty."""
PART = 1.5
"""One word of a specialty that has several."""
TEXT = 1.0
"""A word of the description or of a tool; a synonym of one word of a specialty."""

_LONGEST_PHRASE = 4
_PRUNE_FROM = 256
_NOISE = 1e-9
"""Sums of the same addends in another order differ by less."""

Slot: TypeAlias = int
Postings: TypeAlias = dict[str, set[Slot]]
Rank: TypeAlias = tuple[float, int, int, str, str]


@dataclass(slots=True, frozen=True)
class Match:
    """A candidate that answers a request."""

    id: str
    name: str
    score: float
    words: tuple[str, ...]
    """The words of the request that it covers, in lower case and in their order; of an agent that was chosen, those
    that nobody chosen before it covers."""
    first_at: int
    """Where the first of them stands, in characters from the start of the text."""


class Grant(NamedTuple):
    """What one set of candidates gets for one word."""

    points: float
    weight: float
    slots: set[Slot]


@dataclass(slots=True, frozen=True)
class Asked:
    """One different word of a request, and what is given for it, dearest first; a candidate gets only the first."""

    text: str
    at: int
    grants: tuple[Grant, ...]

    def grant_of(self, slot: Slot) -> Grant | None:
        """What the candidate gets for this word."""
        return next((grant for grant in self.grants if slot in grant.slots), None)


class CapabilityIndex:
    """Candidates by their words.

    Args:
        candidates: Who is in it from the start; ids are unique.
        synonyms: What widens the words of a request, see `engine.core.synonyms`.
    """

    def __init__(
        self, candidates: Iterable[Candidate] = (), *, synonyms: Mapping[str, tuple[str, ...]] = SYNONYMS
    ) -> None:
        self.synonyms = synonyms
        self._widened = widened(synonyms)
        self._slots: dict[str, Slot] = {}
        self._candidates: dict[Slot, Candidate] = {}
        self._profiles: dict[Slot, Profile] = {}
        self._ranks: dict[Slot, Rank] = {}
        self._next_slot: Slot = 0
        self._specialties: Postings = {}
        self._parts: Postings = {}
        self._names: Postings = {}
        self._texts: Postings = {}
        self._exact_names: Postings = {}
        self._spread: Counter[str] = Counter()
        for candidate in candidates:
            self.add(candidate)

    def __len__(self) -> int:
        return len(self._candidates)

    def __contains__(self, id: str) -> bool:
        return id in self._slots

    def __getitem__(self, id: str) -> Candidate:
        return self._candidates[self._slots[id]]

    def add(self, candidate: Candidate) -> None:
        """Take `candidate` in, or bring it up to date where its id is known (cheap while its words are the same)."""
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
        self._candidates[known] = candidate
        self._ranks[known] = (-candidate.success_rate, candidate.load, candidate.age, candidate.name, candidate.id)

    def remove(self, id: str) -> None:
        """Forget a candidate.

        Raises:
            KeyError: If there is none of this id.
        """
        slot = self._slots.pop(id)
        del self._candidates[slot], self._ranks[slot]
        profile = self._profiles.pop(slot)
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
        """Return the best `limit` candidates for `text`, best first; none where no word of it is anybody's."""
        asked = self.ask(text)
        return [self.match(slot, asked) for slot in self.best(asked, limit)]

    def able(self, capability: str) -> list[str]:
        """Return the ids of those whom `capability` suits: by exact name first, then a whole specialty, then the rest.

        Equals are in the order of success rate, load, age, name and id. See `engine.core.candidate.suits`.
        """
        asked = asked_stems(capability)
        named = self._exact_names.get(capability.casefold(), set())
        if not asked:
            return self.in_order(named)
        found = set.intersection(*(self._claimants(stem) for stem in asked))
        if len(asked) > 1:
            found = {slot for slot in found if suits(self._candidates[slot], capability)}
        whole = self._specialties.get(phrase(capability), set()) & found
        return self.in_order(named) + self.in_order(whole - named) + self.in_order(found - whole - named)

    def ask(self, text: str) -> tuple[Asked, ...]:
        """Return the different words of `text` that somebody answers to, in their order."""
        said = words(text)
        phrases = self._phrases(said)
        first = {word.stem: word for word in reversed(said)}
        asked = (Asked(first[stem].text, first[stem].at, self._grants(stem, phrases.get(stem, ()))) for stem in phrases)
        return tuple(word for word in sorted(asked, key=lambda word: word.at) if word.grants)

    def best(self, asked: Iterable[Asked], limit: int) -> list[Slot]:
        """Return the slots of the best `limit` candidates for these words, best first."""
        gains = _gains(tuple(asked), limit)
        if len(gains) > limit > 0:
            floor = _floor(gains, limit)
            gains = {slot: gain for slot, gain in gains.items() if gain >= floor}
        return nsmallest(limit, gains, key=lambda slot: (-round(gains[slot], 6), self._ranks[slot]))

    def match(self, slot: Slot, asked: Iterable[Asked], among: Iterable[Asked] | None = None) -> Match:
        """Return the candidate's score for `asked`, and the words of `among` (of `asked` by default) it covers."""
        asked = tuple(asked)
        granted = [grant.points for word in asked if (grant := word.grant_of(slot))]
        covered = [word for word in (asked if among is None else among) if word.grant_of(slot)]
        candidate = self._candidates[slot]
        return Match(
            id=candidate.id,
            name=candidate.name,
            score=round(sum(granted), 6),
            words=tuple(word.text for word in covered),
            first_at=min((word.at for word in covered), default=0),
        )

    def candidate(self, slot: Slot) -> Candidate:
        """The candidate behind a slot that this index gave out."""
        return self._candidates[slot]

    def in_order(self, slots: Iterable[Slot]) -> list[str]:
        """The ids behind `slots`, by success rate, load, age, name and id."""
        return [self._candidates[slot].id for slot in sorted(slots, key=self._ranks.__getitem__)]

    def vocabulary(self) -> dict[str, set[Slot]]:
        """Every claimed word and specialty, with the slots of those who claim it."""
        return {**self._specialties, **self._names}

    def _places(self, profile: Profile) -> tuple[tuple[Postings, Iterable[str]], ...]:
        return (
            (self._specialties, profile.specialties),
            (self._parts, profile.parts),
            (self._names, profile.names),
            (self._texts, profile.texts),
            (self._exact_names, (profile.name,)),
        )

    def _claimants(self, stem: str) -> set[Slot]:
        empty: set[Slot] = set()
        return self._specialties.get(stem, empty) | self._parts.get(stem, empty) | self._names.get(stem, empty)

    def _phrases(self, said: tuple[Word, ...]) -> dict[str, list[str]]:
        """Of each stem, the phrases around it that somebody claims or that have synonyms."""
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

    def _grants(self, stem: str, phrases: Iterable[str]) -> tuple[Grant, ...]:
        found = list(self._found(stem, phrases))
        return tuple(sorted(found, key=lambda grant: (-grant.points, -grant.weight)))

    def _found(self, stem: str, phrases: Iterable[str]) -> Iterator[Grant]:
        for said in (stem, *phrases):
            yield from self._grant(SPECIALTY, said, self._specialties)
            # However rare a synonym is, it must not count for more than the word itself.
            ceiling = self._rarity(said)
            for called in self._widened.get(said, ()):
                yield from self._grant(NAME, called, self._specialties, ceiling=ceiling)
                yield from self._grant(NAME, called, self._names, ceiling=ceiling)
                yield from self._grant(TEXT, called, self._parts, ceiling=ceiling)
        yield from self._grant(NAME, stem, self._names)
        yield from self._grant(PART, stem, self._parts)
        yield from self._grant(TEXT, stem, self._texts)

    def _grant(self, weight: float, key: str, postings: Postings, *, ceiling: float = inf) -> Iterator[Grant]:
        slots = postings.get(key)
        if slots:
            yield Grant(weight * min(self._rarity(key), ceiling), weight, slots)

    def _rarity(self, key: str) -> float:
        """Inverse frequency of a word or a whole specialty among the candidates; infinite where nobody has it."""
        spread = self._spread.get(key, 0) or len(self._specialties.get(key, ()))
        return log(1 + len(self._candidates) / spread) if spread else inf


def _gains(asked: tuple[Asked, ...], limit: int) -> dict[Slot, float]:
    """Sum what each candidate gets, leaving out those that cannot be among the best `limit`.

    Dearest words first. As soon as the words that are left cannot lift anybody new over the best `limit` found so far,
    only those who still can get there are looked at.
    """
    order = sorted(asked, key=lambda word: -word.grants[0].points)
    left = sum(word.grants[0].points for word in order)
    gains: dict[Slot, float] = {}
    narrowed = False
    for word in order:
        if len(gains) >= limit > 0 and sum(len(grant.slots) for grant in word.grants) > _PRUNE_FROM:
            floor = _floor(gains, limit)
            narrowed = narrowed or left < floor
            if narrowed:
                gains = {slot: gain for slot, gain in gains.items() if gain + left >= floor}
        _add(gains, word.grants, among=gains.keys() if narrowed else None)
        left -= word.grants[0].points
    return gains


def _floor(gains: dict[Slot, float], limit: int) -> float:
    """What a candidate needs at least to be among the best `limit`."""
    return (max(gains.values()) if limit == 1 else nlargest(limit, gains.values())[-1]) - _NOISE


def _add(gains: dict[Slot, float], grants: tuple[Grant, ...], *, among: Set[Slot] | None) -> None:
    """Add to each candidate the first grant it is in; `among` leaves out all others."""
    given: set[Slot] = set()
    for grant in grants:
        slots = grant.slots if among is None else grant.slots & among
        fresh = slots - given if given else slots
        points = grant.points
        for slot in fresh:
            gains[slot] = gains.get(slot, 0.0) + points
        if len(grants) > 1:
            given |= fresh
