"""Room for one more where a supervisor is full: the agent goes that has been idle for longest, never one at work."""

from engine.core.errors import Refused
from engine.core.queries.queues import own_queue
from engine.core.state import Agent, State, Supervisor


def room_for_one(state: State, supervisor: Supervisor, *, evict: bool) -> Agent | None:
    """Return who has to go before another agent can come; None while there is room.

    Raises:
        Refused: If the supervisor is full, and nobody may go.
    """
    living = [state.agents[member_id] for member_id in supervisor.members if member_id in state.agents]
    if len(living) < supervisor.max_agents:
        return None
    full = f"supervisor {supervisor.name!r} has {len(living)} of at most {supervisor.max_agents} agents"
    if not evict:
        raise Refused(f"{full}; remove one first")
    wanted = {task.queue for task in state.tasks.values() if not task.ended}
    idle = [agent for agent in living if _may_go(state, supervisor, agent, wanted)]
    if not idle:
        raise Refused(f"{full}, and none of them is idle; remove one, or wait")
    return min(idle, key=lambda agent: (agent.idle_since_ms, agent.created_seq))


def _may_go(state: State, supervisor: Supervisor, agent: Agent, wanted: set[str | None]) -> bool:
    """Tell whether nothing is at work on an agent, nothing waits for it, and its supervisor does not name it."""
    if agent.running or agent.parked or agent.stuck or agent.removing is not None:
        return False
    if own_queue(agent.id) in wanted or any(_needs(state, key, agent) for key in agent.queues if key in wanted):
        return False
    named = (supervisor.aggregator, supervisor.default_agent, supervisor.options.lead, *(supervisor.participants or ()))
    return agent.name not in named


def _needs(state: State, key: str, agent: Agent) -> bool:
    return state.queues[key].agents == [agent.id]
