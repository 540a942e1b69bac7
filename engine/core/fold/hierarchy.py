"""Fold: members moved, renamed and ordered; supervisors changed, tuned and leaving; pools resized."""

from engine.core import events
from engine.core.fold.accounting import note_supervisor
from engine.core.fold.declared import digests, record_order, record_parent, record_settings, record_spec
from engine.core.fold.memory import rehome_insights
from engine.core.fold.queues import serve
from engine.core.fold.slots import mark_stale, pool_resized, refresh_agent
from engine.core.fold.team import add_spec, forget_unused_specs
from engine.core.queries.team.declared import OWN_SETTINGS
from engine.core.queries.team.tree import agents_in, lineage_of, subtree_of
from engine.core.queries.work.queues import back_queue, own_queue
from engine.core.records.records import copy_with
from engine.core.records.shared import put
from engine.core.state import State, Supervisor, Tuning


def _member_moved(state: State, event: events.MemberMoved) -> None:
    parent = state.supervisors[event.parent_id]
    previous = state.supervisors[event.previous_id] if event.previous_id is not None else None
    if previous is not None:
        previous.members.remove(event.member_id)
    parent.members.append(event.member_id)
    agent = state.agents.get(event.member_id)
    if agent is None:
        supervisor = state.supervisors[event.member_id]
        supervisor.parent_id = parent.id
        _leave_shared_queues(state, supervisor)
    else:
        for key in (own_queue(agent.id), back_queue(agent.id)):
            state.queues[key].supervisor_id = parent.id
        agent.supervisor_id = parent.id
        serve(state, agent, event.queues)
    rehome_insights(state, agent or state.supervisors[event.member_id])
    record_parent(state, event.member_id, event.previous_id, event.parent_id)
    record_order(state, parent.id)
    mark_stale(state)


def _leave_shared_queues(state: State, supervisor: Supervisor) -> None:
    """Remove agents from shared queues of supervisors that are no longer above them."""
    for team in subtree_of(state, supervisor):
        ancestor_ids = {ancestor.id for ancestor in lineage_of(state, team)}
        for agent in agents_in(state, team):
            if any(state.queues[key].supervisor_id not in ancestor_ids for key in agent.queues):
                able = (key for key in agent.queues if key.startswith("able:"))
                serve(state, agent, [key for key in able if state.queues[key].supervisor_id in ancestor_ids])


def _member_renamed(state: State, event: events.MemberRenamed) -> None:
    agent = state.agents.get(event.member_id)
    above_id = state.supervisors[event.member_id].parent_id if agent is None else agent.supervisor_id
    for group in state.tasks.values():
        # Settings of graphs in progress keep using the former name, so those graphs record its id.
        is_planned = group.mode is not None and group.worker_id == above_id and not group.ended
        if is_planned and event.member_id not in group.called.values():
            group.called = put(group.called, event.previous, event.member_id)
    if agent is None:
        state.supervisors[event.member_id].name = event.name
        return
    agent.name = event.name
    if event.spec is not None:
        before, agent.spec = agent.spec, add_spec(state, event.spec)
        record_spec(state, agent.id, before, agent.spec)
        forget_unused_specs(state)
    serve(state, agent, event.queues)


def _members_ordered(state: State, event: events.MembersOrdered) -> None:
    state.supervisors[event.supervisor_id].members[:] = event.members
    record_order(state, event.supervisor_id)


def _supervisor_changed(state: State, event: events.SupervisorChanged) -> None:
    supervisor = state.supervisors[event.supervisor_id]
    before = digests(state, supervisor, event.fields)
    for name in (*OWN_SETTINGS, "options"):
        setattr(supervisor, name, getattr(event, name))
    record_settings(state, supervisor, before)
    note_supervisor(state, supervisor)
    mark_stale(state)


def _supervisor_leaving(state: State, event: events.SupervisorLeaving) -> None:
    state.supervisors[event.supervisor_id].leaving = event.mode
    state.leaving[event.supervisor_id] = 0


def _pool_resized(state: State, event: events.PoolResized) -> None:
    refresh_agent(state, pool_resized(state, event))


def _coordination_tuned(state: State, event: events.CoordinationTuned) -> None:
    supervisor = state.supervisors[event.supervisor_id]
    last = supervisor.tuning
    if event.kind == "back":
        assert last is not None
        supervisor.tuning = copy_with(
            last, is_on_trial=False, changed_ms=event.at_ms, given_up=[*last.given_up, last.kind]
        )
        return
    supervisor.tuning = Tuning(
        kind=event.kind,
        changed_ms=event.at_ms,
        mode=event.mode,
        balance=event.balance,
        success=event.success,
        median_ms=event.median_ms,
        given_up=[] if last is None else [*last.given_up],
    )
