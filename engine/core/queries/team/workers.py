"""The workers of a lead: the members of its supervisor that may get work now."""

from collections.abc import Iterator

from engine.core.queries.team.able import has_able_agent, why_not_able, why_team_is_not_able
from engine.core.queries.team.track_record import track_record_of
from engine.core.queries.team.tree import agents_of
from engine.core.records.records import fact
from engine.core.state import Agent, State, Supervisor, Task, TrackRecord

MAX_DESCRIPTION_CHARS = 200
"""Characters of the instructions that describe a worker without a description."""
MAX_NAMED_AGENTS = 8
"""Limit on the agents that the description of a team names."""


@fact
class Worker:
    """A member that a lead may give work to."""

    name: str
    description: str
    specialties: tuple[str, ...] = ()
    record: TrackRecord | None = None
    """Its track record in the requested category, if there is any."""


def is_lead(state: State, task: Task) -> bool:
    """Return True for the task of the lead in a graph of the strategy `delegate`."""
    group = state.tasks.get(task.parent_id or "")
    return task.role == "lead" and group is not None and group.mode == "delegate"


def workers_of(state: State, supervisor: Supervisor, *, lead_id: str, category: str | None = None) -> list[Worker]:
    """Return a lead's workers in order, without paused, leaving or unable ones; with records in `category`."""
    return [
        _worker(state, member, category)
        for member in _members(state, supervisor, lead_id)
        if why_not_available(state, member) is None
    ]


def why_no_worker(state: State, supervisor: Supervisor, name: str, *, lead_id: str) -> str | None:
    """Return why a member of that name may not get work; None if it may."""
    matching_members = [member for member in _members(state, supervisor, lead_id) if member.name == name]
    if not matching_members:
        return f"there is no worker {name!r:.200}"
    reasons = [why_not_available(state, member) for member in matching_members]
    return None if None in reasons else f"{name} {reasons[0]}"


def why_not_available(state: State, member: Agent | Supervisor) -> str | None:
    """Return why a member may not get work from a lead now, in words that follow its name; None if it may."""
    if member.paused:
        return "is paused"
    if isinstance(member, Agent):
        return "is away" if member.away else why_not_able(state, member)
    if member.leaving is not None:
        return "is being removed"
    reason = why_team_is_not_able(state, member)
    if reason is not None:
        return f"cannot work: {reason}"
    return None if has_able_agent(state, member) else "has no member that is able to work"


def _members(state: State, supervisor: Supervisor, lead_id: str) -> Iterator[Agent | Supervisor]:
    """Yield the members without the lead; `participants` limits graphs, but not the workers of a lead."""
    for member_id in supervisor.members:
        member = state.agents.get(member_id) or state.supervisors[member_id]
        if member_id != lead_id:
            yield member


def _worker(state: State, member: Agent | Supervisor, category: str | None) -> Worker:
    record = None if category is None else track_record_of(state, member).get(category)
    if isinstance(member, Agent):
        spec = state.spec_of(member)
        description = _on_one_line(spec.description) or _on_one_line(spec.instructions)[:MAX_DESCRIPTION_CHARS]
        return Worker(name=member.name, description=description, specialties=tuple(spec.specialties), record=record)
    agents = agents_of(state, member.id)
    names = ", ".join(agent.name for agent in agents[:MAX_NAMED_AGENTS])
    names += ", …" if len(agents) > MAX_NAMED_AGENTS else ""
    skills = dict.fromkeys(skill for agent in agents for skill in state.spec_of(agent).specialties)
    return Worker(name=member.name, description=f"A team: {names}", specialties=tuple(skills), record=record)


def _on_one_line(text: str) -> str:
    """Return a text of an agent's spec, which may be untrusted, so that it cannot look like a line of others."""
    return " ".join(text.split())
