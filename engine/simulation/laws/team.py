"""Who is in the team: members, generations, ids, the engine's token."""

from typing import Any

from engine.core.events import (
    AgentAdded,
    AgentRemoved,
    AgentSwapped,
    Delegated,
    EngineStarted,
    Escalated,
    GroupGrown,
    GroupPlanned,
    MemberMoved,
    MemberRenamed,
    RunSubmitted,
    StateImported,
    StrategySwitched,
    SupervisorAdded,
    SupervisorRemoved,
    SwapDrained,
    SwapRolledBack,
)
from engine.core.spec import spec_hash
from engine.core.state import Agent, State, Supervisor
from engine.simulation.laws.seen import Seen
from engine.simulation.ledger.team import AgentEntry, SupervisorEntry


def tokens_rise(past: Seen, event: EngineStarted) -> str | None:
    """The token of each engine is higher than that of every engine before it."""
    before = past.books.team.token
    return None if event.token > before else f"an engine with token {event.token} follows one with {before}"


def ids_are_given_once(past: Seen, event: Any) -> str | None:
    """No id is given twice, and numbers rise."""
    minted = past.books.counts.minted
    for new in new_ids(event):
        letter, number = new[0], int(new[1:])
        if number <= minted[letter]:
            return f"{event.type} makes {new}, and {letter}{minted[letter]} was given before"
        minted[letter] = number
    return None


_KINDS = ("supervisors", "agents", "runs", "tasks", "escalations")


def new_ids(event: Any) -> list[str]:
    """Return the ids that an event gives, in the order in which they were made."""
    match event:
        case RunSubmitted():
            return [event.run_id, event.root_id]
        case SupervisorAdded():
            return [event.supervisor_id]
        case AgentAdded():
            return [event.agent_id]
        case Escalated():
            return [event.escalation_id]
        case StateImported():
            document: Any = event.state
            return sorted((key for kind in _KINDS for key in document.get(kind, ())), key=_number)
        case Delegated():
            return [child.task_id for child in event.children]
        case GroupPlanned():
            return sorted((node.task_id for node in event.nodes), key=_number)
        case GroupGrown():
            return sorted((node.task_id for node in event.added), key=_number)
        case StrategySwitched():
            return sorted((node.task_id for change in event.groups for node in change.added), key=_number)
    return []


def _number(entity_id: str) -> int:
    return int(entity_id[1:])


def a_generation_follows_the_one_before(past: Seen, event: AgentSwapped | SwapRolledBack) -> str | None:
    """A swap makes the next generation, and a way back has the spec of the generation before."""
    agent = past.books.team.agents[event.agent_id]
    if event.generation != agent.generation + 1:
        return f"g{event.generation} of {agent.id} follows g{agent.generation}"
    if isinstance(event, SwapRolledBack) and event.spec != agent.previous:
        return f"{agent.id} goes back to a spec that it did not have before g{agent.generation}"
    if isinstance(event, AgentSwapped) and event.spec == agent.spec:
        return f"{agent.id} is swapped to the spec that it has"
    return None


def a_swap_is_drained_once_nothing_old_is_at_work(past: Seen, event: SwapDrained) -> str | None:
    """A swap is called drained when no attempt of an earlier generation is at work, and not before."""
    old = _old_attempts(past, past.books.team.agents[event.agent_id])
    return f"{old[0]} is still at work before g{event.generation}" if old else None


def no_swap_is_left_undrained(past: Seen, _: object) -> str | None:
    """A swap is drained as soon as the last attempt of an earlier generation has ended."""
    for agent in past.books.team.agents.values():
        if agent.drained < agent.generation and agent.removing is None and not _old_attempts(past, agent):
            return f"{agent.id} is on g{agent.generation} alone, and drained is g{agent.drained}"
    return None


def _old_attempts(past: Seen, agent: AgentEntry) -> list[str]:
    jobs = past.books.work.at_work(agent.id)
    return [job.id for job in jobs if job.attempt is not None and job.attempt.generation != agent.generation]


def who_leaves_has_nothing_left(past: Seen, event: AgentRemoved) -> str | None:
    """An agent leaves when nothing is at work on it or waits for it alone, and it was told to, or made room."""
    books = past.books
    agent = books.team.agents[event.agent_id]
    at_work = books.work.at_work(agent.id)
    if at_work:
        return f"{agent.id} leaves with {at_work[0].id} at work"
    own = [job.id for job in books.work.jobs.values() if job.outcome is None and job.queue == f"agent:{agent.id}"]
    if own:
        return f"{agent.id} leaves, and {own[0]} waits for it alone"
    if event.evicted == (agent.removing is not None):
        return f"{agent.id} leaves {'in the place of another' if event.evicted else 'although nobody removed it'}"
    return None


