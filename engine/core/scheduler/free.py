"""Whether an agent with a free slot may take from one of its queues, and the limits on child processes."""

from collections.abc import Iterator
from typing import NamedTuple

from engine.core.queries.team.able import is_able
from engine.core.queries.team.tree import lineage_of
from engine.core.queries.work.queues import is_for_named_members
from engine.core.scheduler.ready_queues import ReadyQueue
from engine.core.scheduler.slots import Occupancy
from engine.core.state import Agent, Queue, State, Supervisor


def is_free(state: State, schedule: Occupancy, queue: ReadyQueue, agent: Agent) -> bool:
    """Return whether an agent with a free slot takes from one of its queues."""
    if queue.is_back:
        # An attempt that has begun may always resume: paused, leaving or exhausted agents finish what they have.
        return True
    if agent.exhausted is not None:
        # It gets only tasks that no other agent can do; `before_start` then ends them instead of starting them.
        queue.conditional[agent.id] = None
        is_stopped = agent.paused or agent.away or agent.error is not None
        takes = not is_stopped and _is_exhausted(state, state.queues[queue.key])
    # A draining agent still does what waits in its own queue; `takes_tasks` is False for everything else.
    elif queue.key.startswith("agent:") and agent.removing == "drain":
        takes = not (agent.paused or agent.away or agent.is_shut) and agent.error is None
    else:
        takes = agent.takes_tasks
    return takes and (not queue.shared or _is_path_open(state, schedule, queue, agent))


def _is_path_open(state: State, schedule: Occupancy, queue: ReadyQueue, agent: Agent) -> bool:
    """Return True while no supervisor between a shared queue and one of its agents is full or paused.

    The heap of offers checks these levels for the queues of one supervisor; a shared queue is offered above them. A
    team that has spent its budget takes nothing as long as another team can.
    """
    supervisor = state.supervisors[agent.supervisor_id]
    if schedule.slots[supervisor.id].running >= supervisor.max_parallel:
        return False
    for ancestor in lineage_of(state, supervisor):
        if ancestor.id == queue.supervisor_id:
            return True
        is_full = schedule.slots[ancestor.id].is_full(ancestor)
        if ancestor.paused or ancestor.held or is_full or (ancestor.taken and is_for_named_members(queue.key)):
            return False
        if ancestor.exhausted is not None:
            queue.conditional[agent.id] = None
            if any(is_able(state, state.agents[agent_id]) for agent_id in state.queues[queue.key].agents):
                return False
    return False


def _is_exhausted(state: State, queue: Queue) -> bool:
    """Return whether all agents of a queue have spent a budget, and no question about extending it is open."""
    agents = (state.agents[agent_id] for agent_id in queue.agents)
    return all(agent.exhausted is not None and not agent.held for agent in agents)


class ProcessLimit(NamedTuple):
    """A limit on child processes."""

    owner: Supervisor | None
    """The supervisor that sets the limit; None for the engine."""
    used: int
    max_processes: int


def process_limits(state: State, schedule: Occupancy, supervisor: Supervisor) -> Iterator[ProcessLimit]:
    """Yield every limit on processes that applies under a supervisor, nearest first.

    The engine's limit applies to the roots that set none, all of them together.
    """
    for ancestor in lineage_of(state, supervisor):
        max_processes = ancestor.options.processes
        if max_processes is not None:
            yield ProcessLimit(ancestor, schedule.slots[ancestor.id].processes, max_processes)
        elif ancestor.parent_id is None and state.engine is not None and state.engine.processes is not None:
            yield ProcessLimit(None, schedule.processes, state.engine.processes)


def exhausted_process_limit(state: State, schedule: Occupancy, supervisor: Supervisor) -> ProcessLimit | None:
    """Return the nearest limit that is used up under a supervisor; None if another process may begin."""
    limits = process_limits(state, schedule, supervisor)
    return next((limit for limit in limits if limit.used >= limit.max_processes), None)
