"""The insights of a state in sets: by tag, segment and author.

An insight is the number in its id here. Numbers are minted in order, so the newest insight has the highest.
"""

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from heapq import nsmallest
from itertools import islice, takewhile
from typing import Any, TypeVar

from engine.core.entities.memory import PRIVATE, Insight
from engine.core.queries.team.memory import may_read_segment
from engine.core.specs.memory import InsightQuery
from engine.core.state import State

MIN_FACTOR = 0.5
"""Factor of the points of an insight of importance 0; importance 1 has 1.5."""
MANY = 500
"""More insights than this are ordered by a walk through the ranking of all, fewer by sorting."""
T = TypeVar("T", bound=tuple[Any, ...])


def number_of(insight_id: str) -> int:
    """Return the number in the id of an insight."""
    return int(insight_id[1:])


class InsightSets:
    """The insights of the last state that was followed."""

    def __init__(self) -> None:
        self._state = State()
        self._seq = self._minted = 0
        self._insights: dict[int, Insight] = {}
        """The objects of the state itself."""
        self._by_tag: defaultdict[str, set[int]] = defaultdict(set)
        self._by_segment: defaultdict[str, set[int]] = defaultdict(set)
        self._by_author: defaultdict[str | None, set[int]] = defaultdict(set)
        self._superseded: set[int] = set()
        self._expiring: list[tuple[int, int]] = []
        """Times of expiry with numbers, in order."""
        self._ranking: list[tuple[float, int]] = []
        """Ranks of all, in order."""

    def follow(self, state: State) -> tuple[list[Insight], list[Insight]]:
        """Bring the sets up to a state; return the insights that are new, and those that are gone.

        Costs what is new; a tenth of a microsecond for each insight if one was removed, more in another state object.
        """
        was_minted, is_same = self._minted, state is self._state
        if is_same and state.seq == self._seq:
            return [], []
        is_later = is_same and state.seq > self._seq
        self._state, self._seq, self._minted = state, state.seq, state.minted.get("m", 0)
        insights = state.insights
        if is_later:
            new = [*takewhile(self._is_unknown, (insights[insight_id] for insight_id in reversed(insights)))][::-1]
            # Nothing was removed, and nothing came and went since the last time.
            if len(self._insights) + len(new) == len(insights) and self._minted - was_minted == len(new):
                return self._add(new), []
            gone = [old for old in self._insights.values() if insights.get(old.id) is not old]
            self._remove(gone)
        else:
            gone = [old for old in self._insights.values() if not _is_same(old, insights.get(old.id))]
            self._remove(gone)
            by_number = {number_of(insight_id): insight for insight_id, insight in insights.items()}
            new = [insight for number, insight in by_number.items() if number not in self._insights]
            self._insights = by_number
        self._add(new)
        self._superseded = {number for number, each in self._insights.items() if each.superseded_by is not None}
        return new, gone

    def matching(
        self,
        query: InsightQuery,
        *,
        root_id: str | None,
        agent_id: str | None,
        now_ms: int,
        having_words: set[int] | None = None,
    ) -> set[int]:
        """Return what a query matches among what an agent may read; None reads everything.

        Of its text it knows only `having_words`, those with one of its words; None if it has no words.
        """
        matches = self._readable(self._tagged(query, having_words), query.segment, agent_id)
        if not query.superseded:
            expired = {number for _, number in self._expiring[: bisect_left(self._expiring, (now_ms + 1,))]}
            matches = matches - self._superseded - expired
        if query.exclude_own:
            matches = matches - self._by_author.get(agent_id, set())
        insights = self._insights
        if query.min_importance or query.max_age_s is not None or query.unused:
            since_ms = 0 if query.max_age_s is None else now_ms - query.max_age_s * 1000
            matches = {
                number
                for number in matches
                if (insight := insights[number]).importance >= query.min_importance
                and insight.at_ms >= since_ms
                and not (query.unused and insight.reads)
            }
        if root_id is not None and sum(each.parent_id is None for each in self._state.supervisors.values()) > 1:
            # Not a set: insights change their team with their agents.
            matches = {number for number in matches if insights[number].supervisor_id == root_id}
        return matches

    def best(self, numbers: set[int], limit: int) -> Sequence[int]:
        """Return the most important, of equals the newest."""
        if len(numbers) > MANY:
            return [*islice((-negative for _, negative in self._ranking if -negative in numbers), limit)]
        return sorted(numbers, key=lambda number: _rank(self._insights[number]))[:limit]

    def best_matches(self, numbers: set[int], points: Mapping[int, float], limit: int) -> Sequence[int]:
        """Return those with the most points, which their importance weighs; of equals as `best`."""
        insights = self._insights
        ranks = ((-round(points[n] * (MIN_FACTOR + insights[n].importance), 6), *_rank(insights[n])) for n in numbers)
        return [-negative for *_, negative in nsmallest(limit, ranks)]

    def _is_unknown(self, insight: Insight) -> bool:
        return self._insights.get(number_of(insight.id)) is not insight

    def _tagged(self, query: InsightQuery, having_words: set[int] | None) -> set[int] | None:
        """Return what has the words and tags of a query; None if it names none."""
        sets = [self._by_tag.get(tag, set()) for tag in query.all_of]
        if having_words is not None:
            sets.append(having_words)
        if query.any_of:
            sets.append(set().union(*(self._by_tag.get(tag, set()) for tag in query.any_of)))
        return set.intersection(*sorted(sets, key=len)) if sets else None

    def _readable(self, tagged: set[int] | None, segment: str | None, agent_id: str | None) -> set[int]:
        """Return those of `tagged`, or all, that are in a segment, or any, and that an agent may read."""
        if agent_id is None and segment is None:
            return set().union(*self._by_segment.values()) if tagged is None else tagged
        places = [*self._places(segment, agent_id)]
        return set().union(*(places if tagged is None else (tagged & place for place in places)))

    def _places(self, segment: str | None, agent_id: str | None) -> Iterator[set[int]]:
        agent = self._state.agents.get(agent_id or "")
        if agent is None:
            if agent_id is None and segment in self._by_segment:
                yield self._by_segment[segment or ""]
            return
        for name in [*self._by_segment] if segment is None else [segment]:
            numbers = self._by_segment.get(name, set())
            if name == PRIVATE:
                yield numbers & self._by_author.get(agent.id, set())
            elif may_read_segment(self._state, agent, name):
                yield numbers

    def _sets_of(self, insight: Insight) -> Iterator[tuple[dict[Any, set[int]], str | None]]:
        yield self._by_segment, insight.segment
        yield self._by_author, insight.agent_id
        for tag in insight.tags:
            yield self._by_tag, tag

    def _add(self, insights: list[Insight]) -> list[Insight]:
        for insight in insights:
            number = number_of(insight.id)
            self._insights[number] = insight
            for sets, key in self._sets_of(insight):
                sets[key].add(number)
            if insight.superseded_by is not None:
                self._superseded.add(number)
            if insight.supersedes is not None:
                self._superseded.add(number_of(insight.supersedes))
        _insert(self._ranking, [*map(_rank, insights)])
        _insert(self._expiring, [(each.expires_ms, number_of(each.id)) for each in insights if each.expires_ms])
        return insights

    def _remove(self, insights: list[Insight]) -> None:
        numbers = {number_of(insight.id) for insight in insights}
        for insight in insights:
            del self._insights[number_of(insight.id)]
            for sets, key in self._sets_of(insight):
                sets[key].discard(number_of(insight.id))
                if not sets[key]:
                    del sets[key]
        self._ranking = [each for each in self._ranking if -each[1] not in numbers]
        self._expiring = [each for each in self._expiring if each[1] not in numbers]


def _rank(insight: Insight) -> tuple[float, int]:
    return -insight.importance, -number_of(insight.id)


def _is_same(insight: Insight, other: Insight | None) -> bool:
    """Return whether two states have the same insight; what may change later is not compared."""
    if other is None or insight is other:
        return other is not None
    names = ("at_ms", "text", "tags", "segment", "agent_id", "importance", "expires_ms", "supersedes")
    return all(getattr(insight, name) == getattr(other, name) for name in names)


def _insert(ordered: list[T], new: list[T]) -> None:
    """Insert into a list in order, at a cost that fits the number of what is new."""
    if len(new) > MANY:
        ordered += new
        ordered.sort()
    else:
        for each in new:
            insort(ordered, each)
