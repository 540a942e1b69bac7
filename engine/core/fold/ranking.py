"""Keys in the order of their ranks: a heap that is allowed entries which mean nothing any more, but never on top.

So the first key is read without a search and without a change, and every change costs the logarithm of their number.
"""

from heapq import heapify, heappop, heappush

from engine.core.state import Ranking

STALE = 16
"""A heap has up to so many entries that mean nothing any more, besides as many as mean something."""


def put(ranking: Ranking, key: str, rank: int, seq: int) -> None:
    """Give a key its rank, in place of the one that it may have; of equal ranks the least `seq` goes first."""
    ranks, heap = ranking.ranks, ranking.heap
    ranks[key] = (rank, seq)
    if len(ranks) == 1:
        heap[:] = [(rank, seq, key)]
        return
    heappush(heap, (rank, seq, key))
    if len(heap) > 2 * len(ranks) + STALE:
        heap[:] = [(rank, seq, key) for key, (rank, seq) in ranks.items()]
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
    while ranks.get(heap[0][2]) != heap[0][:2]:
        heappop(heap)
