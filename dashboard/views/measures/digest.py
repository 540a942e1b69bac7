"""Counters over the whole state, computed once per redraw."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from dashboard.views.measures.queues import waiting_of
from engine.core.activities import Activities, ActivityKind, parse_live
from engine.core.queries.people.needs import needs_person
from engine.core.queries.people.offers import open_searches
from engine.core.queries.team.figures import is_busy
from engine.core.queries.team.tree import lineage_of, supervisors_from
from engine.core.state import Agent, State, Task

T = TypeVar("T")
KINDS_MS = 250
"""How long the counts of activities are reused; longer in a large team, where they take milliseconds."""


class KindCounts(NamedTuple):
    """The numbers of agents by what they do."""

    at_ms: int
    by_supervisor: Mapping[str, Counter[ActivityKind]]
    by_agent: Mapping[str, ActivityKind]
    stuck_ids: Sequence[str] = ()
    """The agents that are stuck."""


@dataclass(slots=True)
class Digest:
    """Counters that rows share, so that no row iterates over the state."""

    waiting_of: Counter[str] = field(default_factory=Counter)
    """Ready tasks by agent (its own queue) and by supervisor (all its queues)."""
    waiting: int = 0
    """Ready tasks in all queues."""
    busy_of: Counter[str] = field(default_factory=Counter)
    """Busy agents by supervisor, including everything below it."""
    agents_of: Counter[str] = field(default_factory=Counter)
    working: bool = True
    """Whether an engine is at work; without one, open attempts make no progress."""
    seq: int = 0
    """Seq of the counted state."""
    activities: Activities = field(default_factory=lambda: Activities(State(), {}, 0))
    """What agents and tasks do at the moment of the redraw."""
    _state: State = field(default_factory=State)
    _now_ms: int = 0
    _kinds: KindCounts | None = None
    _needs: list[str] = field(default_factory=list)
    """Those of the state alone."""
    _needs_with_stuck: tuple[Sequence[str], list[str]] | None = None
    _answers: dict[Callable[[State], Any], Any] = field(default_factory=dict)

    def compute_once(self, ask: Callable[[State], T], state: State) -> T:
        """Return a value computed from the counted state; cached by function."""
        if ask not in self._answers:
            self._answers[ask] = ask(state)
        answer: T = self._answers[ask]
        return answer

    def at(self, live: Mapping[str, str], now_ms: int) -> "Digest":
        """Return the same counters at another moment."""
        activities, kinds = self.activities.at(parse_live(live), now_ms), self.kinds_until(now_ms)
        if kinds is not None:
            activities.reuse(self.activities)
        return replace(self, activities=activities, _now_ms=now_ms, _kinds=kinds)

    def search_of(self, supervisor_id: str) -> Task | None:
        """Return the group for which a supervisor looks for agents, or asks whether those found may join."""
        return self.compute_once(open_searches, self._state).get(supervisor_id)

    def counts_as(self, other: "Digest") -> bool:
        """Return whether the counters are those of another digest, at whatever moment."""
        return self._answers is other._answers

    def kinds_until(self, now_ms: int) -> KindCounts | None:
        """Return the counts of activities that are young enough for a moment."""
        kinds = self._kinds
        young_ms = max(KINDS_MS, len(self._state.agents) + len(self._state.tasks) // 20)
        return kinds if kinds is not None and 0 <= now_ms - kinds.at_ms < young_ms else None

    def kinds_of(self, supervisor_id: str) -> Counter[ActivityKind]:
        """Return how many agents of a supervisor, including everything below it, do what."""
        return self._count_kinds().by_supervisor[supervisor_id]

    @property
    def needs_person(self) -> list[str]:
        """What waits for a person, with the agents that are stuck, as `needs_person` of the queries returns it."""
        stuck_ids = self._count_kinds().stuck_ids
        if not stuck_ids:
            return self._needs
        if self._needs_with_stuck is None or self._needs_with_stuck[0] != stuck_ids:
            self._needs_with_stuck = stuck_ids, needs_person(self._state, stuck_ids)
        return self._needs_with_stuck[1]

    def kind_of(self, agent: Agent) -> ActivityKind:
        """Return what an agent does, or did a moment ago: for lists that sort or filter all agents by it."""
        return self._count_kinds().by_agent.get(agent.id) or self.activities.kind_of(agent)

    def _count_kinds(self) -> KindCounts:
        if self._kinds is None:
            self._kinds = count_kinds(self._state, self.activities, self._now_ms)
        return self._kinds


def make_digest(
    state: State,
    *,
    working: bool = True,
    live: Mapping[str, str] = MappingProxyType({}),
    now_ms: int | None = None,
    before: Digest | None = None,
) -> Digest:
    """Count for one redraw.

    Args:
        working: Whether an engine works on the team.
        live: Live texts, from which silence is known.
        now_ms: The moment of the redraw; by default that of the last event.
        before: The counters of the redraw before, whose counts of activities are reused for a moment.
    """
    now_ms = state.at_ms if now_ms is None else now_ms
    kinds = None if before is None else before.kinds_until(now_ms)
    out = Digest(
        working=working,
        seq=state.seq,
        waiting_of=waiting_of(state),
        activities=Activities(state, parse_live(live), now_ms, working=working),
        _state=state,
        _now_ms=now_ms,
        _needs=needs_person(state),
        _kinds=kinds,
    )
    out.waiting = sum(queue.ready for queue in state.queues.values())
    if before is not None and kinds is not None:
        out.activities.reuse(before.activities)
    _sum_teams(state, out)
    return out


def _sum_teams(state: State, out: Digest) -> None:
    """Count the agents of each supervisor, and add the counts to all supervisors above it."""
    own = {supervisor_id: [0, 0] for supervisor_id in state.supervisors}
    for agent in state.agents.values():
        sums = own.get(agent.supervisor_id)
        if sums is not None:
            sums[0] += 1
            sums[1] += is_busy(agent)
    for supervisor_id, (agents, busy) in own.items():
        for ancestor in lineage_of(state, state.supervisors[supervisor_id]):
            out.agents_of[ancestor.id] += agents
            out.busy_of[ancestor.id] += busy


def count_kinds(state: State, activities: Activities, now_ms: int) -> KindCounts:
    """Count what the agents of each supervisor, including everything below it, do."""
    by_supervisor: dict[str, Counter[ActivityKind]] = defaultdict(Counter)
    by_agent = {agent.id: activities.kind_of(agent) for agent in state.agents.values()}
    for agent in state.agents.values():
        by_supervisor[agent.supervisor_id][by_agent[agent.id]] += 1
    for supervisor_id, own in [*by_supervisor.items()]:
        for ancestor in islice(supervisors_from(state, supervisor_id), 1, None):
            by_supervisor[ancestor.id] += own
    stuck_ids = [
        agent.id for agent in state.agents.values() if by_agent[agent.id] == "stuck" and agent.removing is None
    ]
    return KindCounts(now_ms, by_supervisor, by_agent, stuck_ids)
