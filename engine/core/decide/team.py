"""Commands about supervisors and agents: load, add, remove, pause, swap."""

from engine.core.commands import (
    AddAgent,
    AddSupervisor,
    LoadTeam,
    Pause,
    RegisterSpec,
    Resume,
    SupervisorSpec,
    SwapAgent,
    TrustReferences,
    UnregisterSpec,
)
from engine.core.context import Context
from engine.core.decide.applied import Applied
from engine.core.decide.find import able_queues_for, find_agent, find_spec, find_supervisor
from engine.core.decide.mint import Mint
from engine.core.decide.trust import grant, trust
from engine.core.discovery import nearest
from engine.core.errors import DuplicateName, Refused, UnknownAgent
from engine.core.events import (
    AgentAdded,
    AgentPaused,
    AgentResumed,
    AgentSwapped,
    Event,
    RunPaused,
    RunResumed,
    SpecRegistered,
    SpecUnregistered,
    SupervisorAdded,
    SupervisorPaused,
    SupervisorResumed,
    TeamLoaded,
)
from engine.core.spec import AgentSpec, check_name, spec_hash
from engine.core.state import Agent, State, Supervisor
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
        _name_is_free(state, parent, command.team.name)
    elif any(root.name == command.team.name for root in state.roots):
        raise DuplicateName(command.team.name, "this database")
    mint = Mint(state)
    made = _added(state, command.team, parent.id if parent else None, ctx, mint)
    top = next(event.supervisor_id for event in made if isinstance(event, SupervisorAdded))
    return Applied(events=events + made, summary=f"added supervisor {command.team.name}", result={"supervisor_id": top})


def add_agent(state: State, command: AddAgent, ctx: Context) -> Applied:
    """Add one agent, from a spec or from the registry."""
    supervisor = find_supervisor(state, command.supervisor)
    spec = _wanted(state, command.spec, command.registered)
    name = check_name(command.name or spec.name, "agent")
    events = trust(state, [spec], command.trusted, ctx.now_ms)
    _name_is_free(state, supervisor, name)
    living = sum(member_id in state.agents for member_id in supervisor.members)
    if living >= supervisor.max_agents:
        raise Refused(
            f"supervisor {supervisor.name!r} has {living} of at most {supervisor.max_agents} agents; remove one first"
        )
    agent_id = Mint(state)("a")
    events.append(
        AgentAdded(
            at_ms=ctx.now_ms,
            agent_id=agent_id,
            name=name,
            supervisor_id=supervisor.id,
            spec=spec,
            queues=able_queues_for(state, supervisor.id, spec, name),
        )
    )
    return Applied(events=events, summary=f"added {name} under {supervisor.name}", result={"agent_id": agent_id})


def register_spec(state: State, command: RegisterSpec, ctx: Context) -> Applied:
    """Put a spec into the registry."""
    events = trust(state, [command.spec], command.trusted, ctx.now_ms)
    events.append(SpecRegistered(at_ms=ctx.now_ms, spec=command.spec))
    return Applied(events=events, summary=f"registered {command.spec.name}")


def unregister_spec(state: State, command: UnregisterSpec, ctx: Context) -> Applied:
    """Take a name out of the registry."""
    find_spec(state, command.name)
    return Applied(
        events=[SpecUnregistered(at_ms=ctx.now_ms, name=command.name)], summary=f"unregistered {command.name}"
    )


def swap_agent(state: State, command: SwapAgent, ctx: Context) -> Applied:
    """Give an agent another spec; validated whole before anything changes."""
    agent = find_agent(state, command.agent)
    if command.mode != "drain":
        raise Refused(f"no swap mode {command.mode!r}; there is drain")
    spec = _wanted(state, command.spec, command.registered)
    if agent.removing is not None:
        raise Refused(f"{agent.name} is being removed; add an agent instead")
    if agent.draining:
        raise Refused(f"{agent.name} is swapping already: g{agent.generation - 1} still works; wait for it or cancel")
    if spec_hash(spec) == agent.spec:
        raise Refused(f"{agent.name} has this spec already (g{agent.generation}); nothing to swap")
    events = trust(state, [spec], command.trusted, ctx.now_ms)
    event = _swap(state, agent, spec, ctx)
    events.append(event)
    return Applied(
        events=events,
        summary=f"swapped {agent.name} to g{event.generation}",
        result={"agent_id": agent.id, "generation": event.generation, "still_running": len(agent.running)},
    )


