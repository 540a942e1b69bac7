"""Searching for the best candidates finds those whom adding up the points of every candidate finds."""

import random
from collections.abc import Iterable, Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core.discovery import best_matches
from engine.core.discovery.best_matches import RequestWord
from engine.core.discovery.candidate import Candidate
from engine.core.discovery.capability_index import CapabilityIndex
from engine.core.discovery.choosing import choose
from engine.core.discovery.ranks import OrderedRanks, Slot, rank_of

WORDS = [f"word{number}" for number in range(20)]


class Plain(CapabilityIndex):
    """Adds up the points of every candidate, and sorts them all."""

    def best(self, request_words: Iterable[RequestWord], limit: int) -> Iterator[Slot]:
        words = tuple(request_words)
        gains = {self.slot(id): round(sum(word.points_of(self.slot(id)) for word in words), 6) for id in self._slots}
        found = [slot for slot, gain in gains.items() if gain]
        return iter(sorted(found, key=lambda slot: (-gains[slot], self._rank(slot)))[:limit])

    def _rank(self, slot: Slot) -> tuple[float, int, int, str, str]:
        one = self[self.match(slot, ()).id]
        return rank_of(one.id, one.name, one.done, one.failed, one.load, one.age)


def crowd(draws: random.Random, size: int) -> list[Candidate]:
    return [
        Candidate(
            id=f"a{number}",
            name=spoken(draws, 1),
            specialties=tuple(spoken(draws, draws.randint(1, 3)) for _ in range(draws.randint(0, 2))),
            description=spoken(draws, draws.randint(0, 5)),
            load=draws.randint(0, 2),
            age=number,
        )
        for number in range(size)
    ]


def spoken(draws: random.Random, count: int) -> str:
    """Draw words, the first few times as often as the next few, and so on: some are common, and several as rare."""
    return " ".join(draws.choices(WORDS, [2 ** -(place // 5) for place in range(len(WORDS))], k=count))


@given(st.integers(), st.integers(1, 200), st.integers(1, 20), st.integers(1, 12))
def test_choice_and_search_are_those_of_adding_up_every_candidate(seed: int, size: int, asked: int, limit: int) -> None:
    draws = random.Random(seed)
    candidates = crowd(draws, size)
    index, plain = CapabilityIndex(candidates), Plain(candidates)

    for _ in range(3):
        request = spoken(draws, asked)
        assert index.search(request, limit) == plain.search(request, limit)
        assert choose(request, index, limit=limit) == choose(request, plain, limit=limit)
        changed = replace(draws.choice(candidates), load=draws.randint(0, 5))
        for one in (index, plain):
            one.add(changed)
            if len(one) > 1 and changed.load == 5:
                one.remove(changed.id)


def test_adding_up_takes_over_where_a_search_would_take_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(best_matches, "_FREE_STEPS", -1_000_000)
    draws = random.Random(1)
    candidates = crowd(draws, 400)
    index, plain = CapabilityIndex(candidates), Plain(candidates)

    for limit in range(1, 12):
        request = spoken(draws, 15)
        assert index.search(request, limit) == plain.search(request, limit)


def test_equals_by_different_words_are_in_the_order_of_their_ranks() -> None:
    team = [Candidate(word, word, (word,), load=load) for load, word in enumerate(("plot", "state", "legal"))]

    assert [match.id for match in CapabilityIndex(team).search("legal state plot")] == ["plot", "state", "legal"]


@given(st.lists(st.tuples(st.integers(0, 15), st.none() | st.integers(0, 3))))
def test_ranks_are_in_order_whatever_was_set_and_dropped(changes: list[tuple[Slot, int | None]]) -> None:
    ranks, known = OrderedRanks(), dict[Slot, int]()
    for slot, load in [*((slot, 0) for slot in range(8)), *changes]:
        if load is None:
            ranks.drop(slot)
            known.pop(slot, None)
        else:
            ranks.put(slot, rank_of(str(slot), "", 0, 0, load, slot))
            known[slot] = load

        assert ranks.lowest(known.keys(), 4) == sorted(known, key=lambda slot: (known[slot], slot))[:4]
