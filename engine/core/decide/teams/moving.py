"""Moves an agent, or a supervisor with everything under it, to another supervisor while it works."""

from engine.core.commands import Move
from engine.core.decide.teams.scratch import Scratch
from engine.core.decide.teams.team import check_name_free, refuse_unless
from engine.core.decisions.decision_context import DecisionContext
from engine.core.decisions.outcomes import Decided
from engine.core.errors import Refused
from engine.core.events import Event, MemberMoved, MembersOrdered, QueueMade, TaskRequeued
from engine.core.queries.targets import find_member, find_supervisor
from engine.core.queries.team.tree import MAX_DEPTH, agents_in, depth_of, height_of, lineage_of, subtree_of, warning_of
from engine.core.queries.work.placement import able_agents, able_queues_for
from engine.core.queries.work.queues import able_queue, capability_of, is_for_named_members, is_shared
from engine.core.state import Agent, State, Supervisor


def move(state: State, command: Move, ctx: DecisionContext) -> Decided:
    """Move a member with its subtree; its work goes on."""
    member, parent = find_member(state, command.target), find_supervisor(state, command.parent)
    if isinstance(member, Agent):
        _check_capacity(state, parent)
    events = move_events(state, member, parent, ctx)
    if command.place is not None and command.place < len(parent.members):
        members = [*parent.members[: command.place], member.id, *parent.members[command.place :]]
        events.append(MembersOrdered(supervisor_id=parent.id, members=members))
    depth = depth_of(state, parent) + (0 if isinstance(member, Agent) else height_of(state, member))
    return with_warning(
        Decided(
            events=events,
            summary=f"moved {member.name} under {parent.name}",
            result={"id": member.id, "parent_id": parent.id},
        ),
        None if isinstance(member, Agent) else warning_of(state, depth),
    )


def move_events(state: State, member: Agent | Supervisor, parent: Supervisor, ctx: DecisionContext) -> list[Event]:
    """Return the events that put a member under another supervisor; raises Refused if it cannot go there."""
    if isinstance(member, Agent):
        return _agent_move_events(state, member, parent)
    events = _supervisor_move_events(state, member, parent)
    if not any(map(is_shared, state.queues)):
        return events
    scratch = Scratch(state, ctx)
    scratch.take(events)
    return [*events, *_serve_shared_queues(scratch.state, scratch.state.supervisors[member.id])]


def with_warning(decided: Decided, warning: str | None) -> Decided:
    """Return the decision with a warning added, if there is one."""
    if warning is None:
        return decided
    return Decided(
        events=decided.events, summary=f"{decided.summary}; {warning}", result=decided.result | {"warning": warning}
    )


def _check_capacity(state: State, parent: Supervisor) -> None:
    count = sum(member_id in state.agents for member_id in parent.members)
    if count >= parent.max_agents:
        raise Refused(f"supervisor {parent.name!r} has {count} of at most {parent.max_agents} agents; remove one first")


def _agent_move_events(state: State, agent: Agent, parent: Supervisor) -> list[Event]:
    refuse_unless(agent.supervisor_id != parent.id, f"{agent.name} is under {parent.name} already")
    refuse_unless(agent.removing is None, f"{agent.name} is being removed")
    check_name_free(state, parent, agent.name)
    event = MemberMoved(
        member_id=agent.id,
        parent_id=parent.id,
        previous_id=agent.supervisor_id,
        queues=able_queues_for(state, parent.id, state.spec_of(agent), agent.name),
    )
    return [event, *_place_again(state, agent, parent)]


def _place_again(state: State, agent: Agent, parent: Supervisor) -> list[Event]:
    """Place tasks again that wait for a capability that only the moved agent had in its old team."""
    previous = state.supervisors[agent.supervisor_id]
    prefix = able_queue(previous.id, "")
    events: list[Event] = []
    for key in agent.queues:
        if not key.startswith(prefix) or is_for_named_members(key) or state.queues[key].agents != [agent.id]:
            continue  # queues of named members are handled by `PlaceAgain`
        capability = key[len(prefix) :]
        able = able_agents(state, previous, capability, excluded=agent)
        if able:
            events.append(_queue_event(key, previous, capability, able))
            continue
        tasks = [task for task in state.tasks.values() if task.queue == key and not task.ended]
        new_key = able_queue(parent.id, capability)
        if tasks and new_key not in state.queues:
            others = able_agents(state, parent, capability, excluded=agent)
            events.append(_queue_event(new_key, parent, capability, [*others, agent.id]))
        events += [
            TaskRequeued(
                task_id=task.id,
                queue=new_key,
                reason=f"{agent.name} went under {parent.name}, and no other agent can {capability}",
            )
            for task in tasks
        ]
    return events


def _queue_event(key: str, supervisor: Supervisor, capability: str, able: list[str]) -> QueueMade:
    return QueueMade(key=key, supervisor_id=supervisor.id, capability=capability, agent_ids=able)


def _supervisor_move_events(state: State, supervisor: Supervisor, parent: Supervisor) -> list[Event]:
    refuse_unless(supervisor.parent_id != parent.id, f"{supervisor.name} is under {parent.name} already")
    refuse_unless(supervisor.leaving is None, f"supervisor {supervisor.name!r} is being removed")
    if any(below.id == parent.id for below in subtree_of(state, supervisor)):
        raise Refused(f"supervisor {parent.name!r} is {supervisor.name!r} itself or under it; choose another")
    check_name_free(state, parent, supervisor.name)
    check_depth_below(state, parent, height_of(state, supervisor))
    event = MemberMoved(member_id=supervisor.id, parent_id=parent.id, previous_id=supervisor.parent_id)
    return [event]


def _serve_shared_queues(state: State, supervisor: Supervisor) -> list[Event]:
    """Let the agents of a moved team serve the shared queues of the supervisors that are above it now."""
    joining: dict[str, list[str]] = {}
    for team in subtree_of(state, supervisor):
        for agent in agents_in(state, team):
            for key in able_queues_for(state, team.id, state.spec_of(agent), agent.name):
                if key not in agent.queues and agent.removing is None:
                    joining.setdefault(key, []).append(agent.id)
    owners = {key: state.supervisors[state.queues[key].supervisor_id] for key in joining}
    return [_queue_event(key, owners[key], capability_of(key), agent_ids) for key, agent_ids in joining.items()]


def check_depth_below(state: State, parent: Supervisor, height: int) -> None:
    """Refuse `height` more levels under `parent` if that or a supervisor above it limits depth to fewer."""
    levels = height
    for ancestor in lineage_of(state, parent):
        levels += 1
        limits = ancestor.options.limits
        if limits is not None and limits.depth is not None and levels > limits.depth:
            raise Refused(
                f"supervisor {ancestor.name!r} may be {limits.depth} levels deep, itself included; this makes {levels}"
            )
    refuse_unless(levels <= MAX_DEPTH, f"that makes {levels} levels of supervisors; {MAX_DEPTH} is the limit")
