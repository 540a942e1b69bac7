"""Chooses the participants, the strategy and the category of a request."""

from collections.abc import Mapping, Sequence

from msgspec import field

from engine.core.discovery.candidate import category_stem, profile_of
from engine.core.discovery.capability_index import CapabilityIndex
from engine.core.discovery.choosing import choose_category
from engine.core.discovery.nearest import nearest
from engine.core.errors import NoAgentMatches, Refused
from engine.core.queries.targets import member_name
from engine.core.queries.team.suiting import candidate_of, chosen_for, index_of
from engine.core.queries.team.tree import agents_in, gets_work_from, teams_in
from engine.core.records.records import JsonValue, fact
from engine.core.specs.spec import AgentSpec
from engine.core.state import Agent, State, Supervisor, Task
from engine.core.strategies import settings_for
from engine.core.strategies.parallel_then_synthesis import COMBINING_WORDS
from engine.core.strategies.settings import strings

SYNTHESIS = "parallel_then_synthesis"
_NAMING = ("aggregator", "validator", "author", "critics", "first", "then", "over", "lead")
"""Settings that name members; these participate whatever their category."""


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
    able = members_in(state, supervisor)
    _must_be_somebody(supervisor, able)
    why = "all members in declared order"
    if supervisor.participants is not None:
        by_name = {member_name(state, member_id): member_id for member_id in able}
        able = [by_name[name] for name in supervisor.participants if name in by_name]
        why = "the participants that are declared"
    mode, found = supervisor.mode, None
    if supervisor.options.strategies:
        found, told = _category(state, supervisor, able, text, category)
        mode = supervisor.options.strategies[found] if found is not None else mode
        why = f"{told}; {why}"
    settings = settings_for(mode, supervisor.options.settings, supervisor.mode)
    if found is not None:
        able, who = _of_category(state, able, found, settings)
        why = f"{why}; {who}" if who else why
    if supervisor.auto_discover and found is None:
        able, why = _discovered(state, supervisor, able, text, before)
    if mode == "delegate":
        able, who = _lead(state, supervisor, able, settings, text, before)
        why = f"{why}; {who}"
    aggregator = aggregator_of(state, supervisor, mode=mode, settings=settings, able=able)
    if aggregator is not None:
        able = [member_id for member_id in able if member_id != aggregator] or [aggregator]
        aggregator = None if able == [aggregator] else aggregator
    _must_be_somebody(supervisor, able)
    return Cast(
        members=able, aggregator=aggregator, explanation=why, mode=mode, settings=settings, category=found or category
    )


def _must_be_somebody(supervisor: Supervisor, able: Sequence[str]) -> None:
    if not able:
        raise Refused(f"supervisor {supervisor.name!r} has no agents to work on it; add one first")


def members_in(state: State, supervisor: Supervisor) -> list[str]:
    """Return the ids of members that may get work, in declared order."""
    return [
        one
        for one in supervisor.members
        if (
            state.agents[one].removing is None
            if one in state.agents
            else gets_work_from(state.supervisors[one], supervisor)
        )
    ]


def names_in(state: State, supervisor: Supervisor, group: Task) -> dict[str, str]:
    """Return the names of members by id as a graph knows them: with former names, which its settings use."""
    before = {member_id: name for name, member_id in group.called.items()}
    names = {one: before.get(one) or member_name(state, one) for one in supervisor.members}
    return {one: name for one, name in names.items() if group.called.get(name, one) == one}


def aggregator_of(
    state: State,
    supervisor: Supervisor,
    *,
    mode: str | None = None,
    settings: Mapping[str, JsonValue] | None = None,
    able: Sequence[str] | None = None,
) -> str | None:
    """Return the id of the agent that makes the synthesis; None if results are joined without one.

    Raises:
        Refused: If one is required and missing.
    """
    mode = mode or supervisor.mode
    if mode != SYNTHESIS and (supervisor.aggregation != "synthesis" or mode != "parallel"):
        return None
    named = supervisor.aggregator or (settings or {}).get("aggregator")
    if named is None and mode == SYNTHESIS:
        return _speaks_of_combining(state, members_in(state, supervisor) if able is None else able)
    for member_id in members_in(state, supervisor):
        if member_name(state, member_id) == named and (member_id in state.agents or mode == SYNTHESIS):
            return member_id
    near = nearest(str(named or ""), (a.name for a in state.agents.values()))
    lacks = "names no aggregator" if named is None else f"has no agent {named!r} to make it"
    raise Refused(
        f"supervisor {supervisor.name!r} makes a synthesis but {lacks}; "
        f"name one of its agents as aggregator" + (f", such as {near[0]}" if near else "")
    )


def _speaks_of_combining(state: State, able: Sequence[str]) -> str | None:
    agents = [candidate_of(state, state.agents[one]) for one in able if one in state.agents]
    found = CapabilityIndex(agents).search(COMBINING_WORDS, 1)
    return found[0].id if found else next(iter(able[-1:]), None)


def _reached(state: State, able: Sequence[str]) -> dict[str, str]:
    """Return all agents below the members, with the member of each: a team can do what its agents can do."""
    found: dict[str, str] = {}
    for member_id in able:
        if member_id in state.agents:
            found[member_id] = member_id
            continue
        front = [state.supervisors[member_id]]
        for team in front:
            front += teams_in(state, team)
            found.update((agent.id, member_id) for agent in agents_in(state, team) if agent.removing is None)
    return found


