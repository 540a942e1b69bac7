"""Fold: who holds a slot, who waits for one, since when a free agent waits for its turn, and how large a pool is.

What can begin by that is not worked out here: a schedule that is kept (`State.schedule`) is told what has changed. It
says which pools have to be looked at, so nothing is searched and nothing polls.
"""

from engine.core.events import PoolResized, PoolWatched
from engine.core.fold.timers import drop_timer, set_timer
from engine.core.queries.queues import back_queue, turn_key
from engine.core.spec import AgentSpec
from engine.core.state import Agent, Attempt, Queue, State, StopReason, Supervisor, Task

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


def suit(state: State, agent: Agent, spec: AgentSpec) -> None:
    """Give `agent` the slots that `spec` says, and as many instances as it had, within the bounds of its pool."""
    forget(state, agent)
    if spec.pool is None:
        agent.size = 1
    else:
        agent.size = min(max(agent.size, spec.pool.min), spec.pool.max)
        state.pools[agent.id] = 0
    agent.max_concurrency = agent.size * spec.max_concurrency


def forget(state: State, agent: Agent) -> None:
    """Look at `agent` as a pool no more."""
    if state.pools.pop(agent.id, None) is not None:
        drop_timer(state, "pool", agent.id)
        agent.idle_ms = None


def waiting_for(state: State, agent: Agent) -> int:
    """Return how many tasks are ready that `agent` could take, attempts that wait to go on included."""
    return sum(state.queues[key].ready for key in agent.queues)


def must_grow(state: State, agent: Agent) -> bool:
    """Tell whether a pool has no room, may have another instance, and more waits for each than it allows."""
    pool = state.specs[agent.spec].pool
    if pool is None or agent.size >= pool.max or not _works(agent) or agent.has_room:
        return False
    return waiting_for(state, agent) > pool.grow_at * agent.size


def may_shrink(state: State, agent: Agent) -> bool:
    """Tell whether an instance has nothing to do, may go, and would not have to come back at once."""
    spec = state.specs[agent.spec]
    pool, fewer = spec.pool, agent.size - 1
    if pool is None or fewer < pool.min or agent.removing is not None:
        return False
    used, slots = len(agent.running) + agent.stuck, fewer * spec.max_concurrency
    if used > slots:
        return False
    return used < slots or not _works(agent) or waiting_for(state, agent) <= pool.grow_at * fewer


def _works(agent: Agent) -> bool:
    at_fault = agent.error is not None or agent.is_shut or agent.exhausted is not None
    return not (agent.paused or agent.away or at_fault or agent.removing is not None)


def look_at_pool(state: State, agent: Agent) -> None:
    """Bring up to date since when an instance of a pool that may go has had nothing to do."""
    if not may_shrink(state, agent):
        agent.idle_ms = None
    elif agent.idle_ms is None:
        agent.idle_ms = state.at_ms
    if state.schedule is not None:
        state.schedule.agents[agent.id] = agent


def look_at_pools_of(state: State, queue: Queue) -> None:
    """Bring up to date the pools that take from `queue`, in which more or less is ready than before."""
    pools, agents = state.pools, queue.agents
    few = agents if len(agents) <= len(pools) else [agent_id for agent_id in pools if agent_id in agents]
    for agent_id in few:
        if agent_id in pools:
            look_at_pool(state, state.agents[agent_id])


def pool_resized(state: State, event: PoolResized) -> Agent:
    """Take the new number of instances; the caller says what the agent can take now."""
    agent = state.agents[event.agent_id]
    agent.size = event.size
    agent.max_concurrency = event.size * state.specs[agent.spec].max_concurrency
    # Idle instances count as idle from now on: the pool shrinks by one at a time, and never right after it has grown.
    agent.idle_ms = None
    drop_timer(state, "pool", agent.id)
    return agent


def pool_watched(state: State, event: PoolWatched) -> None:
    """Set the moment, or watch no more."""
    if event.due_ms is None:
        drop_timer(state, "pool", event.agent_id)
    else:
        set_timer(state, "pool", event.agent_id, event.due_ms)
    look_at_pool(state, state.agents[event.agent_id])


_PRECEDENCE: dict[StopReason | None, int] = {
    None: 0, "migrate": 1, "limit": 2, "preempt": 3, "crash": 4, "restart": 5, "requeue": 6, "cancel": 7,
}  # fmt: skip
"""Which of two reasons counts: those that take away more come later."""


def ask_to_stop(task: Task, reason: StopReason) -> None:
    """Remember why the attempt of `task` was asked to stop, if it has one; of several reasons the strongest counts."""
    attempt = task.attempt
    if attempt is not None and _PRECEDENCE[reason] > _PRECEDENCE[attempt.stopping]:
        attempt.stopping = reason
