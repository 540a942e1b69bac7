"""Who is able to work: present, not in error, with budget left, behind no open circuit, and not about to leave.

The one rule for choosing an agent for work. A pause does not count: an operator made it and will end it, so work may
wait for an agent that is paused; likewise for one whose code is in a program that is not running.
"""

from collections.abc import Collection, Iterator

from engine.core.queries.tree import above_of, agents_of
from engine.core.spec import BOUND
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
    """Return True for a team with an able member: a team can do what its members can do."""
    return any(is_able(state, agent) for agent in agents_of(state, supervisor.id))


AWAY = "its code is in a program that is not running; run that program again"
"""What is said of an agent that is away, after its name."""


def bound_elsewhere(state: State, here: Collection[str] = ()) -> Iterator[Agent]:
    """Yield the agents that call what is bound to a program.

    Args:
        state: Where the agents are.
        here: References of the program that asks: what they stand for is there.
    """
    for agent in state.agents.values():
        spec = state.spec_of(agent)
        for said in (spec.run, *spec.tools):
            if isinstance(said, str) and said.startswith(BOUND) and said not in here:
                yield agent
                break
