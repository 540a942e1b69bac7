"""Ranks the specs of the registry that agents could be swapped for, by matching specialties and past success."""

from collections.abc import Sequence

from engine.core.discovery.candidate import success_rate
from engine.core.queries.team.fits import Fit, fits_of_spec
from engine.core.state import Agent, State


def replacements(state: State, agents: Sequence[Agent]) -> list[str]:
    """Return the names in the registry that any of these agents could be swapped for, best first.

    Ordered by how many of their specialties a spec names, then by how many its claims contain, then by the success of
    agents with that spec.
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
    """Return the specialties of an agent that a spec of the registry matches, with the kind of match."""
    return fits_of_spec(state.specs[state.registry[name]], name, state.spec_of(agent).specialties)


def attempt_counts(state: State, name: str) -> tuple[int, int]:
    """Return the numbers of done and of failed attempts of all agents with a spec of the registry."""
    agents = [agent for agent in state.agents.values() if agent.spec == state.registry[name]]
    return sum(agent.done for agent in agents), sum(agent.failed for agent in agents)
