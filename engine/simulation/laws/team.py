"""The team: members, generations, ids, the engine's token."""

from typing import Any

from engine.core import events
from engine.core.encoding.codec import decode_state
from engine.core.specs.spec import spec_hash
from engine.simulation.laws.registry import When, describe_difference, law
from engine.simulation.ledger.team import AgentEntry, agent_entry, supervisor_entry
from engine.simulation.shadow_ledger import ShadowLedger


@law(events.EngineStarted)
def tokens_rise(ledger: ShadowLedger, event: events.EngineStarted) -> str | None:
    """The token of each engine is higher than that of every engine before it."""
    before = ledger.team.token
    return None if event.token > before else f"an engine with token {event.token} follows one with {before}"


@law(
    events.RunSubmitted,
    events.StateImported,
    events.SupervisorAdded,
    events.AgentAdded,
    events.GroupPlanned,
    events.GroupGrown,
    events.StrategySwitched,
    events.Delegated,
    events.Escalated,
    events.Steered,
    events.GrantGiven,
    events.Remembered,
    events.RecipeMade,
)
def ids_are_given_once(ledger: ShadowLedger, event: Any) -> str | None:
    """No id is given twice, and numbers rise."""
    minted = ledger.minted
    for new in new_ids(event):
        letter, number = new[0], int(new[1:])
        if number <= minted[letter]:
            return f"{event.type} makes {new}, and {letter}{minted[letter]} was given before"
        minted[letter] = number
    return None


_KINDS = ("supervisors", "agents", "runs", "tasks", "escalations", "insights", "recipes")


def new_ids(event: Any) -> list[str]:
    """Return the ids that an event gives, in the order in which they were made."""
    match event:
        case events.RunSubmitted():
            return [event.run_id, event.root_id]
        case events.SupervisorAdded():
            return [event.supervisor_id]
        case events.AgentAdded():
            return [event.agent_id]
        case events.Escalated():
            return [event.escalation_id]
        case events.Steered():
            return [event.steer_id]
        case events.GrantGiven():
            return [event.grant_id]
        case events.Remembered():
            return [event.insight_id]
        case events.RecipeMade():
            return [event.recipe.id]
        case events.StateImported():
            imported = decode_state(event.state)
            return sorted((key for kind in _KINDS for key in getattr(imported, kind)), key=_number)
        case events.Delegated():
            return [child.task_id for child in event.children]
        case events.GroupPlanned():
            return sorted((node.task_id for node in event.nodes), key=_number)
        case events.GroupGrown():
            return sorted((node.task_id for node in event.added), key=_number)
        case events.StrategySwitched():
            return sorted((node.task_id for change in event.groups for node in change.added), key=_number)
    return []


def _number(entity_id: str) -> int:
    return int(entity_id[1:])


@law(events.AgentSwapped, events.SwapRolledBack)
def a_generation_follows_the_one_before(
    ledger: ShadowLedger, event: events.AgentSwapped | events.SwapRolledBack
) -> str | None:
    """A swap makes the next generation, and a rollback has the spec of the generation before, or that of an undo."""
    agent = ledger.team.agents[event.agent_id]
    if event.generation != agent.generation + 1:
        return f"g{event.generation} of {agent.id} follows g{agent.generation}"
    # An undo may restore older values, which `an_undo_finds_what_its_command_left` checks.
    is_undone = any(isinstance(later, events.CommandUndone) for later in ledger.batch)
    if isinstance(event, events.SwapRolledBack) and event.spec != agent.previous and (event.by_itself or not is_undone):
        return f"{agent.id} goes back to a spec that it did not have before g{agent.generation}"
    if isinstance(event, events.AgentSwapped) and event.spec == agent.spec:
        return f"{agent.id} is swapped to the spec that it has"
    return None


@law(events.SwapDrained)
def a_swap_is_drained_once_nothing_old_is_at_work(ledger: ShadowLedger, event: events.SwapDrained) -> str | None:
    """A swap is called drained when no attempt of an earlier generation is at work, and not before."""
    old = _old_attempts(ledger, ledger.team.agents[event.agent_id])
    return f"{old[0]} is still at work before g{event.generation}" if old else None


@law(When.AFTER_BATCH)
def no_swap_is_left_undrained(ledger: ShadowLedger) -> str | None:
    """A swap is drained as soon as the last attempt of an earlier generation has ended."""
    for agent in ledger.team.agents.values():
        if agent.drained < agent.generation and agent.removing is None and not _old_attempts(ledger, agent):
            return f"{agent.id} is on g{agent.generation} alone, and drained is g{agent.drained}"
    return None


def _old_attempts(ledger: ShadowLedger, agent: AgentEntry) -> list[str]:
    jobs = ledger.work.at_work(agent.id)
    return [job.id for job in jobs if job.attempt is not None and job.attempt.generation != agent.generation]