def _discovered(
    state: State, supervisor: Supervisor, able: list[str], text: str, before: Sequence[str]
) -> tuple[list[str], str]:
    reached = _reached(state, able)
    choice = chosen_for(state, [state.agents[one] for one in reached], text, supervisor.max_matches)
    if choice.matches:
        return list(dict.fromkeys(reached[match.id] for match in choice.matches)), choice.explanation
    return _who_takes_the_rest(state, supervisor, able, text, before, choice.nearest)


def _who_takes_the_rest(
    state: State, supervisor: Supervisor, able: list[str], text: str, before: Sequence[str], near: Sequence[str]
) -> tuple[list[str], str]:
    """Return the members that get an unmatched request: the default agent, else those that worked on it before.

    Like a lead, the default agent need not be a participant.
    """
    for member_id in members_in(state, supervisor):
        if member_name(state, member_id) == supervisor.default_agent:
            return [member_id], f"no agent matches; {supervisor.default_agent} is the default agent"
    there = [one for one in before if one in able]
    if not there:
        raise NoAgentMatches(text[:60], near)
    who = ", ".join(member_name(state, one) for one in there)
    return there, f"no agent matches; {who} worked on the request before in this conversation"


def _lead(
    state: State,
    supervisor: Supervisor,
    able: list[str],
    settings: Mapping[str, JsonValue],
    text: str,
    before: Sequence[str],
) -> tuple[list[str], str]:
    """Return the lead, which gets the whole request."""
    named = supervisor.options.lead or settings.get("lead")
    if named is not None:
        return [lead_of(state, supervisor, str(named))], f"{named} leads"
    reached = _reached(state, able)
    choice = chosen_for(state, [state.agents[one] for one in reached], text, 1)
    if choice.matches:
        return [reached[choice.matches[0].id]], choice.explanation
    if len(able) == 1:
        return able, "the only one"
    found, why = _who_takes_the_rest(state, supervisor, able, text, before, choice.nearest)
    return found[:1], why


def lead_of(state: State, supervisor: Supervisor, name: str) -> str:
    """Return the id of the lead.

    Raises:
        Refused: If there is no member of that name.
    """
    names = {member_name(state, one): one for one in members_in(state, supervisor)}
    if name not in names:
        near = nearest(name, names)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(names)}"
        raise Refused(f"supervisor {supervisor.name!r} has no member {name!r} to lead it; {hint}")
    return names[name]


def _category(
    state: State, supervisor: Supervisor, able: Sequence[str], text: str, said: str | None
) -> tuple[str | None, str]:
    """Return the key of the strategy for a request, and why."""
    strategies = supervisor.options.strategies
    if said is not None:
        found = _named_category(supervisor, said)
        if found is None:
            return None, f"no strategy for the category {said}, so {supervisor.mode}"
        return found, f"the category {found} was named, so {strategies[found]}"
    agents = [state.agents[one] for one in _reached(state, able)]
    found = choose_category(text, strategies, index_of(state, agents))
    if found is None:
        return None, f"no category fits the request, so {supervisor.mode}"
    return found, f"the request is of the category {found}, so {strategies[found]}"


def _named_category(supervisor: Supervisor, said: str) -> str | None:
    """Return the key of a category among the strategies, also if it is another form of the same word."""
    wanted = category_stem(said)
    return next((key for key in supervisor.options.strategies if key == said or category_stem(key) == wanted), None)


def check_category(supervisor: Supervisor, said: str | None) -> None:
    """Check that a request may name a category.

    Raises:
        Refused: If the receiving supervisor has no strategy for it (those below it need none).
    """
    known = supervisor.options.strategies
    if said is None or _named_category(supervisor, said) is not None:
        return
    near = nearest(said, known)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}" if known else "it has none"
    raise Refused(f"supervisor {supervisor.name!r} has no strategy for the category {said!r}; {hint}")


def _of_category(
    state: State, able: list[str], category: str, settings: Mapping[str, JsonValue]
) -> tuple[list[str], str]:
    """Return the members of a category and those that settings name; all members if the category has none."""
    stems = category_stem(category).split()
    reached = _reached(state, able)
    claiming = {member for one, member in reached.items() if _claims(state, state.agents[one], stems)}
    claiming = claiming or {
        member for one, member in reached.items() if _begins(state.spec_of(state.agents[one]), stems)
    }
    if not claiming:
        return able, "no member is of that category, so all take part"
    named = {name for key in _NAMING if key in settings for name in strings(settings[key])}
    chosen = [one for one in able if one in claiming or member_name(state, one) in named]
    return chosen, f"{', '.join(member_name(state, one) for one in chosen)} of that category"


def _claims(state: State, agent: Agent, stems: Sequence[str]) -> bool:
    """Return whether the name, the category or a specialty of an agent has all words of a category."""
    return any(claim.issuperset(stems) for claim in profile_of(candidate_of(state, agent)).claims)


def _begins(spec: AgentSpec, stems: Sequence[str]) -> bool:
    """Return whether a category begins with all words of an agent's own category or of one of its specialties."""
    words = (category_stem(one).split() for one in (spec.category or "", *spec.specialties))
    return any(own and own == stems[: len(own)] for own in words)
