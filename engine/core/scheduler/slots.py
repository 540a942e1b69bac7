"""What a supervisor may begin: slots and processes in use at its level, and what begins first under it.

A supervisor ranks its open queues, which have both a ready task and a free agent, and the best of each supervisor below
it; the better of the two it offers to the one above, unless it is full or paused. So what begins next is found by going
down from the roots, however many there are. Each supervisor compares what it is offered by its own `ageing_s`: what a
team has set for itself holds inside it.
"""

from typing import TYPE_CHECKING

from engine.core.options import AGEING_S, Balance, Preempt
from engine.core.queries.tree import above_of, inherited
from engine.core.scheduler.ready_queues import Line, Ranking
from engine.core.state import State, Supervisor

NEVER_MS = 10**15
"""What a priority is worth where nothing ages: more than any wait."""
ROOTS_MS = round(AGEING_S * 1000)
"""What a priority is worth in waiting between the work of several roots."""
_USUAL = Preempt()


class Slots:
    """What one supervisor has in use, and what could begin under it.

    Attributes:
        running: Slots in use by its own agents.
        total: Slots in use by its agents and by all below it; counted where it has a limit on that.
        processes: Processes in use by them.
        capped: Ids of it and of those above it that have such a limit.
        own: Queues of its own agents that are open, by what begins next in each.
        offers: Supervisors right under it, and queues that several teams share, in which something can begin.
        ageing_ms: How long a task waits until it is as urgent as one of the next priority.
        balance: Who of several free agents gets a task.
        urgent: The priority up to which tasks take slots from others; -1 where none does.
    """

    __slots__ = ("ageing_ms", "balance", "capped", "offers", "own", "processes", "running", "total", "urgent")

    def __init__(self, state: State, supervisor: Supervisor) -> None:
        self.running = self.total = self.processes = 0
        self.capped = [one.id for one in above_of(state, supervisor) if one.options.max_total is not None]
        self.own = Ranking()
        self.offers = Ranking()
        self.ageing_ms = _ageing_ms(state, supervisor)
        self.balance: Balance = inherited(state, supervisor, "balance", "round_robin")
        self.urgent = urgent_from(state, supervisor)

    def is_full(self, supervisor: Supervisor) -> bool:
        """Return True while nothing more may begin under the supervisor, at any level."""
        most = supervisor.options.max_total
        return most is not None and self.total >= most

    def first(self, supervisor: Supervisor) -> tuple[int, int, int, str] | None:
        """Return what begins first under the supervisor: a queue of its own, or a supervisor below it; None is nothing.

        Attempts that go on come first, and go on in a pause too.
        """
        offers, own = self.offers.heap, self.own.heap
        best = offers[0] if offers else None
        if own and self.running < supervisor.max_parallel and (best is None or own[0] < best):
            best = own[0]
        if best is None or self.is_full(supervisor):
            return None
        return None if best[0] >= 0 and (supervisor.paused or supervisor.held) else best


def _ageing_ms(state: State, supervisor: Supervisor) -> int:
    for above in above_of(state, supervisor):
        seconds = above.options.ageing_s
        if seconds is not None:
            return round(seconds * 1000) or NEVER_MS
    return ROOTS_MS


def urgent_from(state: State, supervisor: Supervisor) -> int:
    """Return the priority up to which tasks take slots under `supervisor`; -1 where none does."""
    preempt: Preempt = inherited(state, supervisor, "preempt", _USUAL)
    return -1 if preempt.at == "never" else preempt.urgent


if TYPE_CHECKING:
    from engine.core.scheduler.schedule import Schedule


def _offers_of(schedule: "Schedule", supervisor_id: str | None) -> Ranking:
    return schedule.roots if supervisor_id is None else schedule.slots[supervisor_id].offers


def offer(state: State, schedule: "Schedule", supervisor: Supervisor) -> None:
    """Tell the supervisor above, and so on to the root, what begins first under `supervisor`."""
    while True:
        best = schedule.slots[supervisor.id].first(supervisor)
        offers = _offers_of(schedule, supervisor.parent_id)
        known = offers.ranks.get(supervisor.id)
        order = None if best is None else (_rank_above(state, schedule, supervisor, best), best[1], best[2])
        if order == known:
            return
        if order is None:
            offers.drop(supervisor.id)
        else:
            offers.put(supervisor.id, order)
        if supervisor.parent_id is None:
            return
        supervisor = state.supervisors[supervisor.parent_id]


def _rank_above(state: State, schedule: "Schedule", supervisor: Supervisor, best: tuple[int, int, int, str]) -> int:
    """Return what the supervisor above ranks by: where work ages otherwise there, that is not the rank it has."""
    parent_id = supervisor.parent_id
    here = schedule.slots[supervisor.id].ageing_ms
    above = ROOTS_MS if parent_id is None else schedule.slots[parent_id].ageing_ms
    if best[0] < 0 or here == above:
        return best[0]
    line = leads_to(state, schedule, best[3])
    if line is None:  # it is about to be offered anew
        return best[0]
    return line.rank_above(schedule.slots[line.supervisor_id].ageing_ms, above)


def leads_to(state: State, schedule: "Schedule", key: str) -> Line | None:
    """Return the line that is first under what is ranked; None where that is changing, and nothing is ready."""
    while key in state.supervisors:
        first = schedule.slots[key].first(state.supervisors[key])
        if first is None:
            return None
        key = first[3]
    line = schedule.lines.get(key)
    return line if line is not None and line.lanes else None
