"""Fold: how many instances a pool has, and since when one of them has had nothing to do.

Which pools have to be looked at is in the schedule (`Schedule.resizable`): one that has to grow, or of which an
instance that may go has nothing to do while no timer watches it. So nothing is searched, and nothing polls.
"""

from engine.core.events import PoolResized, PoolWatched
from engine.core.fold.timers import drop_timer, set_timer
from engine.core.spec import AgentSpec
from engine.core.state import Agent, Queue, State


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
    # Whoever has nothing to do has it from now on: one goes after another, and none right after one came.
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
