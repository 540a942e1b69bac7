"""Keys in the order of their ranks: a heap that may hold stale entries, but never on top.

The first key is read without a search, and every change costs the logarithm of their number.
"""

from heapq import heapify, heappop, heappush
from typing import TypeAlias

Order: TypeAlias = tuple[int, int, int]
"""A rank, the event since which the key waits, and the number of an id; the least goes first."""
STALE = 16
"""A heap has at most so many stale entries besides as many as are valid."""


class Ranking:
    """Keys by their order.

    Attributes:
        ranks: The order of each key.
        heap: The same, with stale entries; empty where `ranks` is.
    """

    __slots__ = ("heap", "ranks")

    def __init__(self) -> None:
        self.ranks: dict[str, Order] = {}
        self.heap: list[tuple[int, int, int, str]] = []

    def put(self, key: str, order: Order) -> None:
        """Give a key its order, in place of the one that it may have."""
        ranks, heap = self.ranks, self.heap
        ranks[key] = order
        if len(ranks) == 1:
            heap[:] = [(*order, key)]
            return
        heappush(heap, (*order, key))
        if len(heap) > 2 * len(ranks) + STALE:
            heap[:] = [(*order, key) for key, order in ranks.items()]
            heapify(heap)
        else:
            self._clear_top()

    def drop(self, key: str) -> None:
        """Take out a key, if it is there."""
        if self.ranks.pop(key, None) is None:
            return
        if self.ranks:
            self._clear_top()
        else:
            self.heap.clear()

    def _clear_top(self) -> None:
        ranks, heap = self.ranks, self.heap
        while ranks.get(heap[0][3]) != heap[0][:3]:
            heappop(heap)
