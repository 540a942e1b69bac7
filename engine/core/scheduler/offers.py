"""What begins first under each supervisor, told from the queues up to the roots."""

from typing import TYPE_CHECKING

from engine.core.scheduler.lines import Line
from engine.core.scheduler.ranking import Ranking
from engine.core.scheduler.slots import ROOTS_MS
from engine.core.state import State, Supervisor

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
