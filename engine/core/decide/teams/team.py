"""Decides on agents, specs, specialties, pause and resume, and the size of pools. Swaps are in `swapping`.

A decision adds one instance to a pool. Under a flood of tasks the next one follows in the same step, once the new
instance has taken what it can.
"""

import re
from collections.abc import Collection, Sequence

from engine.core import commands
from engine.core.decide.people.trust import trust
from engine.core.decide.teams.scratch import Scratch
from engine.core.decide.work.failing import manual_close_events
from engine.core.decisions.decision_context import DecisionContext
from engine.core.decisions.outcomes import Decided, Mint
from engine.core.discovery.nearest import nearest
from engine.core.errors import DuplicateName, NotTrusted, Refused, did_you_mean
from engine.core.events import (
    AgentAdded,
    AgentCheckAsked,
    AgentPaused,
    AgentRemoved,
    AgentResumed,
    CapabilitiesChanged,
    Event,
    PoolResized,
    PoolWatched,
    RunPaused,
    RunResumed,
    SpecRegistered,
    SpecUnregistered,
    SupervisorMended,
    SupervisorPaused,
    SupervisorResumed,
)
from engine.core.followups import CheckPool
from engine.core.queries.targets import find_agent, find_any, find_spec, find_supervisor, member_name
from engine.core.queries.team.models import why_no_models
from engine.core.queries.team.pools import must_grow, waiting_for
from engine.core.queries.team.tree import lineage_of
from engine.core.queries.work.pauses import WITHOUT_STEPS, attempts_under
from engine.core.queries.work.placement import able_queues_for, queue_takeovers
from engine.core.queries.work.queues import own_queue
from engine.core.records.records import JsonValue, copy_with
from engine.core.records.values import pluralize
from engine.core.specs.spec import AgentSpec, Pool
from engine.core.state import Agent, Origin, Run, State, Supervisor, Timer

MAX_AGENTS_ADDED_PER_RUN = 10
"""Limit on agents that the agents of one run may add to the team."""
RESERVED_NAME = re.compile(r"[a-z]\d+|else|end", re.IGNORECASE)
"""Names that look like ids, and words of conditions and graphs."""


def add_agent(state: State, command: commands.AddAgent, ctx: DecisionContext) -> Decided:
    """Add one agent, from a spec or from the registry, or several: all of them, or none."""
    if not command.also:
        return _add(state, ctx, command)
    scratch = Scratch(state, ctx)
    first = copy_with(command, also=[])
    done = [_add(state, ctx, first)]
    scratch.take(done[0].events)
    for spec in command.also:  # only the first can come from a catalogue
        addition = copy_with(first, spec=spec, registered=None, catalogue=None, name=None)
        done.append(_add(scratch.state, copy_with(ctx, origin=None), addition))
        scratch.take(done[-1].events)
    supervisor_name = find_supervisor(state, command.supervisor).name
    return Decided(
        events=scratch.events,
        summary=f"added {pluralize(len(done), 'agent')} under {supervisor_name}",
        result={"agents": [dict(decision.result) for decision in done]},
    )


def _add(state: State, ctx: DecisionContext, command: commands.AddAgent) -> Decided:
    # The command comes last: otherwise `handlers_in` would take this function for a second handler of it.
    supervisor = find_supervisor(state, command.supervisor)
    origin = _origin_of(command, ctx)
    spec = requested_spec(state, command.spec, command.registered)
    name, why_not = command.name or spec.name, why_no_models(state, supervisor.id, spec)
    refuse_unless(not why_not, why_not)
    is_found = origin is not None and origin.kind == "discovery"
    if ctx.run_id is not None and not is_found:
        _check_addition(state, ctx.run_id, name)
    events = _trust_added(state, ctx, spec, origin)
    evicted_agent = find_evictable(state, supervisor, evict=command.evict, among=ctx.replaceable)
    if evicted_agent is None or evicted_agent.name != name:
        check_name_free(state, supervisor, name)
    if evicted_agent is not None:
        removal = AgentRemoved(agent_id=evicted_agent.id, evicted=True)
        events += [removal, *queue_takeovers(state, evicted_agent, ())]
    agent_id = Mint(state)("a")
    events.append(
        AgentAdded(
            agent_id=agent_id,
            name=name,
            supervisor_id=supervisor.id,
            spec=spec,
            queues=able_queues_for(state, supervisor.id, spec, name, excluded=evicted_agent),
            declared=command.declared,
            run_id=ctx.run_id,
            origin=origin,
        )
    )
    note = "" if evicted_agent is None else f" in the place of {evicted_agent.name}"
    result: dict[str, JsonValue] = (
        {"agent_id": agent_id} if evicted_agent is None else {"agent_id": agent_id, "evicted": evicted_agent.id}
    )
    return Decided(events=events, summary=f"added {name} under {supervisor.name}{note}", result=result)


