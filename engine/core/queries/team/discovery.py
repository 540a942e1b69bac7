"""What a supervisor looks for outside its team, and who of those found may join it."""

from collections.abc import Iterable, Mapping, Sequence

from engine.core.discovery.capability_index import CapabilityIndex
from engine.core.discovery.choosing import choose
from engine.core.discovery.match import Match
from engine.core.queries.team.fits import candidate_from, candidate_of
from engine.core.queries.team.matching import choose_agents, index_of
from engine.core.queries.team.participants import member_by_agent, members_in, strategy_key
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


def words_to_find(state: State, supervisor: Supervisor, text: str, category: str | None) -> list[str]:
    """Return the words of a request that no agent of the team knows, each once; empty where nothing is searched."""
    if not (supervisor.auto_discover and supervisor.discovery.searches):
        return []
    if supervisor.options.strategies:
        key, _ = strategy_key(state, supervisor, members_in(state, supervisor), text, category)
        if key is not None:  # its category chooses the members
            return []
    index = index_of(state, agents_to_choose_from(state, supervisor))
    unknown = (word.text for word in index.parse_request(text) if not word.grants)
    return list(dict.fromkeys(unknown))[:MAX_WORDS_SOUGHT]


def registered_specs(state: State, config: DiscoveryConfig) -> list[FoundSpec]:
    """Return the specs of the registry, where they may be found, except the template of new agents."""
    if not config.uses(AgentDiscoveryMode.REGISTRY):
        return []
    return [
        FoundSpec(source=AgentDiscoveryMode.REGISTRY, id=name, hash=key, spec=state.specs[key])
        for name, key in state.registry.items()
        if name != config.template
    ]


def matches_of(state: State, agents: Sequence[Agent], found: Iterable[FoundSpec], text: str, limit: int) -> list[Match]:
    """Return the best of some agents and of what was found, by the words of a request."""
    by_key = _by_key(agents, found)
    candidates = [candidate_of(state, agent) for agent in agents]
    candidates += [candidate_from(each.spec, key, each.spec.name) for key, each in by_key.items()]
    return [_with_source(match, by_key) for match in CapabilityIndex(candidates).search(text, limit)]


def _by_key(agents: Iterable[Agent], found: Iterable[FoundSpec]) -> dict[str, FoundSpec]:
    """Return what was found by an id that no agent has, without specs that an agent has."""
    present = {agent.spec for agent in agents}
    return {f"{each.source}:{each.id}": each for each in found if each.hash not in present}


def _with_source(match: Match, by_key: Mapping[str, FoundSpec]) -> Match:
    found = by_key.get(match.id)
    return match if found is None else copy_with(match, id=found.id, source=found.source.value)


def matches_in_team(state: State, supervisor: Supervisor, text: str) -> Sequence[Match]:
    """Return the agents of the team that a request is given to by its words."""
    agents = agents_to_choose_from(state, supervisor)
    return choose_agents(state, agents, text, supervisor.discovery.max_matches).matches


def offer_of(state: State, supervisor: Supervisor, text: str, found: Iterable[FoundSpec], *, room: int) -> Offer:
    """Choose among those found: each covers words that neither the team nor another one covers.

    Args:
        text: The request.
        found: What was found; specs that the team has are left out.
        room: Most agents that may join.
    """
    config = supervisor.discovery
    by_id = _by_key(agents_to_choose_from(state, supervisor), found)
    candidates = {key: candidate_from(each.spec, key, each.spec.name) for key, each in by_id.items()}
    team = matches_in_team(state, supervisor, text)
    members = [
        candidate_from(state.spec_of(agent), agent.id, agent.name)
        for agent in (state.agents[match.id] for match in team)
    ]
    reach = CapabilityIndex([*members, *candidates.values()])
    scores = reach.search(text, len(members) + len(candidates))
    matches = [_with_source(match, by_id) for match in scores]
    worthy = [candidates[match.id] for match in scores if match.id in by_id and match.score >= config.min_score]
    limit = min(room, config.max_matches - len(team))
    joint = CapabilityIndex([*members, *worthy])
    choice = choose(text, joint, limit=len(members) + limit, first=CapabilityIndex(members)) if limit > 0 else None
    chosen = [by_id[match.id] for match in choice.matches if match.id in by_id] if choice is not None else []
    return Offer(matches=matches[: config.max_matches + len(members)], chosen=chosen)


def search_faults(supervisor: Supervisor, group_id: str) -> list[str]:
    """Return the first three reasons why searches for a graph brought nobody."""
    return [fault for each in supervisor.discoveries if each.task_id == group_id for fault in each.faults][:3]


def near_misses(supervisor: Supervisor, group_id: str) -> list[str]:
    """Return the best three that were found for a graph and may not join, with what they cover."""
    matches = [match for each in supervisor.discoveries if each.task_id == group_id for match in each.matches]
    return [f"{match.name} ({match.source}, {match.score:.2f})" for match in matches[:3]]


def describe_search(config: DiscoveryConfig) -> str:
    """Return where agents are searched, in words, for a preview: `would search the catalogue`."""
    if not config.searches:
        return ""
    outside = (mode for mode in PLACES if mode not in (AgentDiscoveryMode.REGISTRY, AgentDiscoveryMode.DYNAMIC))
    places = [PLACES[mode] for mode in outside if config.uses(mode)]
    found = f"search {' and '.join([', '.join(places[:-1]), places[-1]] if len(places) > 1 else places)}"
    made = "make an agent" if config.uses(AgentDiscoveryMode.DYNAMIC) else ""
    return f"would {', or '.join(part for part in (found if places else '', made) if part)}"


PLACES = {
    AgentDiscoveryMode.REGISTRY: "the registry",
    AgentDiscoveryMode.CATALOGUE: "the catalogue",
    AgentDiscoveryMode.COMPONENT: "the installed packages",
    AgentDiscoveryMode.MCP: "the tool servers",
    AgentDiscoveryMode.RAG: "the documents",
    AgentDiscoveryMode.DYNAMIC: "what is made for the need",
}
"""Where agents are found, in words."""


def describe_found(found: Sequence[FoundSpec]) -> str:
    """Return the names of those found, with where, for a question or a sentence."""
    names = ", ".join(f"{each.spec.name} ({each.source})" for each in found[:3])
    return names if len(found) <= 3 else f"{names} and {pluralize(len(found) - 3, 'more agent')}"