def the_idlest_makes_room(past: Seen, event: AgentRemoved) -> str | None:
    """Who goes for another to come is not named by its supervisor, and was idle for longer than others that could."""
    if not event.evicted:
        return None
    books = past.books
    gone = books.team.agents[event.agent_id]
    above = books.state.supervisors[gone.supervisor_id]
    named = (above.aggregator, above.default_agent, above.options.lead, *(above.participants or ()))
    if gone.name in named:
        return f"{gone.id} makes room, and {above.id} names {gone.name}"
    since_ms = books.turns.idle_ms.get(gone.id, 0)
    wanted = {job.queue for job in books.work.jobs.values() if job.outcome is None}
    for other in books.team.agents.values():
        is_kept = other.name in named or other.removing is not None or other.stuck or books.work.at_work(other.id)
        if other.supervisor_id != above.id or is_kept or not wanted.isdisjoint(books.team.queues_of(other.id)):
            continue
        if books.turns.idle_ms.get(other.id, since_ms) < since_ms:
            return f"{gone.id}, idle since {since_ms}, makes room; {other.id} was idle before"
    return None


def a_supervisor_leaves_empty(past: Seen, event: SupervisorRemoved) -> str | None:
    """A supervisor leaves when it has no members and no open run or graph."""
    books = past.books
    supervisor = books.team.supervisors[event.supervisor_id]
    if supervisor.members:
        return f"{supervisor.id} leaves with {supervisor.members}"
    for run in books.work.runs.values():
        if run.supervisor_id == supervisor.id:
            return f"{supervisor.id} leaves, and {run.id} is open"
    for job in books.work.jobs.values():
        if job.outcome is None and job.worker_id == supervisor.id:
            return f"{supervisor.id} leaves, and its graph {job.id} is open"
    return None


def leaving_comes_to_an_end(past: Seen, _: object) -> str | None:
    """Who is removed goes once nothing of its work is open."""
    books = past.books
    for agent in books.team.agents.values():
        own = (job.queue == f"agent:{agent.id}" for job in books.work.jobs.values() if job.outcome is None)
        if agent.removing is not None and not books.work.at_work(agent.id) and not any(own):
            return f"{agent.id} is to leave ({agent.removing}) and has nothing left, and is there"
    return None


def the_team_is_what_events_say(past: Seen, _: object) -> str | None:
    """Supervisors and agents have the places, settings and specs that events gave them."""
    books = past.books
    state, team = books.state, books.team
    if {*state.supervisors, *state.agents} != {*team.supervisors, *team.agents}:
        return f"the state has {[*state.supervisors, *state.agents]}, events left {[*team.supervisors, *team.agents]}"
    for supervisor in state.supervisors.values():
        said, found = _of_supervisor(supervisor), _entry_of_supervisor(team.supervisors[supervisor.id])
        for name, value in said.items():
            if value != found[name]:
                return f"{name} of {supervisor.id} is {value}; events say {found[name]}"
    for agent in state.agents.values():
        said, found = _of_agent(state, agent), _entry_of_agent(team.agents[agent.id])
        for name, value in said.items():
            if value != found[name]:
                return f"{name} of {agent.id} is {value}; events say {found[name]}"
    return None


def _of_supervisor(one: Supervisor) -> dict[str, Any]:
    return {
        "name": one.name, "parent": one.parent_id, "members": one.members, "mode": one.mode, "options": one.options,
        "max_parallel": one.max_parallel, "max_agents": one.max_agents, "paused": one.paused, "error": one.error,
        "leaving": one.leaving, "exhausted": one.exhausted is not None, "held": one.held,
    }  # fmt: skip


def _entry_of_supervisor(one: SupervisorEntry) -> dict[str, Any]:
    return {
        "name": one.name, "parent": one.parent_id, "members": one.members, "mode": one.mode, "options": one.options,
        "max_parallel": one.max_parallel, "max_agents": one.max_agents, "paused": one.paused, "error": one.error,
        "leaving": one.leaving, "exhausted": one.exhausted, "held": one.held,
    }  # fmt: skip