def _origin_of(command: commands.AddAgent, ctx: DecisionContext) -> Origin | None:
    """Return where the spec of a command comes from; raises Refused if the engine did not fill in that of an entry."""
    refuse_unless(
        command.catalogue is None or (ctx.origin is not None and command.registered is None),
        "the entry of a catalogue is added by its id alone, by a running engine",
    )
    is_of_entry = ctx.origin is not None and ctx.origin.kind == "catalogue"
    return None if is_of_entry and command.catalogue is None else ctx.origin


def _trust_added(state: State, ctx: DecisionContext, spec: AgentSpec, origin: Origin | None) -> list[Event]:
    """Return the event of new trust in a spec, if any; raises NotTrusted with what to do."""
    try:
        return trust(state, [spec], ctx)
    except NotTrusted as error:
        if origin is None or origin.kind != "catalogue":
            raise
        hint = f"allow them here with: quarterdeck add --catalogue {origin.id} --trust"
        raise NotTrusted(error.references, hint) from error


def _check_addition(state: State, run_id: str, name: str) -> None:
    """Refuse more agents than a run may add, and a name that is an id or a reserved word."""
    run = state.runs.get(run_id)
    is_full = run is not None and run.agents_added >= MAX_AGENTS_ADDED_PER_RUN
    refuse_unless(
        not is_full, f"this request has made {MAX_AGENTS_ADDED_PER_RUN} agents, which is the most that it may"
    )
    refuse_unless(
        RESERVED_NAME.fullmatch(name) is None,
        f"an agent made by an agent cannot be named {name!r}, which is an id or a word of conditions; give another",
    )


def register_spec(state: State, command: commands.RegisterSpec, ctx: DecisionContext) -> Decided:
    """Put a spec into the registry."""
    events = trust(state, [command.spec], ctx)
    events.append(SpecRegistered(spec=command.spec))
    return Decided(events=events, summary=f"registered {command.spec.name}")


def unregister_spec(state: State, command: commands.UnregisterSpec, ctx: DecisionContext) -> Decided:
    """Take a name out of the registry."""
    find_spec(state, command.name)
    return Decided(events=[SpecUnregistered(name=command.name)], summary=f"unregistered {command.name}")


def pause(state: State, command: commands.Pause, ctx: DecisionContext) -> Decided:
    """Pause a run, a supervisor or an agent, whichever has that id or name."""
    subject = find_pausable(state, command.target)
    name = f"run {subject.id}" if isinstance(subject, Run) else subject.name
    at_work = _holding_a_slot(state, subject)
    # `now` also hurries a pause that waits for the next step of an attempt.
    refuse_unless(not subject.paused or (command.now and bool(at_work)), f"{name} is paused already")
    more = f"; {pluralize(len(at_work), 'attempt')} {_until_when(state, command, at_work)}" if at_work else ""
    event = _paused_event(subject, at_work if command.now else [], by_agent=ctx.run_id is not None)
    return Decided(events=[event], summary=f"paused {name}{more}")


def _until_when(state: State, command: commands.Pause, at_work: Sequence[str]) -> str:
    if command.now:
        return "set aside"
    agents = (state.agents[state.tasks[task_id].agent_id or ""] for task_id in at_work)
    has_steps = not all(state.spec_of(agent).agent_type in WITHOUT_STEPS for agent in agents)
    return "at work until the next step" if has_steps else "at work to the end, unless set aside (--now)"


def _holding_a_slot(state: State, subject: Agent | Supervisor | Run) -> list[str]:
    """Return the tasks below a paused object whose attempts hold a slot; parked ones spend nothing and stay."""
    tasks = attempts_under(state, subject)
    return [task.id for task in tasks if task.attempt is not None and not task.attempt.parked]


def _paused_event(subject: Agent | Supervisor | Run, stopping: list[str], *, by_agent: bool) -> Event:
    match subject:
        case Run():
            return RunPaused(run_id=subject.id, stopping=stopping)
        case Agent():
            return AgentPaused(agent_id=subject.id, stopping=stopping, by_agent=by_agent)
        case Supervisor():
            return SupervisorPaused(supervisor_id=subject.id, stopping=stopping)


def resume(state: State, command: commands.Resume, ctx: DecisionContext) -> Decided:
    """Resume a paused object, and clear the error of a failed one."""
    subject = find_pausable(state, command.target)
    return resume_decision(subject, [] if isinstance(subject, Run) else mend_events(subject))


