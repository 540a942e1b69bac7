"""Which specs of the registry agents could be swapped for, by what a request for work goes by."""

from collections.abc import Sequence

from engine.core.discovery.candidate import success_rate
from engine.core.queries.team.suiting import Fit, fits_of_spec
from engine.core.state import Agent, State


def replacements(state: State, agents: Sequence[Agent]) -> list[str]:
    """Return the names in the registry that any of these agents could be swapped for, the likeliest first.

    First by specialties of theirs that a spec names, then by those that one of its claims contains, then by how well
    agents with it have done.
    """
    types = {state.spec_of(agent).agent_type for agent in agents}
    current_specs = {agent.spec for agent in agents}

    def distance(name: str) -> tuple[int, int, bool, float, str]:
        fits = [fits_of(state, agent, name) for agent in agents]
        named = sum(fit is Fit.SPECIALTY for fit_by_specialty in fits for fit in fit_by_specialty.values())
        is_other = state.specs[state.registry[name]].agent_type not in types
        return (-named, -sum(map(len, fits)), is_other, -success_rate(*attempt_counts(state, name)), name)

    others = [
        name for name, content in state.registry.items() if content not in current_specs and content in state.specs
    ]
    return sorted(others, key=distance)


def fits_of(state: State, agent: Agent, name: str) -> dict[str, Fit]:
    """Return the specialties of an agent that a spec of the registry matches, and how."""
    return fits_of_spec(state.specs[state.registry[name]], name, state.spec_of(agent).specialties)


def attempt_counts(state: State, name: str) -> tuple[int, int]:
    """Return how many attempts ended well and how many failed, of all agents with a spec of the registry."""
    users = [agent for agent in state.agents.values() if agent.spec == state.registry[name]]
    return sum(user.done for user in users), sum(user.failed for user in users)
