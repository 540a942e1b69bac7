"""How large a pool is: it grows while too much waits for each instance, and shrinks while one has nothing to do.

A decision adds one instance; a flood brings the next one in the same step, once the new one has taken what it can. A
timer watches idle instances, one for each pool and none while all of them work.
"""

from engine.core.context import Context
from engine.core.events import Event, PoolResized, PoolWatched
from engine.core.fold.pools import must_grow, waiting_for
from engine.core.prompts import LookAtPool
from engine.core.spec import Pool
from engine.core.state import Agent, State, Timer


def look_at_pool(state: State, prompt: LookAtPool, ctx: Context) -> list[Event]:
    """Add an instance to a pool that has to grow, or begin to watch one that has nothing to do."""
    agent = state.agents[prompt.agent_id]
    if must_grow(state, agent):
        waiting, instances = waiting_for(state, agent), "instance" if agent.size == 1 else "instances"
        reason = f"{waiting:,} wait{'s' if waiting == 1 else ''} for {agent.size:,} {instances}"
        return [_resized(agent, agent.size + 1, reason)]
    assert agent.idle_ms is not None
    due_ms = agent.idle_ms + _idle_ms(state, agent)
    return [PoolWatched(agent_id=agent.id, due_ms=due_ms)]


def watched(state: State, timer: Timer, ctx: Context) -> list[Event]:
    """Take an instance away that has had nothing to do all the time; else watch on, or no more."""
    agent = state.agents[timer.subject]
    if agent.idle_ms is None:
        return [PoolWatched(agent_id=agent.id, due_ms=None)]
    due_ms = agent.idle_ms + _idle_ms(state, agent)
    if due_ms > ctx.now_ms:
        return [PoolWatched(agent_id=agent.id, due_ms=due_ms)]
    return [_resized(agent, agent.size - 1, f"idle for {_pool(state, agent).idle_s:g} s")]


def _resized(agent: Agent, size: int, reason: str) -> PoolResized:
    return PoolResized(agent_id=agent.id, size=size, previous=agent.size, reason=reason)


def _pool(state: State, agent: Agent) -> Pool:
    pool = state.spec_of(agent).pool
    assert pool is not None
    return pool


def _idle_ms(state: State, agent: Agent) -> int:
    return max(1, round(_pool(state, agent).idle_s * 1000))
