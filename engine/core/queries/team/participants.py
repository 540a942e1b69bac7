"""Chooses the participants, the strategy and the category of a request."""

from collections.abc import Mapping, Sequence

from msgspec import field

from engine.core.discovery.candidate import category_stem, profile_of
from engine.core.discovery.capability_index import CapabilityIndex
from engine.core.discovery.choosing import choose_category
from engine.core.discovery.nearest import nearest
from engine.core.errors import NoAgentMatches, Refused, did_you_mean
from engine.core.queries.targets import member_name
from engine.core.queries.team.fits import candidate_of
from engine.core.queries.team.matching import choose_agents, index_of
from engine.core.queries.team.recipes import recipe_id_of
from engine.core.queries.team.tree import agents_in, can_get_work_from, teams_in
from engine.core.records.records import JsonValue, fact
from engine.core.specs.spec import AgentSpec
from engine.core.state import State, Supervisor, Task
from engine.core.strategies import settings_for
from engine.core.strategies.parallel_then_synthesis import COMBINING_WORDS
from engine.core.strategies.settings import strings

SYNTHESIS = "parallel_then_synthesis"
_NAMING = ("aggregator", "validator", "author", "critics", "first", "then", "over", "lead")
"""Settings that name members; named members participate whatever their category."""


@fact
class Cast:
    """The participants of a request in order, with the reason for the choice."""

    members: list[str]
    aggregator: str | None
    explanation: str
    mode: str = "sequential"
    settings: dict[str, JsonValue] = field(default_factory=dict)
    category: str | None = None


def wants_text(supervisor: Supervisor, category: str | None) -> bool:
    """Return True if the choice of participants depends on the words of the request."""
    if supervisor.auto_discover or (supervisor.options.strategies and category is None):
        return True
    modes = {supervisor.mode, *supervisor.options.strategies.values()}
    return "delegate" in modes and supervisor.options.lead is None


def cast_for(
    state: State, supervisor: Supervisor, text: str, category: str | None = None, *, before: Sequence[str] = ()
) -> Cast:
    """Return the participants of a request to `supervisor`, and the strategy.

    Args:
        text: The request; may be empty unless `wants_text`.
        category: The category, if it was given.
        before: Members that worked in earlier runs of the conversation; they get requests that no member matches.

    Raises:
        NoAgentMatches: If agents have to be discovered and none matches.
        Refused: If there is no member, or a named member is missing.
    """
    member_ids = members_in(state, supervisor)
    _check_not_empty(supervisor, member_ids)
    reason = "all members in declared order"
    if supervisor.participants is not None:
        by_name = {member_name(state, member_id): member_id for member_id in member_ids}
        named_ids = [by_name[name] for name in supervisor.participants if name in by_name]
        found_ids = [id for id in member_ids if id in state.agents and state.agents[id].is_found]
        member_ids = list(dict.fromkeys([*named_ids, *found_ids]))
        reason = "the participants that are declared"
    elif not supervisor.auto_discover:
        # Made agents work for those who made or name them.
        member_ids = [id for id in member_ids if id not in state.agents or not recipe_id_of(state.agents[id])]
        member_ids = member_ids or members_in(state, supervisor)
    mode, category_key = supervisor.mode, None
    if supervisor.options.strategies:
        category_key, category_reason = strategy_key(state, supervisor, member_ids, text, category)
        mode = supervisor.options.strategies[category_key] if category_key is not None else mode
        reason = f"{category_reason}; {reason}"
    settings = settings_for(mode, supervisor.options.settings, supervisor.mode)
    if category_key is not None:
        member_ids, choice_reason = _members_of_category(state, member_ids, category_key, settings)
        reason = f"{reason}; {choice_reason}" if choice_reason else reason
    if supervisor.auto_discover and category_key is None:
        member_ids, reason = _discover_members(state, supervisor, member_ids, text, before)
    if mode == "delegate":
        member_ids, choice_reason = _choose_lead(state, supervisor, member_ids, settings, text, before)
        reason = f"{reason}; {choice_reason}"
    aggregator = aggregator_of(state, supervisor, mode=mode, settings=settings, member_ids=member_ids)
    if aggregator is not None:
        member_ids = [member_id for member_id in member_ids if member_id != aggregator] or [aggregator]
        aggregator = None if member_ids == [aggregator] else aggregator
    _check_not_empty(supervisor, member_ids)
    return Cast(
        members=member_ids,
        aggregator=aggregator,
        explanation=reason,
        mode=mode,
        settings=settings,
        category=category_key or category,
    )


