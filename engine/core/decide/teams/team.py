"""Decides on agents, specs, specialties, pause and resume, and the size of pools. Swaps are in `swapping`.

A decision adds one instance to a pool. Under a flood of tasks the next one follows in the same step, once the new
instance has taken what it can.
"""

import re
from collections.abc import Sequence

from engine.core import commands
from engine.core.decide.people.trust import trust
from engine.core.decide.teams.scratch import Scratch
from engine.core.decide.work.failing import closed_by_hand
from engine.core.decisions.decision_context import DecisionContext
from engine.core.decisions.outcomes import Decided, Mint
from engine.core.discovery.nearest import nearest
from engine.core.errors import DuplicateName, Refused
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
from engine.core.followups import LookAtPool
from engine.core.queries.targets import find_agent, find_any, find_spec, find_supervisor, member_name
from engine.core.queries.team.pools import must_grow, waiting_for
from engine.core.queries.team.tree import above_of
from engine.core.queries.work.placement import able_queues_for, left_behind
from engine.core.queries.work.queues import own_queue
from engine.core.records.records import JsonValue, changed
from engine.core.records.values import counted
from engine.core.specs.spec import AgentSpec, Pool
from engine.core.state import Agent, Run, State, Supervisor, Timer

MOST_ADDED_BY_A_RUN = 10
"""Agents that the agents of one run may add to the team."""
_RESERVED_NAME = re.compile(r"[a-z]\d+|else|end", re.IGNORECASE)
"""Ids, which a name would hide from commands, and words of conditions and graphs."""


def add_agent(state: State, command: commands.AddAgent, ctx: DecisionContext) -> Decided:
    """Add one agent, from a spec or from the registry, or several: all of them, or none."""
    if not command.also:
        return _add(state, ctx, command)
    scratch, done = Scratch(state, ctx), []
    further = [changed(command, spec=spec, registered=None, name=None, also=[]) for spec in command.also]
    for one in (changed(command, also=[]), *further):
        done.append(_add(scratch.state, ctx, one))
        scratch.take(done[-1].events)
    under = find_supervisor(state, command.supervisor).name
    return Decided(
        events=scratch.events,
        summary=f"added {counted(len(done), 'agent')} under {under}",
        result={"agents": [dict(one.result) for one in done]},
    )


def _add(state: State, ctx: DecisionContext, command: commands.AddAgent) -> Decided:
    # The command comes last, or `handlers_in` would take this for its handler, which calls it.
    supervisor = find_supervisor(state, command.supervisor)
    spec = wanted(state, command.spec, command.registered)
    name = command.name or spec.name
    if ctx.run_id is not None:
        _may_be_added_by_an_agent(state, ctx.run_id, name)
    events = trust(state, [spec], ctx)
    gone = room_for_one(state, supervisor, evict=command.evict)
    if gone is None or gone.name != name:
        name_is_free(state, supervisor, name)
    if gone is not None:
        evicted = AgentRemoved(agent_id=gone.id, evicted=True)
        events += [evicted, *left_behind(state, gone, ())]
    agent_id = Mint(state)("a")
    events.append(
        AgentAdded(
            agent_id=agent_id,
            name=name,
            supervisor_id=supervisor.id,
            spec=spec,
            queues=able_queues_for(state, supervisor.id, spec, name, but=gone),
            declared=command.declared,
            run_id=ctx.run_id,
        )
    )
    said = "" if gone is None else f" in the place of {gone.name}"
    result: dict[str, JsonValue] = (
        {"agent_id": agent_id} if gone is None else {"agent_id": agent_id, "evicted": gone.id}
    )
    return Decided(events=events, summary=f"added {name} under {supervisor.name}{said}", result=result)