def _swap(state: State, agent: Agent, spec: AgentSpec, ctx: Context) -> AgentSwapped:
    return AgentSwapped(
        at_ms=ctx.now_ms,
        agent_id=agent.id,
        generation=agent.generation + 1,
        spec=spec,
        mode="drain",
        queues=able_queues_for(state, agent.supervisor_id, spec, agent.name),
    )


def pause(state: State, command: Pause, ctx: Context) -> Applied:
    """Pause a run, a supervisor or an agent, whichever has that id or name."""
    now = ctx.now_ms
    if command.target in state.runs:
        run = state.runs[command.target]
        _must(not run.paused, f"run {run.id} is paused already")
        return Applied(events=[RunPaused(at_ms=now, run_id=run.id)], summary=f"paused run {run.id}")
    found = _agent_or_supervisor(state, command.target)
    _must(not found.paused, f"{found.name} is paused already")
    if isinstance(found, Agent):
        return Applied(events=[AgentPaused(at_ms=now, agent_id=found.id)], summary=f"paused {found.name}")
    return Applied(events=[SupervisorPaused(at_ms=now, supervisor_id=found.id)], summary=f"paused {found.name}")


def resume(state: State, command: Resume, ctx: Context) -> Applied:
    """Let go on what was paused."""
    now = ctx.now_ms
    if command.target in state.runs:
        run = state.runs[command.target]
        _must(run.paused, f"run {run.id} is not paused")
        return Applied(events=[RunResumed(at_ms=now, run_id=run.id)], summary=f"resumed run {run.id}")
    found = _agent_or_supervisor(state, command.target)
    _must(found.paused, f"{found.name} is not paused")
    if isinstance(found, Agent):
        return Applied(events=[AgentResumed(at_ms=now, agent_id=found.id)], summary=f"resumed {found.name}")
    return Applied(events=[SupervisorResumed(at_ms=now, supervisor_id=found.id)], summary=f"resumed {found.name}")


def trust_references(state: State, command: TrustReferences, ctx: Context) -> Applied:
    """Allow references to be imported."""
    events = grant(state, command.references, ctx.now_ms)
    return Applied(events=events, summary=f"trusts {len(command.references)} references")


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
    _must(team.max_parallel >= 1, f"supervisor {team.name!r}: max_parallel must be at least 1")
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
        members = {_member_name(state, member_id): member_id for member_id in supervisor.members}
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
                events.append(_swap(state, state.agents[member_id], member, ctx))

    merge(there, command.team)
    return events


def _member_name(state: State, member_id: str) -> str:
    agent = state.agents.get(member_id)
    return agent.name if agent is not None else state.supervisors[member_id].name


def _wanted(state: State, spec: AgentSpec | None, registered: str | None) -> AgentSpec:
    if spec is not None and registered is None:
        return spec
    if registered is not None and spec is None:
        return find_spec(state, registered)
    raise Refused("give either a spec or the name of one in the registry")


def _name_is_free(state: State, supervisor: Supervisor, name: str) -> None:
    if any(_member_name(state, member_id) == name for member_id in supervisor.members):
        raise DuplicateName(name, f"supervisor {supervisor.name!r}")


def _agent_or_supervisor(state: State, target: str) -> Agent | Supervisor:
    try:
        return find_agent(state, target)
    except UnknownAgent as unknown:
        if target not in state.supervisors and all(one.name != target for one in state.supervisors.values()):
            raise unknown
        return find_supervisor(state, target)


def _must(condition: bool, otherwise: str) -> None:
    if not condition:
        raise Refused(otherwise)
