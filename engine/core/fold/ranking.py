"""Keys in the order of their ranks: a heap that is allowed entries which mean nothing any more, but never on top.

So the first key is read without a search and without a change, and every change costs the logarithm of their number.
"""

from heapq import heapify, heappop, heappush

from engine.core.state import Ranking

STALE = 16
"""A heap has up to so many entries that mean nothing any more, besides as many as mean something."""


def put(ranking: Ranking, key: str, rank: int, seq: int, place: int) -> None:
    """Give a key its rank, in place of the one that it may have; equals go by `seq`, then by `place`, the least first.

    The place is the number of an id: as texts `a10` would go before `a2`.
    """
    ranks, heap = ranking.ranks, ranking.heap
    ranks[key] = (rank, seq, place)
    if len(ranks) == 1:
        heap[:] = [(rank, seq, place, key)]
        return
    heappush(heap, (rank, seq, place, key))
    if len(heap) > 2 * len(ranks) + STALE:
        heap[:] = [(*order, key) for key, order in ranks.items()]
        heapify(heap)
    else:
        _clear_top(ranking)


def drop(ranking: Ranking, key: str) -> None:
    """Take out a key, if it is there."""
    if ranking.ranks.pop(key, None) is None:
        return
    if ranking.ranks:
        _clear_top(ranking)
    else:
        ranking.heap.clear()


def _clear_top(ranking: Ranking) -> None:
    ranks, heap = ranking.ranks, ranking.heap
    while ranks.get(heap[0][3]) != heap[0][:3]:
        heappop(heap)
