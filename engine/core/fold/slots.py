"""Slots: who holds one, and how many are held at every level of supervisors."""

from engine.core.fold.free import rank_again, set_busy
from engine.core.fold.lanes import take
from engine.core.fold.openings import is_full, offer, rank_queue, refresh_agent, refresh_queue, regate
from engine.core.fold.pools import look_at_pool, look_at_pools_of
from engine.core.fold.processes import free_process
from engine.core.fold.ranking import drop
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
    queues = state.queues
    note(supervisor, task)
    has_room = len(running) + agent.stuck < agent.max_concurrency
    agent.turn_seq = state.seq
    for key in agent.queues:
        one = queues[key]
        if agent_id in one.free:
            if has_room:
                one.free.move_to_end(agent_id)
            else:
                set_busy(one, agent_id)
                if one.shared:
                    refresh_queue(state, one)
                elif not one.free:
                    drop(supervisor.own, key)
    if queue is not None and queue.shared:
        refresh_queue(state, queue)
    elif queue is not None:
        rank_queue(state, supervisor, queue)
    if state.shared and supervisor.running == supervisor.max_parallel:
        regate(state, supervisor, below=False)
    if has_room:
        rank_again(state, agent)
    count_above(state, supervisor, 1)
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
    if state.shared and supervisor.running == supervisor.max_parallel - 1:
        regate(state, supervisor, below=False)
    if len(running) + agent.stuck == agent.max_concurrency - 1:  # it was full until now
        refresh_agent(state, agent)
    else:
        rank_again(state, agent)
    count_above(state, supervisor, -1)
    if task.id in state.in_process:
        free_process(state, agent, task)
    if state.pools and agent.id in state.pools:
        look_at_pool(state, agent)


def count_above(state: State, supervisor: Supervisor, by: int) -> None:
    """Count slots that are held, or held no more, at a supervisor and all above, and say what can begin by that."""
    offer(state, supervisor)
    above: Supervisor | None = supervisor
    while above is not None:
        was_full = is_full(above)
        above.total += by
        if is_full(above) != was_full:
            regate(state, above)
            offer(state, above)
        above = state.supervisors[above.parent_id] if above.parent_id is not None else None


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