def _of_agent(state: State, one: Agent) -> dict[str, Any]:
    previous = None if one.previous is None else state.specs.get(one.previous)
    return {
        "name": one.name, "supervisor": one.supervisor_id, "spec": state.spec_of(one), "hash": one.spec,
        "previous": previous, "generation": one.generation, "drained": one.drained, "slots": one.max_concurrency,
        "paused": one.paused, "removing": one.removing, "error": one.error, "away": one.away, "stuck": one.stuck,
        "exhausted": one.exhausted is not None, "held": one.held, "restarts": one.restarts,
    }  # fmt: skip


def _entry_of_agent(one: AgentEntry) -> dict[str, Any]:
    return {
        "name": one.name, "supervisor": one.supervisor_id, "spec": one.spec, "hash": spec_hash(one.spec),
        "previous": one.previous, "generation": one.generation, "drained": one.drained, "slots": one.slots,
        "paused": one.paused, "removing": one.removing, "error": one.error, "away": one.away, "stuck": one.stuck,
        "exhausted": one.exhausted, "held": one.held, "restarts": one.restarts,
    }  # fmt: skip


def queues_are_served_by_those_who_were_named(past: Seen, _: object) -> str | None:
    """Each queue is served by the agents that events named for it and that stand below its supervisor, by no others."""
    books = past.books
    for key, queue in books.state.queues.items():
        own = key.partition(":")[2]
        wanted = books.team.served.get(key, []) if key.startswith("able:") else [own]
        if sorted(queue.agents) != sorted(wanted):
            return f"{key} is served by {queue.agents}; events named {wanted}"
        shared_below = own.partition(":")[0].partition("+")[0]
        supervisor_id = shared_below if key.startswith("able:") else books.team.agents[own].supervisor_id
        if queue.supervisor_id != supervisor_id:
            return f"{key} stands under {queue.supervisor_id}, and belongs to {supervisor_id}"
    missing = [key for key in books.team.served if key not in books.state.queues]
    return f"{missing[0]} was made, and is gone" if missing else None


def the_registry_is_what_events_say(past: Seen, _: object) -> str | None:
    """The registry has the newest spec of each name, and every spec that is in use is kept."""
    state = past.books.state
    found = {name: state.specs.get(key) for name, key in state.registry.items()}
    if found != past.books.team.registry:
        return f"the registry has {sorted(found)}; events left {sorted(past.books.team.registry)}"
    return None


def what_was_declared_is_remembered(past: Seen, _: object) -> str | None:
    """The state knows of each declared member with which spec, and where, it was declared."""
    books = past.books
    members = books.declared.members
    if set(books.state.declared) != set(members):
        return f"{sorted(books.state.declared)} are known as declared; {sorted(members)} were"
    for member_id, entry in members.items():
        known, now = books.state.declared[member_id], books.declared.now(member_id, books.team)
        wanted = (
            None if entry.spec == now.spec else entry.spec,
            None if entry.parent_id == now.parent_id else entry.parent_id,
        )
        if (known.spec, known.parent_id) != wanted:
            return f"{member_id} is known as declared otherwise in {known.spec, known.parent_id}; it is {wanted}"
    return None


def an_agent_serves_the_queues_near_it(past: Seen, event: Any) -> str | None:
    """An agent that comes, moves, or is called or described otherwise, serves queues near it for what names it."""
    team = past.books.team
    if isinstance(event, AgentAdded):
        agent_id, home, spec, name = event.agent_id, event.supervisor_id, event.spec, event.name
    else:
        agent_id = event.member_id if isinstance(event, MemberMoved | MemberRenamed) else event.agent_id
        if agent_id not in team.agents:
            return None  # a team moves, or gets another name
        agent = team.agents[agent_id]
        home = event.parent_id if isinstance(event, MemberMoved) else agent.supervisor_id
        spec = getattr(event, "spec", None) or agent.spec
        name = event.name if isinstance(event, MemberRenamed) else agent.name
    near = {home, *(f"{above.id}+{depth}" for depth, above in enumerate(team.up(home)))}
    named = {word.casefold() for word in (name, *spec.specialties)}
    for key in team.served:
        _, place, capability = key.split(":", 2)
        if place in near and capability.casefold() in named and key not in event.queues:
            return f"{agent_id} has {capability!r} by {event.type}, and does not take from {key}"
    return None