def _may_be_added_by_an_agent(state: State, run_id: str, name: str) -> None:
    """Refuse more agents than a run may add, and names that commands of people could not tell from something else.

    Raises:
        Refused: If it may not be.
    """
    run = state.runs.get(run_id)
    most = run is not None and run.agents_added >= MOST_ADDED_BY_A_RUN
    must(not most, f"this request has made {MOST_ADDED_BY_A_RUN} agents, which is the most that it may")
    must(
        _RESERVED_NAME.fullmatch(name) is None,
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
    found = pausable(state, command.target)
    if isinstance(found, Run):
        must(not found.paused, f"run {found.id} is paused already")
        return Decided(events=[RunPaused(run_id=found.id)], summary=f"paused run {found.id}")
    must(not found.paused, f"{found.name} is paused already")
    if isinstance(found, Agent):
        return Decided(events=[AgentPaused(agent_id=found.id)], summary=f"paused {found.name}")
    return Decided(events=[SupervisorPaused(supervisor_id=found.id)], summary=f"paused {found.name}")


def resume(state: State, command: commands.Resume, ctx: DecisionContext) -> Decided:
    """Resume a paused object, and clear the error of a failed one."""
    found = pausable(state, command.target)
    return resumed(found, [] if isinstance(found, Run) else mended(found))


def resumed(found: Agent | Supervisor | Run, events: list[Event]) -> Decided:
    """Take back a pause, and mend a member by the given events."""
    if isinstance(found, Run):
        must(found.paused, f"run {found.id} is not paused")
        return Decided(events=[RunResumed(run_id=found.id)], summary=f"resumed run {found.id}")
    spent = "" if found.exhausted is None else f": {found.exhausted}; {_more_for(found)}"
    must(found.paused or bool(events), f"{found.name} is not paused{spent}")
    if found.paused and isinstance(found, Agent):
        events.append(AgentResumed(agent_id=found.id))
    elif found.paused:
        events.append(SupervisorResumed(supervisor_id=found.id))
    return Decided(events=events, summary=f"resumed {found.name}")


def _more_for(member: Agent | Supervisor) -> str:
    return "answer the question about it" if member.held else "raise its limits"


def pausable(state: State, target: str) -> Agent | Supervisor | Run:
    """Return what can be paused and resumed.

    Raises:
        Refused: If it cannot be.
    """
    found = find_any(state, target)
    if isinstance(found, Agent | Supervisor | Run):
        return found
    raise Refused(f"{found.id} cannot be paused; an agent, a supervisor or an open run can")


def wanted(state: State, spec: AgentSpec | None, registered: str | None) -> AgentSpec:
    """Return the spec of a command, given directly or by its name in the registry.

    Raises:
        Refused: If the command gives neither or both, or the name is unknown.
    """
    if spec is not None and registered is None:
        return spec
    if registered is not None and spec is None:
        return find_spec(state, registered)
    raise Refused("give either a spec or the name of one in the registry")


def name_is_free(state: State, supervisor: Supervisor, name: str) -> None:
    """Refuse a name that a member of `supervisor` has, and any name while the supervisor is being removed.

    Raises:
        DuplicateName: If one has it.
        Refused: If the supervisor is being removed.
    """
    must(supervisor.leaving is None, f"supervisor {supervisor.name!r} is being removed; nothing can go under it")
    if any(member_name(state, member_id) == name for member_id in supervisor.members):
        raise DuplicateName(name, f"supervisor {supervisor.name!r}")


def must(condition: bool, otherwise: str) -> None:
    """Raise `Refused(otherwise)` unless the condition holds."""
    if not condition:
        raise Refused(otherwise)


def room_for_one(state: State, supervisor: Supervisor, *, evict: bool) -> Agent | None:
    """Return the agent to evict before another can be added; None while there is room.

    Raises:
        Refused: If the supervisor is full, and no member may be evicted.
    """
    living = [state.agents[member_id] for member_id in supervisor.members if member_id in state.agents]
    if len(living) < supervisor.max_agents:
        return None
    full = f"supervisor {supervisor.name!r} has {len(living)} of at most {supervisor.max_agents} agents"
    if not evict:
        raise Refused(f"{full}; remove one first, or set max_agents higher")
    wanted = {task.queue for task in state.tasks.values() if not task.ended}
    idle = [agent for agent in living if _may_go(state, supervisor, agent, wanted)]
    if not idle:
        raise Refused(f"{full}, and none of them is idle; remove one, or wait")
    return min(idle, key=lambda agent: (agent.idle_since_ms, agent.created_seq))


def _may_go(state: State, supervisor: Supervisor, agent: Agent, wanted: set[str | None]) -> bool:
    """Return whether an agent may be evicted: idle, waited for by no task, and not named by its supervisor."""
    if agent.running or agent.parked or agent.stuck or agent.removing is not None:
        return False
    if own_queue(agent.id) in wanted or any(_needs(state, key, agent) for key in agent.queues if key in wanted):
        return False
    named = (supervisor.aggregator, supervisor.default_agent, supervisor.options.lead, *(supervisor.participants or ()))
    return agent.name not in named


def _needs(state: State, key: str, agent: Agent) -> bool:
    return state.queues[key].agents == [agent.id]


def change_capabilities(state: State, command: commands.ChangeCapabilities, ctx: DecisionContext) -> Decided:
    """Change the specialties of an agent, and with them its capability queues."""
    agent = find_agent(state, command.agent)
    if agent.removing is not None:
        raise Refused(f"{agent.name} is being removed; add an agent instead")
    spec = state.spec_of(agent)
    add, remove = _cleaned(command.add), _cleaned(command.remove)
    both = next((word for word in add if _has(remove, word)), None)
    if both is not None:
        raise Refused(f"{both!r} is to be added and removed; choose one")
    for word in remove:
        if not _has(spec.specialties, word):
            near = nearest(word, spec.specialties)
            known = f"did you mean {' or '.join(near)}?" if near else f"it has {', '.join(spec.specialties) or 'none'}"
            raise Refused(f"{agent.name} has no specialty {word!r}; {known}")
    added = [word for word in add if not _has(spec.specialties, word)]
    removed = [word for word in spec.specialties if _has(remove, word)]
    if not added and not removed:
        raise Refused(f"{agent.name} has these specialties already; nothing to change")
    kept = [word for word in spec.specialties if word not in removed]
    new = changed(spec, specialties=_placed(kept, add))
    event = CapabilitiesChanged(
        agent_id=agent.id,
        spec=new,
        added=added,
        removed=removed,
        queues=able_queues_for(state, agent.supervisor_id, new, agent.name),
    )
    said = " ".join([*(f"+{word}" for word in added), *(f"-{word}" for word in removed)])
    return Decided(
        events=[event, *left_behind(state, agent, event.queues)],
        summary=f"{agent.name}: {said}",
        result={"agent_id": agent.id, "specialties": list(new.specialties)},
    )


def _cleaned(words: Sequence[str]) -> list[str]:
    found = list(dict.fromkeys(" ".join(word.split()) for word in words))
    if "" in found:
        raise Refused("a specialty is one or more words, not an empty text")
    return found


def _placed(kept: Sequence[str], add: Sequence[str]) -> tuple[str, ...]:
    """Return the specialties that are kept with new ones, each before the next one of `add` that is kept, else last."""
    words, place = [*kept], len(kept)
    for word in reversed(add):
        known = next((at for at, one in enumerate(words) if one.casefold() == word.casefold()), None)
        if known is None:
            words.insert(place, word)
        else:
            place = known
    return tuple(words)


def _has(words: Sequence[str], word: str) -> bool:
    return any(one.casefold() == word.casefold() for one in words)


def mended(member: Agent | Supervisor) -> list[Event]:
    """Return the events that clear the error and the circuit of a member."""
    if isinstance(member, Supervisor):
        return [] if member.error is None else [SupervisorMended(supervisor_id=member.id)]
    events = closed_by_hand(member)
    # Not cleared here: only the shell can tell whether the code works now, and reports it.
    if member.error is not None or member.away:
        events.append(AgentCheckAsked(agent_id=member.id))
    return events


def failed_above(state: State, supervisor: Supervisor) -> Supervisor | None:
    """Return the nearest failed supervisor from this one upwards, if any."""
    return next((one for one in above_of(state, supervisor) if one.error is not None), None)


def must_work(state: State, supervisor: Supervisor) -> None:
    """Refuse a request to a supervisor that has failed.

    Raises:
        Refused: If it, or one above it, has.
    """
    failed = failed_above(state, supervisor)
    if failed is not None:
        raise Refused(f"{failed.error}; look at its agents, then resume {failed.name}")


def look_at_pool(state: State, followup: LookAtPool, ctx: DecisionContext) -> list[Event]:
    """Add an instance to a pool that has to grow, or set the idle timer."""
    agent = state.agents[followup.agent_id]
    if must_grow(state, agent):
        waiting, instances = waiting_for(state, agent), "instance" if agent.size == 1 else "instances"
        reason = f"{waiting:,} wait{'s' if waiting == 1 else ''} for {agent.size:,} {instances}"
        return [_resized(agent, agent.size + 1, reason)]
    assert agent.idle_ms is not None
    due_ms = agent.idle_ms + _idle_ms(state, agent)
    return [PoolWatched(agent_id=agent.id, due_ms=due_ms)]


def watched(state: State, timer: Timer, ctx: DecisionContext) -> list[Event]:
    """Remove an instance that was idle for `idle_s`; otherwise move or drop the idle timer."""
    agent = state.agents[timer.subject]
    if agent.idle_ms is None:
        return [PoolWatched(agent_id=agent.id, due_ms=None)]
    due_ms = agent.idle_ms + _idle_ms(state, agent)
    if due_ms > ctx.now_ms:
        return [PoolWatched(agent_id=agent.id, due_ms=due_ms)]
    return [_resized(agent, agent.size - 1, f"idle for {_pool(state, agent).idle_s:g} s")]


def _resized(agent: Agent, size: int, reason: str) -> PoolResized:
    return PoolResized(agent_id=agent.id, size=size, previous=agent.size, reason=reason)


def _pool(state: State, agent: Agent) -> Pool:
    pool = state.spec_of(agent).pool
    assert pool is not None
    return pool


def _idle_ms(state: State, agent: Agent) -> int:
    return max(1, round(_pool(state, agent).idle_s * 1000))
