"""Slots and processes in use under each supervisor, and the heaps that rank what may begin there.

A supervisor ranks its open queues (ready task and free agent) in one heap and the offers of the supervisors below it in
another, and offers the better of both to its parent unless it is full or paused. Finding the next task is a walk from
the roots down. Each supervisor compares by its own `ageing_s`; the setting of a team applies inside the team only.
"""

from typing import Protocol

from engine.core.queries.team.tree import inherited_option, lineage_of
from engine.core.scheduler.ready_queues import Ranking, ReadyQueue
from engine.core.specs.options import AGEING_S, Balance, Preempt
from engine.core.state import State, Supervisor

NEVER_MS = 10**15
"""Ageing per priority level where `ageing_s` is 0: longer than any wait, so priority alone decides."""
ROOTS_MS = round(AGEING_S * 1000)
"""Ageing per priority level between roots, which have no supervisor above to set it."""
_DEFAULT_PREEMPT = Preempt()


class Slots:
    """Slots in use under one supervisor, and what could begin there.

    Attributes:
        running: Slots in use by its own agents.
        total: Slots in use in its whole subtree; counted only where `max_total` is set.
        processes: Processes in use in its whole subtree.
        capped: Ids of the supervisors from this one upwards that set `max_total`.
        own: Open queues of its own agents, ranked by their next task.
        unranked: Queues of its own agents that have changed while no slot was free for them.
        offers: Child supervisors and queues shared by teams in which a task can begin, ranked likewise.
        ageing_ms: How long a task waits until it is as urgent as one of the next priority level.
        balance: Rule that chooses between free agents.
        urgent: Tasks up to this priority preempt others; -1 if none does.
    """

    __slots__ = (
        "ageing_ms",
        "balance",
        "capped",
        "offers",
        "own",
        "processes",
        "running",
        "total",
        "unranked",
        "urgent",
    )

    def __init__(self, state: State, supervisor: Supervisor) -> None:
        self.running = self.total = self.processes = 0
        self.capped = [
            ancestor.id for ancestor in lineage_of(state, supervisor) if ancestor.options.max_total is not None
        ]
        self.own = Ranking()
        self.unranked: dict[str, ReadyQueue] = {}
        self.offers = Ranking()
        self.ageing_ms = _ageing_ms(state, supervisor)
        self.balance: Balance = inherited_option(state, supervisor, "balance", "round_robin")
        self.urgent = urgent_priority(state, supervisor)

    def is_full(self, supervisor: Supervisor) -> bool:
        """Return True while `max_total` of the supervisor is used up."""
        max_total = supervisor.options.max_total
        return max_total is not None and self.total >= max_total

    def take_unranked(self, supervisor: Supervisor) -> dict[str, ReadyQueue]:
        """Return the queues that have changed while the supervisor was full, once it is not; the caller ranks them."""
        if self.running >= supervisor.max_parallel:
            return {}
        unranked, self.unranked = self.unranked, {}
        return unranked

    def first(self, supervisor: Supervisor) -> tuple[int, int, int, str] | None:
        """Return the best entry of its own queues and the offers from below; None if nothing may begin.

        Attempts that resume come first, also while the supervisor is paused.
        """
        offers, own = self.offers.heap, self.own.heap
        best = offers[0] if offers else None
        if own and self.running < supervisor.max_parallel and (best is None or own[0] < best):
            best = own[0]
        if best is None or self.is_full(supervisor):
            return None
        # A negative rank is an attempt that resumes (`RESUME_OFFSET`): a pause stops only new attempts.
        return None if best[0] >= 0 and (supervisor.paused or supervisor.held) else best


def _ageing_ms(state: State, supervisor: Supervisor) -> int:
    for ancestor in lineage_of(state, supervisor):
        seconds = ancestor.options.ageing_s
        if seconds is not None:
            return round(seconds * 1000) or NEVER_MS
    return ROOTS_MS


def urgent_priority(state: State, supervisor: Supervisor) -> int:
    """Return the priority up to which tasks preempt others under `supervisor`; -1 if none does."""
    preempt: Preempt = inherited_option(state, supervisor, "preempt", _DEFAULT_PREEMPT)
    return -1 if preempt.at == "never" else preempt.urgent


class Occupancy(Protocol):
    """The queues, slots and processes of a schedule, without its methods: avoids an import cycle."""

    queues: dict[str, ReadyQueue]
    slots: dict[str, Slots]
    """By the id of the supervisor."""
    roots: Ranking
    """Offers of the roots."""
    processes: int
    """Processes in use under roots that set no limit."""


def update_offer(state: State, schedule: Occupancy, supervisor: Supervisor) -> None:
    """Update the offer of `supervisor` to its parent, and so on up to the root."""
    while True:
        best = schedule.slots[supervisor.id].first(supervisor)
        offers = schedule.roots if supervisor.parent_id is None else schedule.slots[supervisor.parent_id].offers
        previous_order = offers.ranks.get(supervisor.id)
        order = None if best is None else (_rank_at_parent(state, schedule, supervisor, best), best[1], best[2])
        # The offers above stay the same too. This keeps an update O(1) in the usual case, however deep the tree is.
        if order == previous_order:
            return
        if order is None:
            offers.drop(supervisor.id)
        else:
            offers.put(supervisor.id, order)
        if supervisor.parent_id is None:
            return
        supervisor = state.supervisors[supervisor.parent_id]


def _rank_at_parent(state: State, schedule: Occupancy, supervisor: Supervisor, best: tuple[int, int, int, str]) -> int:
    """Return the rank of an offer at the parent, recomputed if the ageing differs there."""
    parent_id = supervisor.parent_id
    own_ageing_ms = schedule.slots[supervisor.id].ageing_ms
    parent_ageing_ms = ROOTS_MS if parent_id is None else schedule.slots[parent_id].ageing_ms
    if best[0] < 0 or own_ageing_ms == parent_ageing_ms:
        return best[0]
    queue = first_queue_under(state, schedule, best[3])
    if queue is None:  # stale while changes are being followed: this supervisor will make a new offer
        return best[0]
    return queue.rank_under_parent(schedule.slots[queue.supervisor_id].ageing_ms, parent_ageing_ms)


def first_queue_under(state: State, schedule: Occupancy, key: str) -> ReadyQueue | None:
    """Follow the offers from `key`, a supervisor or a queue, down to a queue; None if the offer is out of date."""
    while key in state.supervisors:
        first = schedule.slots[key].first(state.supervisors[key])
        if first is None:
            return None
        key = first[3]
    queue = schedule.queues.get(key)
    return queue if queue is not None and queue.levels else None