def resume_decision(subject: Agent | Supervisor | Run, events: list[Event]) -> Decided:
    """Return the decision that ends a pause; `events` also clear the error of a member."""
    if isinstance(subject, Run):
        refuse_unless(subject.paused, f"run {subject.id} is not paused")
        return Decided(events=[RunResumed(run_id=subject.id)], summary=f"resumed run {subject.id}")
    hint = "answer the question about it" if subject.held else "raise its limits"
    spent = "" if subject.exhausted is None else f": {subject.exhausted}; {hint}"
    refuse_unless(subject.paused or bool(events), f"{subject.name} is not paused{spent}")
    if subject.paused and isinstance(subject, Agent):
        events.append(AgentResumed(agent_id=subject.id))
    elif subject.paused:
        events.append(SupervisorResumed(supervisor_id=subject.id))
    return Decided(events=events, summary=f"resumed {subject.name}")


def find_pausable(state: State, target: str) -> Agent | Supervisor | Run:
    """Return the agent, supervisor or open run that a target names; raises Refused if the target cannot be paused."""
    subject = find_any(state, target)
    if isinstance(subject, Agent | Supervisor | Run):
        return subject
    raise Refused(f"{subject.id} cannot be paused; an agent, a supervisor or an open run can")


def requested_spec(state: State, spec: AgentSpec | None, registered: str | None) -> AgentSpec:
    """Return the spec of a command, or that of its name in the registry; raises Refused unless it gives one."""
    if spec is not None and registered is None:
        return spec
    if registered is not None and spec is None:
        return find_spec(state, registered)
    raise Refused("give either a spec or the name of one in the registry")


def check_name_free(state: State, supervisor: Supervisor, name: str) -> None:
    """Refuse a name that a member of `supervisor` has, and any name while the supervisor is being removed.

    Raises:
        DuplicateName: If a member has the name.
        Refused: If the supervisor is being removed.
    """
    refuse_unless(
        supervisor.leaving is None, f"supervisor {supervisor.name!r} is being removed; nothing can go under it"
    )
    if any(member_name(state, member_id) == name for member_id in supervisor.members):
        raise DuplicateName(name, f"supervisor {supervisor.name!r}")


def refuse_unless(condition: bool, reason: str) -> None:
    """Raise `Refused(reason)` unless the condition holds."""
    if not condition:
        raise Refused(reason)


def find_evictable(
    state: State, supervisor: Supervisor, *, evict: bool, among: Collection[str] | None = None
) -> Agent | None:
    """Return the agent to evict for another, None while there is room; raises Refused if none may be evicted.

    Args:
        evict: Whether one may be evicted at all.
        among: Ids of those that may be evicted; None is all.
    """
    living = [state.agents[member_id] for member_id in supervisor.members if member_id in state.agents]
    if len(living) < supervisor.max_agents:
        return None
    full = f"supervisor {supervisor.name!r} has {len(living)} of at most {supervisor.max_agents} agents"
    if not evict:
        raise Refused(f"{full}; remove one first, or set max_agents higher")
    busy_queues = {task.queue for task in state.tasks.values() if not task.ended}
    idle = [
        agent
        for agent in living
        if _is_evictable(state, supervisor, agent, busy_queues) and (among is None or agent.id in among)
    ]
    if not idle:
        raise Refused(f"{full}, and none of them is idle; remove one, or wait")
    return min(idle, key=lambda agent: (agent.idle_since_ms, agent.created_seq))


def _is_evictable(state: State, supervisor: Supervisor, agent: Agent, busy_queues: set[str | None]) -> bool:
    """Return whether an agent may be evicted: idle, waited for by no task, and not named by its supervisor."""
    if agent.running or agent.parked or agent.stuck or agent.removing is not None:
        return False
    busy_keys = [key for key in agent.queues if key in busy_queues]
    if own_queue(agent.id) in busy_queues or any(state.queues[key].agents == [agent.id] for key in busy_keys):
        return False
    named = (supervisor.aggregator, supervisor.default_agent, supervisor.options.lead, *(supervisor.participants or ()))
    return agent.name not in named


