"""The words of a crew, looked up once for as long as nobody joins, leaves or becomes another.

What agents say about themselves is in their specs, whose hashes are the key; how they do is looked up in the state of
the moment, and only of those between whom it decides.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache, partial

from engine.core.budget import budgets, is_limited, touched
from engine.core.capability_index import CapabilityIndex, Rank, rank_of
from engine.core.discovery import Choice, choose
from engine.core.queries.able import is_able
from engine.core.queries.suiting import candidate_from
from engine.core.spec import AgentSpec
from engine.core.state import Agent, State

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
    """Return whether an agent is able, and whoever pays for its next attempt may still begin one.

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
