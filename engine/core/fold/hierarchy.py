"""Fold: members moved, supervisors changed and leaving, pools resized."""

from engine.core.events import MemberMoved, PoolResized, PoolWatched, SupervisorChanged, SupervisorLeaving
from engine.core.fold.handlers import Handlers
from engine.core.fold.pools import pool_resized, pool_watched
from engine.core.fold.queues import back_queue, own_queue, refresh_agent, refresh_below, refresh_queue, serve
from engine.core.state import Agent, State


def _member_moved(state: State, event: MemberMoved) -> None:
    if event.previous_id is not None:
        state.supervisors[event.previous_id].members.remove(event.member_id)
    state.supervisors[event.parent_id].members.append(event.member_id)
    agent = state.agents.get(event.member_id)
    if agent is None:
        state.supervisors[event.member_id].parent_id = event.parent_id
        refresh_below(state, state.supervisors[event.member_id])
    else:
        _move_agent(state, agent, event)
        for supervisor_id in (event.previous_id, event.parent_id):
            refresh_below(state, state.supervisors[supervisor_id or ""])


def _move_agent(state: State, agent: Agent, event: MemberMoved) -> None:
    """Take its queues and the slots that it holds along, and leave the queues of those that it was among."""
    before, now = state.supervisors[agent.supervisor_id], state.supervisors[event.parent_id]
    slots = len(agent.running)
    before.running -= slots
    now.running += slots
    for key in (own_queue(agent.id), back_queue(agent.id)):
        before.open.pop(key, None)
        state.queues[key].supervisor_id = now.id
    agent.supervisor_id = now.id
    serve(state, agent, event.queues)
    for key in (own_queue(agent.id), back_queue(agent.id)):
        refresh_queue(state, state.queues[key])


def _supervisor_changed(state: State, event: SupervisorChanged) -> None:
    supervisor = state.supervisors[event.supervisor_id]
    supervisor.participants = event.participants
    supervisor.auto_discover = event.auto_discover
    supervisor.max_matches = event.max_matches
    supervisor.default_agent = event.default_agent
    supervisor.max_parallel = event.max_parallel
    supervisor.max_agents = event.max_agents
    supervisor.options = event.options
    refresh_below(state, supervisor)


def _supervisor_leaving(state: State, event: SupervisorLeaving) -> None:
    state.supervisors[event.supervisor_id].leaving = event.mode
    state.leaving[event.supervisor_id] = 0


def _pool_resized(state: State, event: PoolResized) -> None:
    refresh_agent(state, pool_resized(state, event))


HANDLERS: Handlers = {
    MemberMoved: _member_moved,
    SupervisorChanged: _supervisor_changed,
    SupervisorLeaving: _supervisor_leaving,
    PoolResized: _pool_resized,
    PoolWatched: pool_watched,
}
