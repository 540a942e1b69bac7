"""Whether one agent matches a name or a capability.

Apart from `matching.py`: its index of many agents is slow to import, and a process that only reads needs none.
"""

from collections.abc import Iterable
from enum import IntEnum

from engine.core.discovery.candidate import Candidate, names_capability, suits
from engine.core.specs.spec import AgentSpec
from engine.core.state import Agent, State


class Fit(IntEnum):
    """How well an agent matches a target; smaller is better."""

    NAME = 0
    """The target is its name."""
    SPECIALTY = 1
    """The target is one of its specialties."""
    CLAIM = 2
    """One of its claims contains all words of the target."""


def fit_of(state: State, agent: Agent, target: str) -> Fit | None:
    """Return how well an agent matches a name or capability; None if it does not."""
    if agent.name == target:
        return Fit.NAME
    return _fit(candidate_of(state, agent), target)


def fits_of_spec(spec: AgentSpec, name: str, targets: Iterable[str]) -> dict[str, Fit]:
    """Return the `targets` that an agent with a spec would match, with the kind of match."""
    candidate = candidate_from(spec, "", name)
    return {target: fit for target in targets if (fit := _fit(candidate, target)) is not None}


def _fit(candidate: Candidate, target: str) -> Fit | None:
    if names_capability(candidate, target):
        return Fit.SPECIALTY
    return Fit.CLAIM if suits(candidate, target) else None


def candidate_of(state: State, agent: Agent) -> Candidate:
    """Return an agent as a candidate for matching."""
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
    """Return the name of a tool: its reference, or the name of a callable."""
    return tool if isinstance(tool, str) else str(getattr(tool, "__name__", type(tool).__name__))


def candidate_from(
    spec: AgentSpec, agent_id: str, name: str, *, done: int = 0, failed: int = 0, load: int = 0, age: int = 0
) -> Candidate:
    """Return a spec as a candidate for matching; it may have no agent yet."""
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
