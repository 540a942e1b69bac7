"""What agents claim to be able to do, compared with what is asked for: a name or a capability."""

from enum import IntEnum

from engine.core.candidate import Candidate, names_it, suits
from engine.core.spec import AgentSpec
from engine.core.state import Agent, State


class Fit(IntEnum):
    """How well an agent answers to what is asked for; of several, those that fit best do the work."""

    NAME = 0
    """It is asked by its name."""
    SPECIALTY = 1
    """The capability is one of its specialties."""
    CLAIM = 2
    """Something that it claims holds all words of the capability."""


def fit_of(state: State, agent: Agent, target: str) -> Fit | None:
    """Return how well an agent answers to a name or a capability; None where it does not."""
    if agent.name == target:
        return Fit.NAME
    candidate = candidate_of(state, agent)
    if names_it(candidate, target):
        return Fit.SPECIALTY
    return Fit.CLAIM if suits(candidate, target) else None


def candidate_of(state: State, agent: Agent) -> Candidate:
    """Return what the choice of agents looks at."""
    return candidate_from(
        state.spec_of(agent),
        agent.id,
        agent.name,
        done=agent.done,
        failed=agent.failed,
        load=len(agent.running) + len(agent.parked),
        age=agent.created_seq,
    )


def tool_name(tool: object) -> str:
    """Return what a tool is called: its reference, or the name of a callable."""
    return tool if isinstance(tool, str) else str(getattr(tool, "__name__", type(tool).__name__))


def candidate_from(
    spec: AgentSpec, agent_id: str, name: str, *, done: int = 0, failed: int = 0, load: int = 0, age: int = 0
) -> Candidate:
    """Return what the choice of agents looks at, for a spec that may have no agent yet."""
    return Candidate(
        id=agent_id,
        name=name,
        specialties=tuple(spec.specialties),
        description=spec.description,
        tools=tuple(map(tool_name, spec.tools)),
        category=spec.category,
        done=done,
        failed=failed,
        load=load,
        age=age,
    )
