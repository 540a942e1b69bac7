"""Finds the candidates that match the words of a request best, without scoring all that match one of them.

Exact: the result equals that of summing the points of every candidate.
"""

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from heapq import heappop, heappush, nlargest
from itertools import accumulate, count
from typing import NamedTuple

from engine.core.discovery.ranks import OrderedRanks, Ranks, Slot

_FREE_STEPS = 1_000
"""Steps that a search may take in any case; a step is one lookup of a candidate in a set."""
_STEPS_PER_NODE = 16
"""Cost of adding a node, in steps."""
_NOISE = 1e-6
"""Gains are compared to this precision: sums of the same floats in a different order differ."""


class Grant(NamedTuple):
    """The points that a set of candidates gets for one word."""

    points: float
    weight: float
    slots: set[Slot]


@dataclass(slots=True, frozen=True)
class RequestWord:
    """A distinct word of a request with its grants, most points first; a candidate gets only its first grant."""

    text: str
    at: int
    grants: tuple[Grant, ...]

    def grant_of(self, slot: Slot) -> Grant | None:
        """The grant of the candidate for this word."""
        for grant in self.grants:
            if slot in grant.slots:
                return grant
        return None

    def points_of(self, slot: Slot) -> float:
        """The points of the candidate for this word; 0 if it does not match."""
        grant = self.grant_of(slot)
        return grant.points if grant else 0.0


def best_slots(request_words: Iterable[RequestWord], ranks: Ranks | OrderedRanks, limit: int) -> Iterator[Slot]:
    """Yield the slots of the best `limit` candidates for these words, best first; equal ones by their ranks."""
    if limit < 1:
        return
    words_by_points = sorted(request_words, key=lambda word: -word.grants[0].points)
    yielded: set[Slot] = set()
    for equals in _levels(words_by_points, limit):
        for slot in ranks.lowest(equals, limit):
            if slot not in yielded:
                yield slot
                yielded.add(slot)
                if len(yielded) == limit:
                    return


def _levels(request_words: list[RequestWord], limit: int) -> Iterator[set[Slot]]:
    """Yield sets of candidates with equal gain, highest first, until there are `limit` candidates or all.

    Best-first branch and bound. A node is the set of candidates that have a certain grant (or any, or none) for each of
    the first words; the maximum that the other words can add bounds its gain. Nodes are visited by their bounds, so
    candidates with a higher gain than their node have been yielded before.
    """
    max_remaining = [*accumulate((word.grants[0].points for word in reversed(request_words)), initial=0.0)][::-1]
    # With many common words there are more nodes than candidates, and summing the points takes fewer steps.
    steps = _FREE_STEPS + sum(len(grant.slots) for word in request_words for grant in word.grants)
    nodes: list[tuple[float, int, int, float, set[Slot] | None]] = [(0.0, 0, 0, 0.0, None)]
    number = count(1)
    level = 0.0
    equals = set[Slot]()
    while nodes:
        bound, _, at, gain, slots = heappop(nodes)
        if equals and round(-bound, 6) < level:
            yield equals
            equals = set()
        if at == len(request_words):
            if slots is not None:
                level = round(gain, 6)
                equals = equals | slots if equals else slots
            continue
        for grant in request_words[at].grants:
            common = grant.slots if slots is None else slots & grant.slots
            if common:
                raised_gain = gain + grant.points
                heappush(nodes, (-raised_gain - max_remaining[at + 1], next(number), at + 1, raised_gain, common))
            if slots is not None:
                steps -= min(len(slots), len(grant.slots))
                if len(common) == len(slots):
                    break
        else:
            heappush(nodes, (-gain - max_remaining[at + 1], next(number), at + 1, gain, slots))
        steps -= _STEPS_PER_NODE
        if steps < 0:
            yield from _levels_of_sums(request_words, limit)
            return
    if equals:
        yield equals


def _levels_of_sums(request_words: list[RequestWord], limit: int) -> Iterator[set[Slot]]:
    gains = _gains(request_words, limit)
    min_gain = nlargest(limit, gains.values())[-1] - _NOISE if gains else 0.0
    levels: dict[float, set[Slot]] = {}
    for slot, gain in gains.items():
        if gain >= min_gain:
            levels.setdefault(round(gain, 6), set()).add(slot)
    yield from (levels[gain] for gain in sorted(levels, reverse=True))


def _gains(request_words: list[RequestWord], limit: int) -> dict[Slot, float]:
    """Sum the points of all candidates that can be among the best `limit`, and of few others.

    The words come with the most points first. Once the best `limit` candidates have more than all remaining words can
    add, none without one of the words so far can enter, and those too far behind are dropped.
    """
    gains: dict[Slot, float] = {}
    summed_points = 0.0
    remaining_points = sum(word.grants[0].points for word in request_words)
    for word in request_words:
        if summed_points > remaining_points + _NOISE and len(gains) >= limit:
            min_gain = nlargest(limit, gains.values())[-1] - remaining_points - _NOISE
            if min_gain > 0:
                gains = {slot: gain + word.points_of(slot) for slot, gain in gains.items() if gain >= min_gain}
                remaining_points -= word.grants[0].points
                continue
        granted_slots: set[Slot] = set()
        for grant in word.grants:
            _add(gains, grant.points, grant.slots - granted_slots if granted_slots else grant.slots)
            if grant is not word.grants[-1]:
                granted_slots |= grant.slots
        summed_points += word.grants[0].points
        remaining_points -= word.grants[0].points
    return gains


def _add(gains: dict[Slot, float], points: float, slots: Set[Slot]) -> None:
    present_slots = slots & gains.keys()
    gains.update(dict.fromkeys(slots, points) if not present_slots else dict.fromkeys(slots - present_slots, points))
    for slot in present_slots:
        gains[slot] += points
