"""Choices of members for a request or a task, the likeliest first, and how a request would be coordinated."""

from dashboard.views.drawing.rows import Cell, Choice, labelled_cell
from dashboard.views.measures.digest import Digest
from dashboard.views.words.amounts import pluralize
from dashboard.views.words.glyphs import ACTIVITY
from engine.core.queries.team.able import is_able
from engine.core.queries.team.discovery import describe_search, words_to_find
from engine.core.queries.team.strategies import known_strategies
from engine.core.queries.team.tree import depth_of, subtree_of
from engine.core.queries.work.placement import stand_ins
from engine.core.specs.options import DEFAULT_PRIORITY
from engine.core.state import Agent, State, Supervisor, Task
from engine.core.validation.bounds import LOWEST_PRIORITY

MAX_WORDS = 6
"""Words of a request that are named because nobody knows them."""


def possible_parents(state: State, member_id: str) -> list[Choice]:
    """Return the supervisors that a member could move under."""
    agent, own = state.agents.get(member_id), state.supervisors.get(member_id)
    now = agent.supervisor_id if agent is not None else own.parent_id if own is not None else None
    barred = {now, *(supervisor.id for supervisor in subtree_of(state, own))} if own is not None else {now}
    return [_choice_of(state, supervisor) for supervisor in state.supervisors.values() if supervisor.id not in barred]


def describe_move(state: State, member_id: str) -> list[Cell]:
    """Return the current place of a member, and the consequence of a move."""
    agent, own = state.agents.get(member_id), state.supervisors.get(member_id)
    above_id = agent.supervisor_id if agent is not None else own.parent_id if own is not None else None
    parent = state.supervisors.get(above_id or "")
    where = labelled_cell("now", f"under {parent.name}" if parent is not None else "on top")
    if own is not None:
        under = list(subtree_of(state, own))
        agents = sum(member in state.agents for supervisor in under for member in supervisor.members)
        consequence = f"{pluralize(agents, 'agent')} and {pluralize(len(under) - 1, 'supervisor')} under it go with it"
    else:
        consequence = "its attempts continue; tasks that wait for it alone move with it"
    return [where, Cell(consequence, "muted")]


def assignable_agents(state: State, task: Task, counts: Digest) -> list[Choice]:
    """Return the agents that a task could be given to: able ones first, then the rest of the team."""
    able = {agent.id: agent for agent in stand_ins(state, task)}
    rest = [agent for agent in state.agents.values() if agent.id not in able and _may_take(state, task, agent)]
    return [
        Choice(agent.id, agent.name, _describe_agent(state, agent, counts, able=agent.id in able))
        for agent in (*able.values(), *rest)
    ]


def _may_take(state: State, task: Task, agent: Agent) -> bool:
    at_it = task.attempt.agent_id if task.attempt is not None else task.worker_id
    return agent.id != at_it and is_able(state, agent)


def _describe_agent(state: State, agent: Agent, counts: Digest, *, able: bool) -> str:
    supervisor = state.supervisors.get(agent.supervisor_id)
    can = ", ".join(state.spec_of(agent).specialties) or "names no specialty"
    waiting = counts.waiting_of[agent.id]
    mark = ACTIVITY[counts.activities.of_agent(agent).kind]
    load = f"{mark.word}, {waiting:,} waiting" if waiting else mark.word
    return f"{load}; under {supervisor.name if supervisor is not None else '–'}; {'can do it: ' if able else ''}{can}"


_PRIORITY_NOTES = {
    0: "first; may take slots from what is less urgent",
    DEFAULT_PRIORITY: "as usual",
    LOWEST_PRIORITY: "last",
}


def priorities() -> list[Choice]:
    """Return every priority, the most urgent first."""
    return [Choice(str(number), str(number), _PRIORITY_NOTES.get(number, "")) for number in range(LOWEST_PRIORITY + 1)]


def categories(state: State, supervisor_id: str | None) -> list[Choice]:
    """Return the categories that a supervisor has strategies for; the first choice detects the category."""
    supervisor = state.supervisors.get(supervisor_id or "")
    strategies = dict(supervisor.options.strategies) if supervisor is not None else {}
    automatic = Choice("", "automatic", "from the words of the request" if strategies else "")
    return [automatic, *(Choice(name, name, f"coordinated by {mode}") for name, mode in strategies.items())]


def receivers(state: State) -> list[Choice]:
    """Return every supervisor that takes requests, from the top."""
    from_top = sorted(state.supervisors.values(), key=lambda supervisor: depth_of(state, supervisor))
    return [_choice_of(state, supervisor) for supervisor in from_top if supervisor.leaving is None]


def _choice_of(state: State, supervisor: Supervisor) -> Choice:
    members = pluralize(len(supervisor.members), "member")
    return Choice(supervisor.id, supervisor.name, f"{supervisor.mode}, {members}, level {depth_of(state, supervisor)}")


def modes(state: State, supervisor_id: str | None) -> list[Choice]:
    """Return the strategies for one run; the first choice is that of its supervisor."""
    supervisor = state.supervisors.get(supervisor_id or "")
    if supervisor is None:
        return [Choice("", "its own")]
    others = [strategy for strategy in known_strategies() if strategy != supervisor.mode]
    about = "for this run alone: submitted as usual, then rewired at once"
    return [Choice("", "its own", supervisor.mode), *(Choice(name, name, about) for name in others)]


def conversations(state: State, supervisor_id: str | None) -> list[str]:
    """Return the conversations of a supervisor, the newest first."""
    supervisor = state.supervisors.get(supervisor_id or "")
    return [*reversed(supervisor.conversations)] if supervisor is not None else []


def has_conversations(state: State, supervisor_id: str | None) -> bool:
    """Return whether a supervisor has conversations, or an agent played by a model, which would see one."""
    supervisor = state.supervisors.get(supervisor_id or "")
    if supervisor is None:
        return False
    under = [
        state.agents[member_id]
        for each in subtree_of(state, supervisor)
        for member_id in each.members
        if member_id in state.agents
    ]
    return bool(supervisor.conversations) or any(state.spec_of(agent).is_played_by_model for agent in under)


def describe_coordination(
    state: State, supervisor_id: str | None, category: str | None, mode: str = "", *, request: str = ""
) -> list[Cell]:
    """Describe how a request would be coordinated; `mode` is a strategy for this run alone."""
    supervisor = state.supervisors.get(supervisor_id or "")
    if supervisor is None:
        return []
    own = supervisor.options.strategies.get(category or "", supervisor.mode)
    text = f"{supervisor.name} coordinates it: {own}"
    if mode:
        text += f", from the outset rewired to {mode}; what has begun by then is kept"
    lines = [Cell(text, "muted")]
    if supervisor.error is not None:
        lines.append(Cell(f"{supervisor.name} has failed and takes no requests until it is resumed (z)", "error"))
    elif supervisor.paused:
        lines.append(Cell(f"{supervisor.name} is paused: it is begun when that ends", "paused"))
    if sought := words_to_find(state, supervisor, request, category):
        words = ", ".join(sought[:MAX_WORDS]) + ("…" if len(sought) > MAX_WORDS else "")
        lines.append(Cell(f"nobody in the team knows {words}: {describe_search(supervisor.discovery)}", "accent"))
    return lines
