"""Sizes of pools: when to add an instance, and when one could be removed."""

from engine.core.state import Agent, State


def waiting_for(state: State, agent: Agent) -> int:
    """Return how many tasks `agent` could take, including attempts that wait to resume."""
    return sum(state.queues[key].ready for key in agent.queues)


def must_grow(state: State, agent: Agent) -> bool:
    """Return whether a pool is full, below `max`, and has more than `grow_at` waiting tasks for each instance."""
    pool = state.specs[agent.spec].pool
    if pool is None or agent.size >= pool.max or not _can_work(agent) or agent.has_room:
        return False
    return waiting_for(state, agent) > pool.grow_at * agent.size


def can_shrink(state: State, agent: Agent) -> bool:
    """Return whether an instance is idle and could be removed without having to be added again at once."""
    spec = state.specs[agent.spec]
    pool, fewer = spec.pool, agent.size - 1
    if pool is None or fewer < pool.min or agent.removing is not None:
        return False
    used, slots = len(agent.running) + agent.stuck, fewer * spec.max_concurrency
    if used > slots:
        return False
    # The rule of growth for one instance less: otherwise the pool would alternate between two sizes.
    return used < slots or not _can_work(agent) or waiting_for(state, agent) <= pool.grow_at * fewer


def _can_work(agent: Agent) -> bool:
    is_unable = agent.error is not None or agent.is_shut or agent.exhausted is not None or agent.removing is not None
    return not (agent.paused or agent.away or is_unable)