@law(events.AgentRemoved)
def removed_agents_have_no_work(ledger: ShadowLedger, event: events.AgentRemoved) -> str | None:
    """An agent leaves when nothing is at work on it or waits for it alone, and it was told to, or made room."""
    agent = ledger.team.agents[event.agent_id]
    at_work = ledger.work.at_work(agent.id)
    if at_work:
        return f"{agent.id} leaves with {at_work[0].id} at work"
    own = [job.id for job in ledger.work.jobs.values() if job.outcome is None and job.queue == f"agent:{agent.id}"]
    if own:
        return f"{agent.id} leaves, and {own[0]} waits for it alone"
    if event.evicted == (agent.removing is not None):
        return f"{agent.id} leaves {'in the place of another' if event.evicted else 'although nobody removed it'}"
    return None


@law(events.AgentRemoved)
def the_idlest_makes_room(ledger: ShadowLedger, event: events.AgentRemoved) -> str | None:
    """An evicted agent is not named by its supervisor, and was idle for longer than others that could go."""
    if not event.evicted:
        return None
    agent = ledger.team.agents[event.agent_id]
    supervisor = ledger.state.supervisors[agent.supervisor_id]
    named = (supervisor.aggregator, supervisor.default_agent, supervisor.options.lead, *(supervisor.participants or ()))
    if agent.name in named:
        return f"{agent.id} makes room, and {supervisor.id} names {agent.name}"
    newcomer = newcomer_after(ledger, event)
    if newcomer is not None and newcomer.origin is not None and newcomer.origin.kind == "discovery":
        return None  # not every agent may make room for one that is found
    since_ms = ledger.turns.idle_ms.get(agent.id, 0)
    needed_queues = {job.queue for job in ledger.work.jobs.values() if job.outcome is None}
    for other in ledger.team.agents.values():
        is_kept = other.name in named or other.removing is not None or other.stuck or ledger.work.at_work(other.id)
        if (
            other.supervisor_id != supervisor.id
            or is_kept
            or not needed_queues.isdisjoint(ledger.team.queues_of(other.id))
        ):
            continue
        if ledger.turns.idle_ms.get(other.id, since_ms) < since_ms:
            return f"{agent.id}, idle since {since_ms}, makes room; {other.id} was idle before"
    return None


def newcomer_after(ledger: ShadowLedger, event: events.AgentRemoved) -> events.AgentAdded | None:
    """Return the next agent that is added in the same write."""
    place = next((place for place, each in enumerate(ledger.batch) if each is event), len(ledger.batch))
    return next((each for each in ledger.batch[place:] if isinstance(each, events.AgentAdded)), None)


@law(events.SupervisorRemoved)
def a_supervisor_leaves_empty(ledger: ShadowLedger, event: events.SupervisorRemoved) -> str | None:
    """A supervisor leaves when it has no members and no open run or graph."""
    supervisor = ledger.team.supervisors[event.supervisor_id]
    if supervisor.members:
        return f"{supervisor.id} leaves with {supervisor.members}"
    for run in ledger.work.runs.values():
        if run.supervisor_id == supervisor.id:
            return f"{supervisor.id} leaves, and {run.id} is open"
    for job in ledger.work.jobs.values():
        if job.outcome is None and job.worker_id == supervisor.id:
            return f"{supervisor.id} leaves, and its graph {job.id} is open"
    return None


@law(When.AFTER_BATCH)
def leaving_comes_to_an_end(ledger: ShadowLedger) -> str | None:
    """A member that is being removed goes once none of its work is open."""
    for agent in ledger.team.agents.values():
        own = (job.queue == f"agent:{agent.id}" for job in ledger.work.jobs.values() if job.outcome is None)
        if agent.removing is not None and not ledger.work.at_work(agent.id) and not any(own):
            return f"{agent.id} is to leave ({agent.removing}) and has nothing left, and is there"
    return None


@law(When.AFTER_BATCH)
def the_team_is_what_events_say(ledger: ShadowLedger) -> str | None:
    """Supervisors and agents have the places, settings and specs that events gave them."""
    state, team = ledger.state, ledger.team
    if {*state.supervisors, *state.agents} != {*team.supervisors, *team.agents}:
        return f"the state has {[*state.supervisors, *state.agents]}, events left {[*team.supervisors, *team.agents]}"
    entries: list[Any] = [
        *(supervisor_entry(supervisor) for supervisor in state.supervisors.values()),
        *(agent_entry(state, agent) for agent in state.agents.values()),
    ]
    for member_entry in entries:
        if member_entry != team.member(member_entry.id):
            return describe_difference(member_entry, team.member(member_entry.id))
    for agent in state.agents.values():
        entry = team.agents[agent.id]
        if (agent.spec, agent.max_concurrency) != (spec_hash(entry.spec), entry.slots):
            return f"{agent.id} has the spec {agent.spec} and {agent.max_concurrency} slots, of {entry.slots}"
    return None


