"""Whether an agent that has room is free for one of its queues, and how many processes of this computer are in use."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeAlias

from engine.core.queries.able import is_able
from engine.core.queries.queues import is_of_few
from engine.core.queries.tree import above_of
from engine.core.scheduler.ready_queues import Line
from engine.core.state import Agent, Queue, State, Supervisor

if TYPE_CHECKING:
    from engine.core.scheduler.schedule import Schedule


def is_free(state: State, schedule: "Schedule", line: Line, agent: Agent) -> bool:
    """Return whether an agent that has room takes from one of its queues."""
    if line.is_back:
        return True
    if agent.exhausted is not None:  # it gets only what no other agent will ever do, so that it can be ended
        line.bound[agent.id] = None
        stands_still = agent.paused or agent.away or agent.error is not None
        takes = not stands_still and _is_done_for(state, state.queues[line.key])
    elif line.key.startswith("agent:") and agent.removing == "drain":
        takes = not (agent.paused or agent.away or agent.is_shut) and agent.error is None
    else:
        takes = agent.takes_tasks
    return takes and (not line.shared or _is_let(state, schedule, line, agent))


def _is_let(state: State, schedule: "Schedule", line: Line, agent: Agent) -> bool:
    """Return True while no supervisor between a shared queue and one of its agents is full or paused.

    A team that has spent its budget takes nothing as long as another can.
    """
    supervisor = state.supervisors[agent.supervisor_id]
    if schedule.slots[supervisor.id].running >= supervisor.max_parallel:
        return False
    for one in above_of(state, supervisor):
        if one.id == line.supervisor_id:
            return True
        full = schedule.slots[one.id].is_full(one)
        if one.paused or one.held or full or (one.taken and is_of_few(line.key)):
            return False
        if one.exhausted is not None:
            line.bound[agent.id] = None
            if any(is_able(state, state.agents[other]) for other in state.queues[line.key].agents):
                return False
    return False


def _is_done_for(state: State, queue: Queue) -> bool:
    """Return whether all agents of a queue have spent a budget, and no question about more is open."""
    agents = (state.agents[agent_id] for agent_id in queue.agents)
    return all(agent.exhausted is not None and not agent.held for agent in agents)


if TYPE_CHECKING:
    from engine.core.scheduler.schedule import Schedule

Limit: TypeAlias = tuple[Supervisor | None, int, int]
"""Whose it is, None for the engine's own; how many are in use; how many may be."""


def limits_on_processes(state: State, schedule: "Schedule", supervisor: Supervisor) -> Iterator[Limit]:
    """Yield every limit on processes that holds under a supervisor, the nearest first.

    The engine's own holds for all roots together for which nothing is set.
    """
    for above in above_of(state, supervisor):
        most = above.options.processes
        if most is not None:
            yield above, schedule.slots[above.id].processes, most
        elif above.parent_id is None and state.engine is not None and state.engine.processes is not None:
            yield None, schedule.processes, state.engine.processes


def full_of_processes(state: State, schedule: "Schedule", supervisor: Supervisor) -> Limit | None:
    """Return the nearest limit that lets no further process begin under a supervisor; None where one may."""
    return next((limit for limit in limits_on_processes(state, schedule, supervisor) if limit[1] >= limit[2]), None)