def _check_not_empty(supervisor: Supervisor, member_ids: Sequence[str]) -> None:
    if not member_ids:
        raise Refused(f"supervisor {supervisor.name!r} has no agents to work on it; add one first")


def members_in(state: State, supervisor: Supervisor) -> list[str]:
    """Return the ids of members that may get work, in declared order."""
    return [member_id for member_id in supervisor.members if _may_get_work(state, supervisor, member_id)]


def _may_get_work(state: State, supervisor: Supervisor, member_id: str) -> bool:
    agent = state.agents.get(member_id)
    if agent is not None:
        return agent.removing is None
    return can_get_work_from(state.supervisors[member_id], supervisor)


def names_in(state: State, supervisor: Supervisor, group: Task) -> dict[str, str]:
    """Return the names of members by id, as the settings of a graph use them: names from before a renaming."""
    before = {member_id: name for name, member_id in group.called.items()}
    names = {member_id: before.get(member_id) or member_name(state, member_id) for member_id in supervisor.members}
    return {member_id: name for member_id, name in names.items() if group.called.get(name, member_id) == member_id}


def aggregator_of(
    state: State,
    supervisor: Supervisor,
    *,
    mode: str | None = None,
    settings: Mapping[str, JsonValue] | None = None,
    member_ids: Sequence[str] | None = None,
) -> str | None:
    """Return the id of the agent that makes the synthesis; None if results are joined without one.

    Raises:
        Refused: If an aggregator is required and missing.
    """
    mode = mode or supervisor.mode
    if mode != SYNTHESIS and (supervisor.aggregation != "synthesis" or mode != "parallel"):
        return None
    named = supervisor.aggregator or (settings or {}).get("aggregator")
    if named is None and mode == SYNTHESIS:
        return _most_suitable_aggregator(state, members_in(state, supervisor) if member_ids is None else member_ids)
    for member_id in members_in(state, supervisor):
        if member_name(state, member_id) == named and (member_id in state.agents or mode == SYNTHESIS):
            return member_id
    near = nearest(str(named or ""), (agent.name for agent in state.agents.values()))
    lacks = "names no aggregator" if named is None else f"has no agent {named!r} to make it"
    example = f", such as {near[0]}" if near else ""
    raise Refused(
        f"supervisor {supervisor.name!r} makes a synthesis but {lacks}; name one of its agents as aggregator{example}"
    )


def _most_suitable_aggregator(state: State, member_ids: Sequence[str]) -> str | None:
    agents = [candidate_of(state, state.agents[member_id]) for member_id in member_ids if member_id in state.agents]
    matches = CapabilityIndex(agents).search(COMBINING_WORDS, 1)
    return matches[0].id if matches else next(iter(member_ids[-1:]), None)


def member_by_agent(state: State, member_ids: Sequence[str]) -> dict[str, str]:
    """Return all agents below the members, with the member of each: a team can do what its agents can do."""
    member_by_agent: dict[str, str] = {}
    for member_id in member_ids:
        if member_id in state.agents:
            member_by_agent[member_id] = member_id
            continue
        front = [state.supervisors[member_id]]
        for team in front:
            front += teams_in(state, team)
            member_by_agent.update((agent.id, member_id) for agent in agents_in(state, team) if agent.removing is None)
    return member_by_agent


def _discover_members(
    state: State, supervisor: Supervisor, member_ids: list[str], text: str, before: Sequence[str]
) -> tuple[list[str], str]:
    owners = member_by_agent(state, member_ids)
    agents = [state.agents[agent_id] for agent_id in owners]
    choice = choose_agents(state, agents, text, supervisor.discovery.max_matches)
    if choice.matches:
        return list(dict.fromkeys(owners[match.id] for match in choice.matches)), choice.explanation
    return _fallback_members(state, supervisor, member_ids, text, before, choice.nearest)


def _fallback_members(
    state: State, supervisor: Supervisor, member_ids: list[str], text: str, before: Sequence[str], near: Sequence[str]
) -> tuple[list[str], str]:
    """Return the members that get an unmatched request: the default agent, else those that worked on it before.

    Like a lead, the default agent need not be a participant.
    """
    for member_id in members_in(state, supervisor):
        if member_name(state, member_id) == supervisor.default_agent:
            return [member_id], f"no agent matches; {supervisor.default_agent} is the default agent"
    earlier_members = [member_id for member_id in before if member_id in member_ids]
    if not earlier_members:
        raise NoAgentMatches(text[:60], near)
    names = ", ".join(member_name(state, member_id) for member_id in earlier_members)
    return earlier_members, f"no agent matches; {names} worked on the request before in this conversation"


