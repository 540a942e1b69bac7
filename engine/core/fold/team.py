"""Fold: supervisors, agents, specs, queues by capability."""

from engine.core import events
from engine.core.fold.accounting import charge, forget_budget, note_spec, note_supervisor
from engine.core.fold.completion import forget_drain, forget_grants
from engine.core.fold.declared import declare, forget_declared
from engine.core.fold.memory import forget_insights
from engine.core.fold.queues import leave, queue_with, serve
from engine.core.fold.slots import ask_to_stop, forget_pool, mark_agent, mark_changed, refresh_agent, set_slots
from engine.core.fold.spending import hand_spending_up, keep_spending
from engine.core.fold.timers import drop_timer, note_id
from engine.core.fold.times import note_stoppage
from engine.core.fold.windows import close_window, hand_window_up
from engine.core.queries.team.code import code_of
from engine.core.queries.team.declared import OWN_SETTINGS, STRATEGY
from engine.core.queries.work.queues import own_queue
from engine.core.specs.spec import AgentSpec, spec_hash
from engine.core.state import NO_CODE_HASHES, Agent, State, Supervisor


def add_spec(state: State, spec: AgentSpec) -> str:
    """Add a spec to the registry, and return its content hash."""
    key = spec_hash(spec)
    state.specs[key] = spec
    state.registry[spec.name] = key
    note_spec(state, key, spec)
    return key


def forget_unused_specs(state: State) -> None:
    """Drop specs that no agent, registry entry, declaration or undoable command refers to."""
    used = {key for agent in state.agents.values() for key in (agent.spec, agent.previous)}
    used.update(state.registry.values())
    used.update(declaration.spec for declaration in state.declared.values() if declaration.spec is not None)
    used.update(key for undoable in state.undoable.values() for key in undoable.specs)
    for key in [key for key in state.specs if key not in used]:
        del state.specs[key]
        state.limited.pop(key, None)


def _supervisor_added(state: State, event: events.SupervisorAdded) -> None:
    note_id(state, event.supervisor_id)
    if event.declared:
        declare(state, event.supervisor_id, event.name, event.parent_id)
    state.supervisors[event.supervisor_id] = Supervisor(
        id=event.supervisor_id,
        name=event.name,
        parent_id=event.parent_id,
        **{name: getattr(event, name) for name in (*STRATEGY, *OWN_SETTINGS, "options")},
    )
    if event.parent_id is not None:
        state.supervisors[event.parent_id].members.append(event.supervisor_id)
    supervisor = state.supervisors[event.supervisor_id]
    note_supervisor(state, supervisor)
    mark_changed(state, supervisor)


def _supervisor_removed(state: State, event: events.SupervisorRemoved) -> None:
    supervisor = state.supervisors.pop(event.supervisor_id)
    forget_insights(state, supervisor)
    state.leaving.pop(supervisor.id, None)
    state.limited.pop(supervisor.id, None)
    hand_window_up(state, supervisor.id, supervisor.parent_id)
    hand_spending_up(state, supervisor.id, supervisor.parent_id)
    forget_budget(state, supervisor.id)
    forget_declared(state, supervisor.id, supervisor.name, supervisor.parent_id)
    parent = state.supervisors[supervisor.parent_id] if supervisor.parent_id is not None else None
    if parent is not None:
        parent.members.remove(supervisor.id)
    for key in [key for key, queue in state.queues.items() if queue.supervisor_id == supervisor.id]:
        del state.queues[key]
        mark_changed(state, key)
    mark_changed(state, supervisor)


def _supervisor_paused(state: State, event: events.SupervisorPaused | events.SupervisorResumed) -> None:
    state.supervisors[event.supervisor_id].paused = isinstance(event, events.SupervisorPaused)
    _set_aside(state, event)
    note_stoppage(state, state.supervisors[event.supervisor_id])
    mark_changed(state, state.supervisors[event.supervisor_id])


def _set_aside(state: State, event: events.Event) -> None:
    if isinstance(event, events.AgentPaused | events.SupervisorPaused):
        for task_id in event.stopping:
            ask_to_stop(state.tasks[task_id], "pause")


def _spec_registered(state: State, event: events.SpecRegistered) -> None:
    add_spec(state, event.spec)
    forget_unused_specs(state)


