"""Ranks of candidates, which break ties: by success rate, load, age, name and id."""

from bisect import bisect_left, insort
from collections.abc import Callable, Set
from heapq import nsmallest
from itertools import islice
from typing import TypeAlias

from engine.core.discovery.candidate import success_rate

Slot: TypeAlias = int
Rank: TypeAlias = tuple[float, int, int, str, str]


def rank_of(id: str, name: str, done: int, failed: int, load: int, age: int) -> Rank:
    """Return the sort key that breaks ties; the smallest comes first."""
    return -success_rate(done, failed), load, age, name, id


class Ranks(dict[Slot, Rank]):
    """Ranks that `compute` returns for a slot on first access."""

    def __init__(self, compute: Callable[[Slot], Rank]) -> None:
        super().__init__()
        self._compute = compute

    def __missing__(self, slot: Slot) -> Rank:
        rank = self[slot] = self._compute(slot)
        return rank

    def lowest(self, slots: Set[Slot], limit: int) -> list[Slot]:
        """Return the `limit` slots with the lowest ranks, the lowest first."""
        return nsmallest(limit, slots, key=self.__getitem__)


class OrderedRanks:
    """Ranks that are set, kept sorted too: tens of thousands of candidates may tie on a common word."""

    def __init__(self) -> None:
        self._by_slot: dict[Slot, Rank] = {}
        # Sorted on first use and then kept sorted: faster than a hundred thousand insertions.
        self._in_order: list[tuple[Rank, Slot]] = []

    def __getitem__(self, slot: Slot) -> Rank:
        return self._by_slot[slot]

    def put(self, slot: Slot, rank: Rank) -> None:
        """Set the rank of a slot."""
        if self._by_slot.get(slot) != rank:
            self.drop(slot)
            self._by_slot[slot] = rank
            if self._in_order:
                insort(self._in_order, (rank, slot))

    def drop(self, slot: Slot) -> None:
        """Forget a slot, if it is there."""
        rank = self._by_slot.pop(slot, None)
        if rank is not None and self._in_order:
            del self._in_order[bisect_left(self._in_order, (rank, slot))]

    def lowest(self, slots: Set[Slot], limit: int) -> list[Slot]:
        """Return the `limit` slots with the lowest ranks, the lowest first."""
        # A scan in order visits `len(all) / len(slots)` ranks for each slot found: the other way is faster if few.
        if len(slots) ** 2 <= limit * len(self._by_slot):
            return nsmallest(limit, slots, key=self._by_slot.__getitem__)
        if not self._in_order:
            self._in_order = sorted((rank, slot) for slot, rank in self._by_slot.items())
        return [*islice((slot for _, slot in self._in_order if slot in slots), limit)]
