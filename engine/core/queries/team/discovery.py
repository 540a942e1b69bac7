"""What a supervisor looks for outside its team, and who of those found may join it."""

from collections.abc import Iterable, Sequence

from engine.core.discovery.capability_index import CapabilityIndex
from engine.core.discovery.choosing import choose
from engine.core.discovery.match import Match
from engine.core.queries.team.fits import candidate_from
from engine.core.queries.team.matching import choose_agents, index_of
from engine.core.queries.team.participants import member_by_agent, members_in
from engine.core.records.records import copy_with, fact
from engine.core.records.values import pluralize
from engine.core.signals import FoundSpec
from engine.core.specs.discovery import AgentDiscoveryMode, DiscoveryConfig
from engine.core.state import Agent, State, Supervisor

MAX_WORDS_SOUGHT = 24
"""Words of a long request that are looked for."""


@fact
class Offer:
    """Those found that suit a request and may join the team, best first, with all that matched."""

    matches: list[Match]
    chosen: list[FoundSpec]


def agents_to_choose_from(state: State, supervisor: Supervisor) -> list[Agent]:
    """Return the agents below the members of a supervisor."""
    return [state.agents[agent_id] for agent_id in member_by_agent(state, members_in(state, supervisor))]


def words_to_find(state: State, supervisor: Supervisor, text: str) -> list[str]:
    """Return the words of a request that no agent of the team knows, each once; empty where nothing is searched."""
    if not (supervisor.auto_discover and supervisor.discovery.searches):
        return []
    index = index_of(state, agents_to_choose_from(state, supervisor))
    unknown = (word.text for word in index.parse_request(text) if not word.grants)
    return list(dict.fromkeys(unknown))[:MAX_WORDS_SOUGHT]


def registered_specs(state: State, supervisor: Supervisor) -> list[FoundSpec]:
    """Return the specs of the registry, where they may be found, except the template of new agents."""
    config = supervisor.discovery
    if not config.uses(AgentDiscoveryMode.REGISTRY):
        return []
    return [
        FoundSpec(source=AgentDiscoveryMode.REGISTRY, id=name, hash=key, spec=state.specs[key])
        for name, key in state.registry.items()
        if name != config.template
    ]


def offer_of(state: State, supervisor: Supervisor, text: str, found: Iterable[FoundSpec], *, room: int) -> Offer:
    """Choose among those found: each covers words that neither the team nor another one covers.

    Args:
        text: The request.
        found: What was found; specs that the team has are left out.
        room: Most agents that may join.
    """
    config = supervisor.discovery
    agents = agents_to_choose_from(state, supervisor)
    present = {agent.spec for agent in agents}
    by_id = {f"{each.source}:{each.id}": each for each in found if each.hash not in present}
    candidates = {key: candidate_from(each.spec, key, each.spec.name) for key, each in by_id.items()}
    team = choose_agents(state, agents, text, config.max_matches).matches
    members = [candidate_from(state.spec_of(agent), agent.id, agent.name) for agent in agents_named(state, team)]
    reach = CapabilityIndex([*members, *candidates.values()])
    scores = reach.search(text, len(members) + len(candidates))
    matches = [
        copy_with(match, id=by_id[match.id].id, source=by_id[match.id].source.value) if match.id in by_id else match
        for match in scores
    ]
    worthy = [candidates[match.id] for match in scores if match.id in by_id and match.score >= config.min_score]
    limit = min(room, config.max_matches - len(team))
    joint = CapabilityIndex([*members, *worthy])
    choice = choose(text, joint, limit=len(members) + limit, first=CapabilityIndex(members)) if limit > 0 else None
    chosen = [by_id[match.id] for match in choice.matches if match.id in by_id] if choice is not None else []
    return Offer(matches=matches[: config.max_matches + len(members)], chosen=chosen)


def agents_named(state: State, matches: Sequence[Match]) -> list[Agent]:
    """Return the agents of matches within the team."""
    return [state.agents[match.id] for match in matches]


def describe_search(config: DiscoveryConfig) -> str:
    """Return where agents are searched, in words, for a preview: `would search the catalogue`."""
    places = [_PLACES[mode] for mode in _PLACES if config.uses(mode)]
    if not config.searches or not places:
        return ""
    return f"would search {' and '.join([', '.join(places[:-1]), places[-1]] if len(places) > 1 else places)}"


_PLACES = {
    AgentDiscoveryMode.CATALOGUE: "the catalogue",
    AgentDiscoveryMode.COMPONENT: "the installed packages",
    AgentDiscoveryMode.MCP: "the tool servers",
    AgentDiscoveryMode.RAG: "the documents",
    AgentDiscoveryMode.DYNAMIC: "nothing and make an agent",
}


def describe_found(found: Sequence[FoundSpec]) -> str:
    """Return the names of those found, with where, for a question or a sentence."""
    names = ", ".join(f"{each.spec.name} ({each.source})" for each in found[:3])
    return names if len(found) <= 3 else f"{names} and {pluralize(len(found) - 3, 'more agent')}"