def _spec_unregistered(state: State, event: events.SpecUnregistered) -> None:
    state.registry.pop(event.name, None)
    forget_unused_specs(state)


def _agent_added(state: State, event: events.AgentAdded) -> None:
    note_id(state, event.agent_id)
    agent = Agent(
        id=event.agent_id,
        name=event.name,
        supervisor_id=event.supervisor_id,
        spec=add_spec(state, event.spec),
        origin=event.origin,
        recipe_id=event.origin.id if event.origin is not None and event.origin.kind == "recipe" else None,
        created_seq=state.seq,
        idle_since_ms=state.at_ms,
    )
    state.agents[agent.id] = agent
    if event.declared:
        declare(state, agent.id, agent.name, agent.supervisor_id)
    note_code(state, agent)
    set_slots(state, agent, event.spec)
    state.supervisors[agent.supervisor_id].members.append(agent.id)
    serve(state, agent, event.queues)
    if (run := state.runs.get(event.run_id or "")) is not None:
        if agent.is_found:
            run.agents_found += 1
        else:
            run.agents_added += 1


def note_code(state: State, agent: Agent) -> None:
    """Record the code hashes of the current and the previous generation."""
    now, before = code_of(state.trusted, state.spec_of(agent)), state.code.get(agent.id, NO_CODE_HASHES)[0]
    if now or before:
        state.code[agent.id] = (now, before)


def _agent_removing(state: State, event: events.AgentRemoving) -> None:
    agent = state.agents[event.agent_id]
    agent.removing = event.mode
    agent.probation = None  # a rollback would swap an agent that is leaving
    state.leaving[agent.id] = 0
    if event.mode != "drain":
        for task_id in (*agent.running, *agent.parked):
            ask_to_stop(state.tasks[task_id], "requeue")
    refresh_agent(state, agent)


def _agent_removed(state: State, event: events.AgentRemoved) -> None:
    agent = state.agents.pop(event.agent_id)
    close_window(state, agent)
    keep_spending(state, agent)
    forget_insights(state, agent)
    forget_grants(state, agent.id)
    state.leaving.pop(agent.id, None)
    state.code.pop(agent.id, None)
    drop_timer(state, "circuit", agent.id)
    forget_budget(state, agent.id)
    forget_declared(state, agent.id, agent.name, agent.supervisor_id)
    state.supervisors[agent.supervisor_id].members.remove(agent.id)
    forget_drain(state, agent.id)
    forget_pool(state, agent)
    leave(state, agent)
    forget_unused_specs(state)


def _agent_paused(state: State, event: events.AgentPaused | events.AgentResumed) -> None:
    agent = state.agents[event.agent_id]
    agent.paused = isinstance(event, events.AgentPaused)
    agent.paused_by_agent = isinstance(event, events.AgentPaused) and event.by_agent
    if not agent.paused:
        state.queues[own_queue(agent.id)].patient = False
    _set_aside(state, event)
    refresh_agent(state, agent)


def _agent_broke(state: State, event: events.AgentBroke) -> None:
    agent = state.agents[event.agent_id]
    if event.away:
        agent.away, agent.away_reason = True, event.error
    else:
        agent.error = agent.last_error = event.error
    refresh_agent(state, agent)


def _agent_mended(state: State, event: events.AgentMended) -> None:
    agent = state.agents[event.agent_id]
    agent.error, agent.away, agent.away_reason = None, False, None
    refresh_agent(state, agent)


def _thread_returned(state: State, event: events.ThreadReturned) -> None:
    agent = state.agents[event.agent_id]
    agent.stuck = max(0, agent.stuck - 1)
    agent.stuck_since.pop(event.task_id or "", None)
    if not agent.stuck:  # the event does not name the task if its run has ended
        agent.stuck_since.clear()
    charge(state, state.tasks.get(event.task_id or ""), agent, event.usage)
    refresh_agent(state, agent)


def _queue_made(state: State, event: events.QueueMade) -> None:
    # The queue may exist without agents; its tasks continue with the new ones.
    queue = queue_with(state, event.key, event.supervisor_id)
    for agent_id in event.agent_ids:
        if agent_id in queue.agents:
            continue
        agent = state.agents[agent_id]
        queue.agents.append(agent_id)
        agent.queues.append(event.key)
        mark_agent(state, agent)
