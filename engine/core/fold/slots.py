"""Slots: who holds one, and how many are held at every level of supervisors."""

from engine.core.fold.lanes import rank_of, take
from engine.core.fold.openings import open_queue, refresh_agent, refresh_supervisor, release
from engine.core.fold.pools import look_at_pool, look_at_pools_of
from engine.core.state import Agent, Queue, State, Supervisor, Task

STRIDE = 1_000_000
"""What one attempt counts for an agent of weight 1."""


def occupy(state: State, agent: Agent, task: Task, generation: int, queue: Queue | None = None) -> None:
    """Give `task` a slot of `agent` and of every supervisor above: less can start than before.

    Args:
        state: What changes.
        agent: Has room.
        task: Begins, or goes on.
        generation: The generation of the agent that is at it.
        queue: Where it waited until now, if it did.
    """
    task_id, agent_id, running = task.id, agent.id, agent.running
    if queue is not None:
        take(queue, task, served=(state.at_ms, state.seq))
        task.taking = None
        if len(queue.agents) > 1:
            _keep_pace(state, queue, agent)
        if state.urgent:
            state.urgent.pop(task_id, None)
    running[task_id] = generation
    supervisor = state.supervisors[agent.supervisor_id]
    supervisor.running += 1
    opened, queues = supervisor.open, state.queues
    note(supervisor, task)
    has_room = len(running) + agent.stuck < agent.max_concurrency
    for key in agent.queues:
        free = queues[key].free
        if agent_id in free:
            if has_room:
                free.move_to_end(agent_id)
            else:
                del free[agent_id]
                if not free and key in opened:
                    del opened[key]
    if queue is not None and queue.key in opened:
        if queue.ready:
            open_queue(state, supervisor, queue.key, rank_of(supervisor, queue))
        else:
            del opened[queue.key]
    if count_above(state, supervisor, 1):
        for supervisor_id in list(state.startable):
            refresh_supervisor(state, state.supervisors[supervisor_id])
    else:
        refresh_supervisor(state, supervisor)
    if state.pools:
        if queue is not None:
            look_at_pools_of(state, queue)
        if agent_id in state.pools:
            look_at_pool(state, agent)


def vacate(state: State, agent: Agent, task: Task) -> None:
    """Free the slot that `task` holds, if it holds one: more can start than before."""
    running = agent.running
    if running.pop(task.id, None) is None:
        return
    supervisor = state.supervisors[agent.supervisor_id]
    supervisor.running -= 1
    forget(supervisor, task)
    count_above(state, supervisor, -1)
    if len(running) + agent.stuck == agent.max_concurrency - 1:  # it was full until now
        refresh_agent(state, agent)
    if supervisor.open and supervisor.id not in state.startable:
        refresh_supervisor(state, supervisor)
    if state.pools and agent.id in state.pools:
        look_at_pool(state, agent)


def count_above(state: State, supervisor: Supervisor, by: int) -> bool:
    """Count slots that are held, or held no more, at a supervisor and all above; return whether one is full.

    Whoever was blocked because of one that has room again is looked at again.
    """
    is_full = False
    while True:
        supervisor.total += by
        most = supervisor.options.max_total
        if most is not None:
            is_full = is_full or supervisor.total >= most
            if by < 0 and supervisor.blocked and supervisor.total < most:
                release(state, supervisor)
        if supervisor.parent_id is None:
            return is_full
        supervisor = state.supervisors[supervisor.parent_id]


def note(supervisor: Supervisor, task: Task) -> None:
    """Let `task` be at work under its priority, as the one that began last."""
    same = supervisor.at_work.get(task.priority)
    if same is None:
        supervisor.at_work[task.priority] = {task.id: 0}
    else:
        same[task.id] = 0


def forget(supervisor: Supervisor, task: Task) -> None:
    """Let `task` not be at work under its priority any more."""
    same = supervisor.at_work[task.priority]
    del same[task.id]
    if not same:
        del supervisor.at_work[task.priority]


def _keep_pace(state: State, queue: Queue, agent: Agent) -> None:
    """Count an attempt for what is due to the agent's weight; who was away does not get what it missed.

    With each engine all begin anew.

    Source: C. A. Waldspurger, W. E. Weihl, "Stride Scheduling: Deterministic Proportional-Share Resource Management",
    MIT/LCS/TM-528, 1995.
    """
    if agent.pace > queue.pace:
        queue.pace = agent.pace
    weight = state.specs[agent.spec].weight
    agent.pace = queue.pace + (STRIDE if weight == 1 else round(STRIDE / weight))