def change_capabilities(state: State, command: commands.ChangeCapabilities, ctx: DecisionContext) -> Decided:
    """Change the specialties of an agent, and with them its capability queues."""
    agent = find_agent(state, command.agent)
    if agent.removing is not None:
        raise Refused(f"{agent.name} is being removed; add an agent instead")
    spec = state.spec_of(agent)
    add, remove = _normalize_words(command.add), _normalize_words(command.remove)
    both = next((word for word in add if _contains_word(remove, word)), None)
    if both is not None:
        raise Refused(f"{both!r} is to be added and removed; choose one")
    for word in remove:
        if not _contains_word(spec.specialties, word):
            near = nearest(word, spec.specialties)
            hint = did_you_mean(near, f"it has {', '.join(spec.specialties) or 'none'}")
            raise Refused(f"{agent.name} has no specialty {word!r}; {hint}")
    added = [word for word in add if not _contains_word(spec.specialties, word)]
    removed = [word for word in spec.specialties if _contains_word(remove, word)]
    if not added and not removed:
        raise Refused(f"{agent.name} has these specialties already; nothing to change")
    specialties = [word for word in spec.specialties if word not in removed]
    new = copy_with(spec, specialties=_insert_words(specialties, add))
    event = CapabilitiesChanged(
        agent_id=agent.id,
        spec=new,
        added=added,
        removed=removed,
        queues=able_queues_for(state, agent.supervisor_id, new, agent.name),
    )
    changes = " ".join([*(f"+{word}" for word in added), *(f"-{word}" for word in removed)])
    return Decided(
        events=[event, *queue_takeovers(state, agent, event.queues)],
        summary=f"{agent.name}: {changes}",
        result={"agent_id": agent.id, "specialties": list(new.specialties)},
    )


def _normalize_words(words: Sequence[str]) -> list[str]:
    unique_words = list(dict.fromkeys(" ".join(word.split()) for word in words))
    if "" in unique_words:
        raise Refused("a specialty is one or more words, not an empty text")
    return unique_words


def _insert_words(specialties: Sequence[str], add: Sequence[str]) -> tuple[str, ...]:
    """Return `specialties` with the new words of `add`, each before the next existing word of `add`, else last."""
    words = [*specialties]
    place = len(specialties)
    for word in reversed(add):
        position = next((at for at, existing in enumerate(words) if existing.casefold() == word.casefold()), None)
        if position is None:
            words.insert(place, word)
        else:
            place = position
    return tuple(words)


def _contains_word(words: Sequence[str], word: str) -> bool:
    return any(candidate.casefold() == word.casefold() for candidate in words)


def mend_events(member: Agent | Supervisor) -> list[Event]:
    """Return the events that clear the error and the circuit of a member."""
    if isinstance(member, Supervisor):
        return [] if member.error is None else [SupervisorMended(supervisor_id=member.id)]
    events = manual_close_events(member)
    # Not cleared here: only the shell can tell whether the code works now, and reports it.
    if member.error is not None or member.away:
        events.append(AgentCheckAsked(agent_id=member.id))
    return events


def find_failed_supervisor(state: State, supervisor: Supervisor) -> Supervisor | None:
    """Return the nearest failed supervisor from this one upwards, if any."""
    return next((ancestor for ancestor in lineage_of(state, supervisor) if ancestor.error is not None), None)


def check_not_failed(state: State, supervisor: Supervisor) -> None:
    """Check that neither a supervisor nor one above it has failed; raises Refused if one of them has."""
    failed = find_failed_supervisor(state, supervisor)
    if failed is not None:
        raise Refused(f"{failed.error}; look at its agents, then resume {failed.name}")


def check_pool(state: State, followup: CheckPool, ctx: DecisionContext) -> list[Event]:
    """Add an instance to a pool that has to grow, or set the idle timer."""
    agent = state.agents[followup.agent_id]
    if must_grow(state, agent):
        waiting, instances = waiting_for(state, agent), "instance" if agent.size == 1 else "instances"
        reason = f"{waiting:,} wait{'s' if waiting == 1 else ''} for {agent.size:,} {instances}"
        return [_resize_event(agent, agent.size + 1, reason)]
    assert agent.idle_ms is not None
    due_ms = agent.idle_ms + _idle_ms(state, agent)
    return [PoolWatched(agent_id=agent.id, due_ms=due_ms)]


def pool_due(state: State, timer: Timer, ctx: DecisionContext) -> list[Event]:
    """Remove an instance that was idle for `idle_s`; otherwise move or drop the idle timer."""
    agent = state.agents[timer.subject]
    if agent.idle_ms is None:
        return [PoolWatched(agent_id=agent.id, due_ms=None)]
    due_ms = agent.idle_ms + _idle_ms(state, agent)
    if due_ms > ctx.now_ms:
        return [PoolWatched(agent_id=agent.id, due_ms=due_ms)]
    return [_resize_event(agent, agent.size - 1, f"idle for {_pool(state, agent).idle_s:g} s")]


def _resize_event(agent: Agent, size: int, reason: str) -> PoolResized:
    return PoolResized(agent_id=agent.id, size=size, previous=agent.size, reason=reason)


def _pool(state: State, agent: Agent) -> Pool:
    pool = state.spec_of(agent).pool
    assert pool is not None
    return pool


def _idle_ms(state: State, agent: Agent) -> int:
    return max(1, round(_pool(state, agent).idle_s * 1000))
