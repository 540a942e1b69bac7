"""Which agents are able: present, not in error, with budget left, behind no open circuit, and not leaving.

Work is only placed with able agents. Paused and away agents are able: an operator will end the pause, or start the
program with the code, so their work waits.
"""

from collections.abc import Collection, Iterator

from engine.core.queries.team.tree import agents_of, lineage_of
from engine.core.specs.spec import BOUND
from engine.core.state import Agent, State, Supervisor


def why_not_able(state: State, agent: Agent) -> str | None:
    """Return why an agent is not able, in words that follow its name; None if it is."""
    if agent.removing is not None:
        return "is being removed"
    if agent.error is not None:
        return f"cannot work: {agent.error}"
    if agent.exhausted is not None:
        return f"may spend no more: {agent.exhausted}"
    if agent.is_shut:
        return "keeps failing, and its circuit is open"
    reason = why_team_is_not_able(state, state.supervisors[agent.supervisor_id])
    return None if reason is None else f"cannot work: {reason}"


def is_able(state: State, agent: Agent) -> bool:
    """Return whether an agent is able."""
    return why_not_able(state, agent) is None


def why_team_is_not_able(state: State, supervisor: Supervisor) -> str | None:
    """Return the error or spent budget of a supervisor or of one above it, if any."""
    for ancestor in lineage_of(state, supervisor):
        if ancestor.error is not None or ancestor.exhausted is not None:
            return ancestor.error or ancestor.exhausted
    return None


def has_able_agent(state: State, supervisor: Supervisor) -> bool:
    """Return whether a team has an able agent."""
    return any(is_able(state, agent) for agent in agents_of(state, supervisor.id))


AWAY = "its code is in a program that is not running, or was edited; run that program again, or: quarterdeck up TEAM"
"""Why an away agent does not work, in words that follow its name."""


def why_away(agent: Agent) -> str:
    """Return why an away agent does not work: the reason that its engine reported, else the usual one."""
    return agent.away_reason or AWAY


def agents_bound_elsewhere(state: State, own_references: Collection[str] = ()) -> Iterator[Agent]:
    """Yield the agents that use callables bound to a program other than the one with `own_references`."""
    for agent in state.agents.values():
        spec = state.spec_of(agent)
        for function in (spec.run, *spec.tools):
            if isinstance(function, str) and function.startswith(BOUND) and function not in own_references:
                yield agent
                break
