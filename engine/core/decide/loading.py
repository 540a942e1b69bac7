"""Commands that bring whole trees: a team file, a supervisor with everything under it."""

from engine.core.commands import (
    AddSupervisor,
    LoadTeam,
    SupervisorSpec,
)
from engine.core.context import Context
from engine.core.decide.applied import Applied
from engine.core.decide.find import able_queues_for, find_supervisor, member_name
from engine.core.decide.mint import Mint
from engine.core.decide.team import must, name_is_free, swapped_to
from engine.core.decide.trust import trust
from engine.core.discovery import nearest
from engine.core.errors import DuplicateName, Refused, UnknownAgent
from engine.core.events import (
    AgentAdded,
    AgentSwapped,
    Event,
    SpecRegistered,
    SupervisorAdded,
    TeamLoaded,
)
from engine.core.spec import AgentSpec, check_name, spec_hash
from engine.core.state import State, Supervisor
from engine.core.strategies import strategy_named


def load_team(state: State, command: LoadTeam, ctx: Context) -> Applied:
    """Make the team of a file; where one is there already, add what is new and swap what changed."""
    now = ctx.now_ms
    events = trust(state, [*specs_in(command.team), *command.registry], command.trusted, now)
    check_tree(command.team)
    events.append(
        TeamLoaded(at_ms=now, path=command.path, folder=command.folder, sha256=command.sha256, text=command.text)
    )
    for spec in command.registry:
        if state.registry.get(spec.name) != spec_hash(spec):
            events.append(SpecRegistered(at_ms=now, spec=spec))
    there = next((root for root in state.roots if root.name == command.team.name), None)
    made = _added(state, command.team, None, ctx, Mint(state)) if there is None else _merged(state, there, command, ctx)
    events += made
    new = sum(isinstance(event, AgentAdded) for event in made)
    swapped = sum(isinstance(event, AgentSwapped) for event in made)
    what = f"{new} agents" if there is None else f"{new} agents added, {swapped} swapped"
    return Applied(
        events=events,
        summary=f"loaded team {command.team.name}: {what}",
        result={"agents_added": new, "agents_swapped": swapped},
    )


def add_supervisor(state: State, command: AddSupervisor, ctx: Context) -> Applied:
    """Add a supervisor with everything under it."""
    parent = find_supervisor(state, command.parent) if command.parent is not None else None
    events = trust(state, specs_in(command.team), command.trusted, ctx.now_ms)
    check_tree(command.team)
    if parent is not None:
        name_is_free(state, parent, command.team.name)
    elif any(root.name == command.team.name for root in state.roots):
        raise DuplicateName(command.team.name, "this database")
    mint = Mint(state)
    made = _added(state, command.team, parent.id if parent else None, ctx, mint)
    top = next(event.supervisor_id for event in made if isinstance(event, SupervisorAdded))
    return Applied(events=events + made, summary=f"added supervisor {command.team.name}", result={"supervisor_id": top})


def specs_in(team: SupervisorSpec) -> list[AgentSpec]:
    """Return every agent spec of a tree."""
    found: list[AgentSpec] = []
    for member in team.members:
        found += [member] if isinstance(member, AgentSpec) else specs_in(member)
    return found


def check_tree(team: SupervisorSpec) -> None:
    """Refuse a tree that cannot be right: names twice, unknown strategy, missing participants or aggregator.

    Raises:
        Refused: With the first thing that is wrong.
    """
    check_name(team.name, "supervisor")
    strategy_named(team.mode)
    names = [member.name for member in team.members]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise DuplicateName(twice, f"supervisor {team.name!r}")
    named = [*(team.participants or ()), *(one for one in (team.aggregator, team.default_agent) if one is not None)]
    for name in named:
        if name not in names:
            raise UnknownAgent(name, nearest(name, names))
    if team.aggregation == "synthesis" and team.aggregator is None:
        raise Refused(f"supervisor {team.name!r} makes a synthesis but names no aggregator; name one of its agents")
    must(team.max_parallel >= 1, f"supervisor {team.name!r}: max_parallel must be at least 1")
    for member in team.members:
        if isinstance(member, SupervisorSpec):
            check_tree(member)


def _added(state: State, team: SupervisorSpec, parent_id: str | None, ctx: Context, mint: Mint) -> list[Event]:
    supervisor_id = mint("s")
    events: list[Event] = [
        SupervisorAdded(
            at_ms=ctx.now_ms,
            supervisor_id=supervisor_id,
            name=team.name,
            parent_id=parent_id,
            mode=team.mode,
            aggregation=team.aggregation,
            aggregator=team.aggregator,
            participants=team.participants,
            auto_discover=team.auto_discover,
            max_matches=team.max_matches,
            default_agent=team.default_agent,
            max_parallel=team.max_parallel,
            max_agents=team.max_agents,
            options=team.options,
        )
    ]
    for member in team.members:
        if isinstance(member, SupervisorSpec):
            events += _added(state, member, supervisor_id, ctx, mint)
        else:
            events.append(
                AgentAdded(
                    at_ms=ctx.now_ms, agent_id=mint("a"), name=member.name, supervisor_id=supervisor_id, spec=member
                )
            )
    return events


def _merged(state: State, there: Supervisor, command: LoadTeam, ctx: Context) -> list[Event]:
    mint = Mint(state)
    events: list[Event] = []

    def merge(supervisor: Supervisor, team: SupervisorSpec) -> None:
        members = {member_name(state, member_id): member_id for member_id in supervisor.members}
        for member in team.members:
            member_id = members.get(member.name)
            if isinstance(member, SupervisorSpec):
                if member_id in state.supervisors:
                    merge(state.supervisors[member_id], member)
                elif member_id is None:
                    events.extend(_added(state, member, supervisor.id, ctx, mint))
            elif member_id is None:
                queues = able_queues_for(state, supervisor.id, member, member.name)
                events.append(
                    AgentAdded(
                        at_ms=ctx.now_ms,
                        agent_id=mint("a"),
                        name=member.name,
                        supervisor_id=supervisor.id,
                        spec=member,
                        queues=queues,
                    )
                )
            elif member_id in state.agents and state.agents[member_id].spec != spec_hash(member):
                agent = state.agents[member_id]
                must(agent.removing is None, f"{agent.name} is being removed; load the team again once it has left")
                must(not agent.draining, f"{agent.name} is swapping already; load the team again once it has drained")
                events.append(swapped_to(state, agent, member, ctx))

    merge(there, command.team)
    return events
