"""Compares what agents claim to be able to do with a name, a capability or the text of a request.

The words of a team are indexed once, by the hashes of its specs, until an agent joins, leaves or is swapped; how the
agents perform is read from the current state.
"""

from collections.abc import Mapping, Sequence
from enum import IntEnum
from functools import lru_cache, partial

from engine.core.candidate import Candidate, names_it, suits
from engine.core.capability_index import CapabilityIndex, Rank, rank_of
from engine.core.discovery import Choice, choose
from engine.core.limits.budget import budgets, is_limited, touched
from engine.core.queries.able import is_able
from engine.core.spec import AgentSpec
from engine.core.state import Agent, State


class Fit(IntEnum):
    """How well an agent matches a request; of several, the best matches do the work."""

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


CREWS = 8
"""Crews whose words are remembered."""


class _Crew:
    """Who is in it, as a key; the specs are those that its hashes name."""

    __slots__ = ("hash", "members", "specs")

    def __init__(self, members: tuple[tuple[str, str, str], ...], specs: Mapping[str, AgentSpec]) -> None:
        self.members = members
        self.specs: Mapping[str, AgentSpec] | None = specs
        self.hash = hash(members)

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Crew) and self.members == other.members


def index_of(state: State, agents: Sequence[Agent]) -> CapabilityIndex:
    """Return the index of `agents`, in which equals go in the order of how they do now."""
    crew = _Crew(tuple([(agent.id, agent.name, agent.spec) for agent in agents]), state.specs)
    return _words_of(crew).ranked_by(partial(_rank, state))


def chosen_for(state: State, agents: Sequence[Agent], text: str, limit: int) -> Choice:
    """Return who of `agents` a request needs; those who cannot work now only for what nobody else claims."""
    able = [agent for agent in agents if can_begin(state, agent)]
    first = index_of(state, able) if len(able) < len(agents) else None
    return choose(text, index_of(state, agents), limit=limit, first=first)


def can_begin(state: State, agent: Agent) -> bool:
    """Return whether an agent is able, and the budgets that pay for its next attempt allow one.

    Only that attempt finds the budget spent.
    """
    if not is_able(state, agent):
        return False
    if not is_limited(state, None, None, agent):
        return True
    paying = touched(state, None, None, agent)
    return all(budget.spent < budget.limit for subject in paying for budget in budgets(state, subject))


def _rank(state: State, agent_id: str) -> Rank:
    agent = state.agents[agent_id]
    load = len(agent.running) + len(agent.parked)
    return rank_of(agent.id, agent.name, agent.done, agent.failed, load, agent.created_seq)


@lru_cache(maxsize=CREWS)
def _words_of(crew: _Crew) -> CapabilityIndex:
    specs, crew.specs = crew.specs, None  # the key outlives the state that it was made from
    assert specs is not None
    return CapabilityIndex(candidate_from(specs[spec], agent_id, name) for agent_id, name, spec in crew.members)
