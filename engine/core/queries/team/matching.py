"""Matches agents with a name, a capability or the text of a request.

The words of a set of agents are indexed once and cached by the hashes of their specs; performance figures are read from
the present state.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from functools import lru_cache, partial

from typing_extensions import override

from engine.core.discovery.candidate import Candidate, names_capability, suits
from engine.core.discovery.capability_index import CapabilityIndex
from engine.core.discovery.choosing import AgentChoice, choose
from engine.core.discovery.ranks import Rank, rank_of
from engine.core.queries.money.budget import budgets, is_limited, paying_subjects
from engine.core.queries.team.able import is_able
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


MAX_CACHED_INDEXES = 8
"""Limit on cached indexes."""


class _Key:
    """Cache key of an index: the agents and their spec hashes, hashed once.

    `specs` serves only to build the index; it is dropped then, because the key outlives the state.
    """

    __slots__ = ("hash", "members", "specs")

    def __init__(self, members: tuple[tuple[str, str, str], ...], specs: Mapping[str, AgentSpec]) -> None:
        self.members = members
        self.specs: Mapping[str, AgentSpec] | None = specs
        self.hash = hash(members)

    @override
    def __hash__(self) -> int:
        return self.hash

    @override
    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self.members == other.members


def index_of(state: State, agents: Sequence[Agent]) -> CapabilityIndex:
    """Return the index of `agents`, with ties broken by their present performance."""
    key = _Key(tuple([(agent.id, agent.name, agent.spec) for agent in agents]), state.specs)
    return _index_of(key).ranked_by(partial(_rank, state))


def choose_agents(state: State, agents: Sequence[Agent], text: str, limit: int) -> AgentChoice:
    """Return the agents that a request needs; one that cannot begin now only for words that no other agent claims."""
    able = [agent for agent in agents if can_begin(state, agent)]
    first = index_of(state, able) if len(able) < len(agents) else None
    return choose(text, index_of(state, agents), limit=limit, first=first)


def can_begin(state: State, agent: Agent) -> bool:
    """Return whether an agent is able and its budgets allow another attempt."""
    if not is_able(state, agent):
        return False
    # `is_able` does not know this yet: a budget of attempts is declared exhausted only when the next one would begin.
    if not is_limited(state, None, None, agent):
        return True
    paying = paying_subjects(state, None, None, agent)
    return all(budget.spent < budget.limit for subject in paying for budget in budgets(state, subject))


def _rank(state: State, agent_id: str) -> Rank:
    agent = state.agents[agent_id]
    load = len(agent.running) + len(agent.parked)
    return rank_of(agent.id, agent.name, agent.done, agent.failed, load, agent.created_seq)


@lru_cache(maxsize=MAX_CACHED_INDEXES)
def _index_of(key: _Key) -> CapabilityIndex:
    specs, key.specs = key.specs, None
    assert specs is not None
    return CapabilityIndex(candidate_from(specs[spec], agent_id, name) for agent_id, name, spec in key.members)
