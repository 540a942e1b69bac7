"""Matches agents with the text of a request.

The words of a set of agents are indexed once and cached by the hashes of their specs; performance figures are read from
the present state.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache, partial

from typing_extensions import override

from engine.core.discovery.candidate import Rank, rank_of
from engine.core.discovery.capability_index import CapabilityIndex
from engine.core.discovery.choosing import AgentChoice, choose
from engine.core.queries.money.budget import budgets, is_limited, paying_subjects
from engine.core.queries.team.able import is_able
from engine.core.queries.team.fits import candidate_from
from engine.core.specs.spec import AgentSpec
from engine.core.state import Agent, State

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
