"""Fold: who holds a slot, who waits for one, and since when a free agent waits for its turn.

What can begin by that is not worked out here: a schedule that is kept (`State.schedule`) is told what has changed.
"""

from engine.core.fold.pools import look_at_pool, look_at_pools_of
from engine.core.queries.queues import back_queue, turn_key
from engine.core.state import Agent, Attempt, Queue, State, Supervisor, Task

STRIDE = 1_000_000
"""What one attempt counts for an agent of weight 1."""


def tell(state: State, *changed: Task | Supervisor | str) -> None:
    """Tell the schedule which tasks, supervisors and queues (by key) an event has changed, or that one is gone."""
    if state.schedule is not None:
        state.schedule.changed += changed


def tell_all(state: State) -> None:
    """Tell the schedule that it has to be built anew."""
    if state.schedule is not None:
        state.schedule.stale = True


def refresh_agent(state: State, agent: Agent) -> None:
    """Follow a change of whether an agent takes tasks: one that does waits for its turn since then."""
    if agent.takes_tasks:
        if agent.turn_seq is None:
            agent.turn_seq = state.seq
    elif not works_in_processes(state, agent):  # of one that works in processes it is since when it began last
        agent.turn_seq = None
    if state.schedule is not None:
        state.schedule.agents[agent.id] = agent
    if agent.id in state.pools:
        look_at_pool(state, agent)


def works_in_processes(state: State, agent: Agent) -> bool:
    """Return True for an agent whose next attempts hold a process."""
    return state.specs[agent.spec].run_in == "process"


def tell_agent(state: State, agent: Agent) -> None:
    """Tell the schedule that what an agent is chosen by has changed."""
    if state.schedule is not None:
        state.schedule.agents[agent.id] = agent


def begin(state: State, agent: Agent, task: Task, attempt: Attempt, queue: Queue) -> None:
    """Give the first task of a queue a slot of `agent`, which has room: that was the turn of its run.

    Args:
        state: What changes.
        agent: Has room.
        task: Waited in `queue` until now.
        attempt: The one that begins, or goes on.
        queue: The turn is in this one.
    """
    seq = state.seq
    task.ready, task.taking, attempt.back_seq = False, None, None
    attempt.slot_seq = seq
    queue.ready -= 1
    state.runs[task.run_id].turns[turn_key(task.priority, queue.key)] = (state.at_ms, seq, task.id)
    if len(queue.agents) > 1:
        _keep_pace(state, queue, agent)
    agent.running[task.id] = attempt.generation
    agent.turn_seq = seq
    schedule = state.schedule
    if schedule is not None:
        schedule.changed.append(task)
        schedule.agents[agent.id] = agent
    if state.pools:
        look_at_pools_of(state, queue)
        if agent.id in state.pools:
            look_at_pool(state, agent)


def vacate(state: State, agent: Agent, task: Task) -> None:
    """Free the slot that `task` holds, if it holds one."""
    running = agent.running
    if running.pop(task.id, None) is None:
        return
    schedule = state.schedule
    if schedule is not None:
        schedule.changed.append(task)
        schedule.agents[agent.id] = agent
    was_full = len(running) + agent.stuck == agent.max_concurrency - 1
    if was_full and not works_in_processes(state, agent):
        agent.turn_seq = state.seq if agent.takes_tasks else None
    if state.pools and agent.id in state.pools:
        look_at_pool(state, agent)


def wait_for_slot(state: State, task: Task) -> None:
    """Let a parked attempt wait for a slot of its agent to go on."""
    attempt = task.attempt
    assert attempt is not None
    if attempt.back_seq is None:  # one that migrates waits already
        attempt.back_seq, attempt.back_ms = state.seq, state.at_ms
        _count_back(state, task, attempt, 1)


def stop_waiting_for_slot(state: State, task: Task) -> None:
    """Let an attempt wait for a slot no more, if it does."""
    attempt = task.attempt
    if attempt is not None and attempt.back_seq is not None:
        attempt.back_seq = None
        _count_back(state, task, attempt, -1)


def _count_back(state: State, task: Task, attempt: Attempt, by: int) -> None:
    queue = state.queues[back_queue(attempt.agent_id or "")]
    queue.ready += by
    tell(state, task)
    if state.pools:
        look_at_pools_of(state, queue)


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
