"""Fold: slots held and waited for, turns of free agents, sizes of pools.

Which tasks can begin is not computed here: the fold only reports changes to `State.schedule`, if there is one.
"""

from engine.core.events import PoolResized, PoolWatched
from engine.core.fold.timers import drop_timer, set_timer
from engine.core.fold.times import count_time, note_stoppage
from engine.core.queries.team.pools import can_shrink
from engine.core.queries.work.queues import back_queue, turn_key
from engine.core.specs.spec import AgentSpec
from engine.core.state import Agent, Attempt, Queue, State, StopReason, Supervisor, Task

STRIDE = 1_000_000
"""Stride of an agent of weight 1; large, so that strides of other weights stay exact enough as integers."""


def mark_changed(state: State, *changed: Task | Supervisor | str) -> None:
    """Report the tasks, supervisors and queues (by key) that an event has changed or removed to the schedule."""
    if state.schedule is not None:
        state.schedule.changed += changed


def mark_stale(state: State) -> None:
    """Make the schedule rebuild itself."""
    if state.schedule is not None:
        state.schedule.stale = True


def refresh_agent(state: State, agent: Agent) -> None:
    """Update since when a free agent waits for its turn, after a change that may affect whether it takes tasks."""
    if agent.takes_tasks:
        if agent.turn_seq is None:
            agent.turn_seq = state.seq
    elif not works_in_processes(state, agent):
        # With `run_in: process` the turn counts from the last start: only the schedule knows when a process was free.
        agent.turn_seq = None
    note_stoppage(state, agent)
    if state.schedule is not None:
        state.schedule.agents[agent.id] = agent
    if agent.id in state.pools:
        update_pool(state, agent)


def works_in_processes(state: State, agent: Agent) -> bool:
    """Return True for an agent whose next attempts run in child processes."""
    return state.specs[agent.spec].run_in == "process"


def mark_agent(state: State, agent: Agent) -> None:
    """Make the schedule rank an agent again, because what `balance` compares has changed."""
    if state.schedule is not None:
        state.schedule.agents[agent.id] = agent


def begin(state: State, agent: Agent, task: Task, attempt: Attempt, queue: Queue) -> None:
    """Give the first ready task of a queue a slot of `agent`, and count it there as the turn of its run."""
    seq = state.seq
    task.ready, task.taking, attempt.back_seq = False, None, None
    attempt.slot_seq = seq
    queue.ready -= 1
    state.runs[task.run_id].turns[turn_key(task.priority, queue.key)] = (state.at_ms, seq, task.id)
    # Strides compare the agents of a queue; a single agent needs none.
    if len(queue.agents) > 1:
        _keep_pace(state, queue, agent)
    agent.running[task.id] = attempt.generation
    agent.turn_seq = seq
    schedule = state.schedule
    if schedule is not None:
        schedule.changed.append(task)
        schedule.agents[agent.id] = agent
    if state.pools:
        update_pools(state, queue)
        if agent.id in state.pools:
            update_pool(state, agent)


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
        update_pool(state, agent)


def wait_for_slot(state: State, task: Task) -> None:
    """Let a parked attempt wait for a slot of its agent, in order to resume."""
    attempt = task.attempt
    assert attempt is not None
    count_time(state, task)
    if attempt.back_seq is None:  # an attempt that migrates may be waiting already
        attempt.back_seq, attempt.back_ms = state.seq, state.at_ms
        _count_back(state, task, attempt, 1)


def stop_waiting_for_slot(state: State, task: Task) -> None:
    """Stop waiting for a slot, if the attempt does."""
    attempt = task.attempt
    if attempt is not None and attempt.back_seq is not None:
        count_time(state, task)
        attempt.back_seq = None
        _count_back(state, task, attempt, -1)


def _count_back(state: State, task: Task, attempt: Attempt, by: int) -> None:
    queue = state.queues[back_queue(attempt.agent_id or "")]
    queue.ready += by
    mark_changed(state, task)
    if state.pools:
        update_pools(state, queue)


