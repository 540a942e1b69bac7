"""Who is able to work: present, not in error, with budget left, behind no shut circuit, and not about to leave.

The one rule for whoever chooses an agent for work. A pause does not count: an operator made it and will end it, so
work may wait for whoever is paused; likewise for an agent whose code is away, until its program runs again.
"""

from engine.core.hierarchy import above_of, below_of
from engine.core.state import Agent, State, Supervisor


def why_not_able(state: State, agent: Agent) -> str | None:
    """Return why no work can be chosen for an agent now, in words that follow its name; None where it can."""
    if agent.removing is not None:
        return "is being removed"
    if agent.error is not None:
        return f"cannot work: {agent.error}"
    if agent.exhausted is not None:
        return f"may spend no more: {agent.exhausted}"
    if agent.is_shut:
        return "keeps failing, and its circuit is open"
    why = why_team_is_not_able(state, state.supervisors[agent.supervisor_id])
    return None if why is None else f"cannot work: {why}"


def is_able(state: State, agent: Agent) -> bool:
    """Return True for an agent that work can be chosen for."""
    if agent.removing is not None or agent.error is not None or agent.exhausted is not None or agent.is_shut:
        return False
    return why_team_is_not_able(state, state.supervisors[agent.supervisor_id]) is None


def why_team_is_not_able(state: State, supervisor: Supervisor) -> str | None:
    """Return the error, or the spent budget, of a supervisor or one above it; None where all of them may go on."""
    for one in above_of(state, supervisor):
        if one.error is not None or one.exhausted is not None:
            return one.error or one.exhausted
    return None


def has_anybody_able(state: State, supervisor: Supervisor) -> bool:
    """Return True for a team in which anybody is able: a team can do what its members can do."""
    return any(
        is_able(state, state.agents[member_id])
        for below in below_of(state, supervisor)
        for member_id in below.members
        if member_id in state.agents
    )