def _choose_lead(
    state: State,
    supervisor: Supervisor,
    member_ids: list[str],
    settings: Mapping[str, JsonValue],
    text: str,
    before: Sequence[str],
) -> tuple[list[str], str]:
    """Return the lead, which gets the whole request."""
    named = supervisor.options.lead or settings.get("lead")
    if named is not None:
        return [lead_of(state, supervisor, str(named))], f"{named} leads"
    owners = member_by_agent(state, member_ids)
    choice = choose_agents(state, [state.agents[agent_id] for agent_id in owners], text, 1)
    if choice.matches:
        return [owners[choice.matches[0].id]], choice.explanation
    if len(member_ids) == 1:
        return member_ids, "the only one"
    fallback, reason = _fallback_members(state, supervisor, member_ids, text, before, choice.nearest)
    return fallback[:1], reason


def lead_of(state: State, supervisor: Supervisor, name: str) -> str:
    """Return the id of the lead; raises Refused if there is no member of that name."""
    names = {member_name(state, member_id): member_id for member_id in members_in(state, supervisor)}
    if name not in names:
        hint = did_you_mean(nearest(name, names, 1), f"there are {', '.join(names)}")
        raise Refused(f"supervisor {supervisor.name!r} has no member {name!r} to lead it; {hint}")
    return names[name]


def strategy_key(
    state: State, supervisor: Supervisor, member_ids: Sequence[str], text: str, category: str | None
) -> tuple[str | None, str]:
    """Return the key of the strategy for a request, and why."""
    strategies = supervisor.options.strategies
    if category is not None:
        key = _named_category(supervisor, category)
        if key is None:
            return None, f"no strategy for the category {category}, so {supervisor.mode}"
        return key, f"the category {key} was named, so {strategies[key]}"
    agents = [state.agents[agent_id] for agent_id in member_by_agent(state, member_ids)]
    key = choose_category(text, strategies, index_of(state, agents))
    if key is None:
        return None, f"no category fits the request, so {supervisor.mode}"
    return key, f"the request is of the category {key}, so {strategies[key]}"


def _named_category(supervisor: Supervisor, category: str) -> str | None:
    """Return the key of a category among the strategies, also if it is another form of the same word."""
    stem = category_stem(category)
    return next((key for key in supervisor.options.strategies if key == category or category_stem(key) == stem), None)


def check_category(supervisor: Supervisor, category: str | None) -> None:
    """Refuse a category for which the receiving supervisor has no strategy; those below it need none."""
    strategies = supervisor.options.strategies
    if category is None or _named_category(supervisor, category) is not None:
        return
    allowed = f"there are {', '.join(strategies)}" if strategies else "it has none"
    hint = did_you_mean(nearest(category, strategies, 1), allowed)
    raise Refused(f"supervisor {supervisor.name!r} has no strategy for the category {category!r}; {hint}")


def _members_of_category(
    state: State, member_ids: list[str], category: str, settings: Mapping[str, JsonValue]
) -> tuple[list[str], str]:
    """Return the members of a category and those that settings name; all members if the category has none."""
    stems = category_stem(category).split()
    owners = member_by_agent(state, member_ids)
    agents = [state.agents[agent_id] for agent_id in owners]
    matching = [agent for agent in agents if profile_of(candidate_of(state, agent)).claims_all(stems)]
    matching = matching or [agent for agent in agents if _has_category_prefix(state.spec_of(agent), stems)]
    if not matching:
        return member_ids, "no member is of that category, so all take part"
    claiming = {owners[agent.id] for agent in matching}
    named = {name for key in _NAMING if key in settings for name in strings(settings[key])}
    chosen = [member_id for member_id in member_ids if member_id in claiming or member_name(state, member_id) in named]
    return chosen, f"{', '.join(member_name(state, member_id) for member_id in chosen)} of that category"


def _has_category_prefix(spec: AgentSpec, stems: Sequence[str]) -> bool:
    """Return whether a category begins with all words of an agent's own category or of one of its specialties."""
    words = (category_stem(specialty).split() for specialty in (spec.category or "", *spec.specialties))
    return any(own and own == stems[: len(own)] for own in words)