@law(When.AFTER_BATCH)
def grants_are_what_people_said(ledger: ShadowLedger) -> str | None:
    """A permission of a tool holds until it is revoked or the generation of the agent ends, and no longer."""
    grants = {
        grant.id: (
            grant.agent_id,
            grant.generation,
            grant.tool,
            grant.allows,
            grant.scope_id if grant.until_ms is None else grant.until_ms,
            tuple(sorted(grant.where.items())),
        )
        for grant in ledger.state.grants.values()
    }
    if grants == ledger.team.grants:
        return None
    return f"the state has the grants {grants}; events left {ledger.team.grants}"


@law(events.GrantGiven)
def a_grant_is_what_a_person_answered(ledger: ShadowLedger, event: events.GrantGiven) -> str | None:
    """A tool is granted to the generation whose call was asked about, by an answer for all its calls."""
    expected_answer = "allow_always" if event.allows else "reject_always"
    for earlier_event in reversed(ledger.events):
        if (
            isinstance(earlier_event, events.EscalationAnswered)
            and earlier_event.answer == expected_answer
            and earlier_event.by == "person"
            and (earlier_event.scope or "always") == event.scope
            and set(earlier_event.where) == set(event.where)
        ):
            job = ledger.work.jobs.get(earlier_event.subject)
            question_subject = (
                earlier_event.detail.get("tool"),
                earlier_event.detail.get("generation"),
                job and job.agent_id,
            )
            if question_subject == (event.tool, event.generation, event.agent_id):
                return None
    return f"{event.grant_id} grants {event.tool} to {event.agent_id}, and nobody has said so"


@law(When.AFTER_BATCH)
def queues_are_served_by_those_who_were_named(ledger: ShadowLedger) -> str | None:
    """Each queue is served by the agents that events named for it and that stand below its supervisor, by no others."""
    for key, queue in ledger.state.queues.items():
        own = key.partition(":")[2]
        expected_agents = ledger.team.served.get(key, []) if key.startswith("able:") else [own]
        if sorted(queue.agents) != sorted(expected_agents):
            return f"{key} is served by {queue.agents}; events named {expected_agents}"
        shared_below = own.partition(":")[0].partition("+")[0]
        supervisor_id = shared_below if key.startswith("able:") else ledger.team.agents[own].supervisor_id
        if queue.supervisor_id != supervisor_id:
            return f"{key} stands under {queue.supervisor_id}, and belongs to {supervisor_id}"
    missing = [key for key in ledger.team.served if key not in ledger.state.queues]
    return f"{missing[0]} was made, and is gone" if missing else None


@law(When.AFTER_BATCH)
def the_registry_is_what_events_say(ledger: ShadowLedger) -> str | None:
    """The registry has the newest spec of each name, and every spec that is in use is kept."""
    state = ledger.state
    specs = {name: state.specs.get(key) for name, key in state.registry.items()}
    if specs != ledger.team.registry:
        return f"the registry has {sorted(specs)}; events left {sorted(ledger.team.registry)}"
    return None


@law(When.AFTER_BATCH)
def declared_members_are_recorded(ledger: ShadowLedger) -> str | None:
    """The state knows of each declared member with which spec, and where, it was declared."""
    team, declarations = ledger.team, ledger.state.declared
    if set(declarations) != set(team.declared):
        return f"{sorted(declarations)} are known as declared; {sorted(team.declared)} were"
    for member_id, declaration in team.declared.items():
        actual = declarations[member_id].spec, declarations[member_id].parent_id
        pairs = zip(declaration, team.declaration(member_id), strict=True)
        expected = tuple(None if declared == now else declared for declared, now in pairs)
        if actual != expected:
            return f"{member_id} is known as declared otherwise in {actual}; it is {expected}"
    return None


@law(
    events.AgentAdded,
    events.CapabilitiesChanged,
    events.AgentSwapped,
    events.SwapRolledBack,
    events.MemberMoved,
    events.MemberRenamed,
)
def an_agent_serves_the_queues_near_it(ledger: ShadowLedger, event: Any) -> str | None:
    """An agent that is added, moved, renamed or changed serves the nearby queues for its name and specialties."""
    team = ledger.team
    if isinstance(event, events.AgentAdded):
        agent_id, home, spec, name = event.agent_id, event.supervisor_id, event.spec, event.name
    else:
        agent_id = event.member_id if isinstance(event, events.MemberMoved | events.MemberRenamed) else event.agent_id
        if agent_id not in team.agents:
            return None  # a team moves, or gets another name
        agent = team.agents[agent_id]
        home = event.parent_id if isinstance(event, events.MemberMoved) else agent.supervisor_id
        spec = getattr(event, "spec", None) or agent.spec
        name = event.name if isinstance(event, events.MemberRenamed) else agent.name
    near = {home, *(f"{supervisor.id}+{depth}" for depth, supervisor in enumerate(team.lineage(home)))}
    named = {word.casefold() for word in (name, *spec.specialties)}
    for key in team.served:
        _, place, capability = key.split(":", 2)
        if place in near and capability.casefold() in named and key not in event.queues:
            return f"{agent_id} has {capability!r} by {event.type}, and does not take from {key}"
    return None
