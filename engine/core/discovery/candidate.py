"""Candidates of a choice: the words of an agent's description, as stems.

Claimed words (name, category, specialties) are kept apart from those of the description and the tools: only a claim
makes an agent suit a capability.
"""

from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from engine.core.discovery.words import identifier_stems, phrase_key, stems

MAX_DESCRIPTION_CHARS = 1_000
"""Only the beginning of a description is indexed."""

# Words that do not tell agents apart; kept if a name has no other word.
_NOUNS_OF_ROLE = "agent worker bot helper assistant expert specialist member node"
_NOUNS_OF_WORK = "task tasks work job jobs category requests request kind"

Rank: TypeAlias = tuple[float, int, int, str, str]
"""A sort key that breaks ties; the smallest comes first."""


def success_rate(done: int, failed: int) -> float:
    """Return the share of successful attempts, with Laplace smoothing: 0.5 for a new agent."""
    return (done + 1) / (done + failed + 2)


def rank_of(id: str, name: str, done: int, failed: int, load: int, age: int) -> Rank:
    """Return the rank of an agent: by success rate, load, age, name and id."""
    return -success_rate(done, failed), load, age, name, id


@dataclass(slots=True, frozen=True)
class Candidate:
    """An agent or a spec in a choice. Its id is its identity; two candidates may share every word."""

    id: str
    name: str
    specialties: tuple[str, ...]
    description: str = ""
    tools: tuple[str, ...] = ()
    """Names, or references `module:qualname`, of which only the last part is indexed."""
    category: str | None = None
    done: int = 0
    """Successful attempts."""
    failed: int = 0
    load: int = 0
    """Attempts that it runs, and that wait for it."""
    age: int = 0
    """A number that grows with each agent that joins; the older agent wins a tie."""

    @property
    def rank(self) -> Rank:
        """The sort key that breaks ties."""
        return rank_of(self.id, self.name, self.done, self.failed, self.load, self.age)


@dataclass(slots=True, frozen=True)
class Profile:
    """The words of a candidate, as stems."""

    name: str
    """The whole name, case-folded."""
    specialties: frozenset[str]
    """Each specialty as one phrase."""
    parts: frozenset[str]
    """Single words of specialties that have several words."""
    names: frozenset[str]
    """Words of its name and its category."""
    texts: frozenset[str]
    """Words of its description and its tools."""
    claims: tuple[frozenset[str], ...]
    """The words of the name, of the category and of each specialty, as separate sets."""
    every: frozenset[str]

    def claims_all(self, stems: Collection[str]) -> bool:
        """Return whether one claim has all of these words; never if there are none."""
        return bool(stems) and any(claim.issuperset(stems) for claim in self.claims)


def profile_of(candidate: Candidate) -> Profile:
    """Return the stems of a candidate's own words."""
    return _profile(
        candidate.name, candidate.category or "", candidate.specialties, candidate.description, candidate.tools
    )


def names_capability(candidate: Candidate, capability: str) -> bool:
    """Return True when `capability` is the candidate's name or one of its specialties, not only a part of one."""
    profile = profile_of(candidate)
    return phrase_key(capability) in profile.specialties or capability.strip().lower() == profile.name


def suits(candidate: Candidate, capability: str) -> bool:
    """Return whether `candidate` claims `capability`: by its exact name, or with all its words in one claim.

    Whole words are compared by their stems, without synonyms: a claim of "log parsing" suits "parse" and "parse logs",
    a claim of "topic12" does not suit "topic1".
    """
    if candidate.name.casefold() == capability.casefold():
        return True
    return profile_of(candidate).claims_all(_stem_set(capability))


@lru_cache(maxsize=4_096)
def _stem_set(text: str) -> frozenset[str]:
    return frozenset(stems(text))


def category_stem(name: str) -> str:
    """The stems by which category keys are compared: "research_tasks", "Research" and "research work" are equal."""
    every = identifier_stems(name)
    return " ".join([stem for stem in every if stem not in _stem_set(_NOUNS_OF_WORK)] or every)


@lru_cache(maxsize=4_096)
def _profile(
    name: str, category: str, specialties: tuple[str, ...], description: str, tools: tuple[str, ...]
) -> Profile:
    name_stems = identifier_stems(name)
    role_stems = _stem_set(_NOUNS_OF_ROLE)
    specific_stems = [stem for stem in name_stems if stem not in role_stems and not stem.isdigit()]
    name_words = frozenset(specific_stems or name_stems)
    category_words = frozenset(category_stem(category).split())
    specialty_stems = [words for words in map(stems, specialties) if words]
    phrases = frozenset(" ".join(claim) for claim in specialty_stems)
    parts = frozenset(stem for claim in specialty_stems if len(claim) > 1 for stem in claim)
    texts = frozenset(stems(description[:MAX_DESCRIPTION_CHARS]))
    texts |= {stem for tool in tools for stem in identifier_stems(tool.replace(":", ".").rpartition(".")[2])}
    names = name_words | category_words
    claims = (frozenset(name_stems) | frozenset(stems(name)), category_words, *map(frozenset, specialty_stems))
    return Profile(
        name=name.casefold(),
        specialties=phrases,
        parts=parts,
        names=names,
        texts=texts,
        claims=tuple(claim for claim in claims if claim),
        every=names | parts | texts | {whole for whole in phrases if " " not in whole},
    )