def _keep_pace(state: State, queue: Queue, agent: Agent) -> None:
    """Advance the stride of an agent; one that was away does not catch up.

    All strides restart with each engine.

    Source: C. A. Waldspurger, W. E. Weihl, "Stride Scheduling: Deterministic Proportional-Share Resource Management",
    MIT/LCS/TM-528, 1995.
    """
    # The pace of the queue is its virtual time: an agent whose own pace is older starts from here, not from its past.
    if agent.pace > queue.pace:
        queue.pace = agent.pace
    weight = state.specs[agent.spec].weight
    agent.pace = queue.pace + (STRIDE if weight == 1 else round(STRIDE / weight))


def set_slots(state: State, agent: Agent, spec: AgentSpec) -> None:
    """Set the slots of `agent` from `spec`, keeping its number of instances within the bounds of the pool."""
    forget_pool(state, agent)
    if spec.pool is None:
        agent.size = 1
    else:
        agent.size = min(max(agent.size, spec.pool.min), spec.pool.max)
        state.pools[agent.id] = 0
    agent.max_concurrency = agent.size * spec.max_concurrency


def forget_pool(state: State, agent: Agent) -> None:
    """Stop treating `agent` as a pool."""
    if state.pools.pop(agent.id, None) is not None:
        drop_timer(state, "pool", agent.id)
        agent.idle_ms = None


def update_pool(state: State, agent: Agent) -> None:
    """Update since when a pool has an instance that could be removed."""
    if not can_shrink(state, agent):
        agent.idle_ms = None
    elif agent.idle_ms is None:
        agent.idle_ms = state.at_ms
    if state.schedule is not None:
        state.schedule.agents[agent.id] = agent


def update_pools(state: State, queue: Queue) -> None:
    """Update the pools that take from `queue`, whose number of ready tasks has changed."""
    pools, agents = state.pools, queue.agents
    # Iterate over the smaller one: a team may have thousands of agents and one pool, or the reverse.
    candidates = agents if len(agents) <= len(pools) else [agent_id for agent_id in pools if agent_id in agents]
    for agent_id in candidates:
        if agent_id in pools:
            update_pool(state, state.agents[agent_id])


def pool_resized(state: State, event: PoolResized) -> Agent:
    """Set the number of instances; the caller updates whether the agent takes tasks."""
    agent = state.agents[event.agent_id]
    agent.size = event.size
    agent.max_concurrency = event.size * state.specs[agent.spec].max_concurrency
    # Idle instances count as idle from now on: the pool shrinks by one at a time, and never right after it has grown.
    agent.idle_ms = None
    drop_timer(state, "pool", agent.id)
    return agent


def pool_watched(state: State, event: PoolWatched) -> None:
    """Set or drop the idle timer of a pool."""
    if event.due_ms is None:
        drop_timer(state, "pool", event.agent_id)
    else:
        set_timer(state, "pool", event.agent_id, event.due_ms)
    update_pool(state, state.agents[event.agent_id])


_PRECEDENCE: dict[StopReason | None, int] = {
    None: 0,
    "migrate": 1,
    "pause": 2,
    "limit": 3,
    "preempt": 4,
    "crash": 5,
    "restart": 6,
    "requeue": 7,
    "cancel": 8,
}
"""Precedence of the reasons to stop: the largest number, with the most drastic outcome, wins."""


def ask_to_stop(task: Task, reason: StopReason) -> None:
    """Record why the attempt of `task`, if any, has to stop; of several reasons the strongest counts."""
    attempt = task.attempt
    if attempt is not None:
        attempt.stopping = stronger_reason(attempt.stopping, reason)


def stronger_reason(reason: StopReason | None, other: StopReason | None) -> StopReason | None:
    """Return which of two reasons to stop counts."""
    return max(reason, other, key=_PRECEDENCE.__getitem__)
