"""Decides on the removal of agents and supervisors, and on their work."""

from collections.abc import Iterator, Sequence
from typing import Literal

from engine.core.commands import RemoveMember
from engine.core.decide.teams.scratch import Scratch
from engine.core.decide.work.attempts import stop_all
from engine.core.decisions.decision_context import DecisionContext
from engine.core.decisions.outcomes import Decided
from engine.core.errors import Refused
from engine.core.events import (
    AgentRemoved,
    AgentRemoving,
    Event,
    SupervisorLeaving,
    SupervisorRemoved,
    TaskFailed,
    TaskRequeued,
    TaskSkipped,
)
from engine.core.followups import CheckLeaving, Requeue
from engine.core.queries.targets import find_member
from engine.core.queries.team.tree import lineage_of, subtree_of
from engine.core.queries.work.placement import queue_takeovers, stand_ins
from engine.core.queries.work.queues import is_for_named_members, own_queue
from engine.core.queries.work.unserved import describe_lack, has_taker
from engine.core.records.values import pluralize
from engine.core.state import Agent, State, Supervisor, Task, TaskStatus


def is_used(state: State, supervisor: Supervisor) -> bool:
    """Return True while an open run or task belongs to `supervisor`."""
    if any(run.supervisor_id == supervisor.id for run in state.runs.values()):
        return True
    return any(_belongs_to(task, {supervisor.id}) for task in state.tasks.values())


def _belongs_to(task: Task, supervisor_ids: set[str]) -> bool:
    return not task.ended and (task.supervisor_id in supervisor_ids or task.worker_id in supervisor_ids)


def removal_events(state: State, supervisor: Supervisor, mode: Literal["drain", "abort"]) -> list[Event]:
    """Return the events by which a supervisor and its subtree begin to leave; `mode` says how their open work ends."""
    subtree = list(subtree_of(state, supervisor))
    events: list[Event] = [
        SupervisorLeaving(supervisor_id=team.id, mode=mode)
        for team in subtree
        if team.leaving is None or (team.leaving == "drain" and mode == "abort")
    ]
    if mode == "abort":
        ids = {team.id for team in subtree}
        tops = [task for task in state.tasks.values() if _belongs_to(task, ids) and not _is_below(state, task, ids)]
        events += stop_all(state, tops, f"{supervisor.name} is removed")
    return events


def _is_below(state: State, task: Task, supervisor_ids: set[str]) -> bool:
    """Return whether an ancestor of `task` belongs to these supervisors, so that stopping it stops `task` too."""
    return any(_belongs_to(ancestor, supervisor_ids) for ancestor in lineage_of(state, task) if ancestor is not task)


def own_tasks(state: State, agent: Agent) -> Iterator[Task]:
    """Yield open tasks of the agent's own queue that it is not working on, including tasks that another agent runs."""
    key = own_queue(agent.id)
    for task in state.tasks.values():
        if task.queue == key and not task.ended and (task.attempt is None or task.attempt.agent_id != agent.id):
            yield task


def check_leaving(state: State, followup: CheckLeaving, ctx: DecisionContext) -> list[Event]:
    """Remove agents without work, then the agents of supervisors without work, then those supervisors."""
    events: list[Event] = []
    for member_id in state.leaving:
        agent = state.agents.get(member_id)
        if agent is not None and not (agent.running or agent.parked or any(own_tasks(state, agent))):
            # One at a time: which agents take over its queues depends on the remaining ones.
            removed = AgentRemoved(agent_id=agent.id)
            return [*_empty_last_queues(state, agent, ctx), removed, *queue_takeovers(state, agent, ())]
    for supervisor in (
        state.supervisors[supervisor_id] for supervisor_id in state.leaving if supervisor_id in state.supervisors
    ):
        if is_used(state, supervisor):
            continue
        agents = [state.agents[member_id] for member_id in supervisor.members if member_id in state.agents]
        events += [AgentRemoving(agent_id=agent.id, mode="drain") for agent in agents if not agent.removing]
        if not supervisor.members:
            events.append(SupervisorRemoved(supervisor_id=supervisor.id))
    return events


def _empty_last_queues(state: State, agent: Agent, ctx: DecisionContext) -> list[Event]:
    """Return the events for tasks in queues of named members of whom `agent` is the last."""
    keys = {key for key in agent.queues if _is_last(state, agent, key)}
    tasks = [task for task in state.tasks.values() if task.queue in keys and not task.ended] if keys else []
    if not tasks:
        return []
    # Each stand-in is chosen by its load, which includes the tasks that were moved before.
    scratch = Scratch(state, ctx)
    for task in tasks:
        scratch.take([move_to_stand_in(scratch.state, scratch.state.tasks[task.id], agent)])
    return scratch.events


def _is_last(state: State, agent: Agent, key: str) -> bool:
    return is_for_named_members(key) and state.queues[key].agents == [agent.id]


def move_to_stand_in(state: State, task: Task, agent: Agent) -> Event:
    """Return the event that moves a task of a leaving agent to a stand-in, or ends it if there is none."""
    if task.queue is not None and task.queue.startswith("able:") and not _is_last(state, agent, task.queue):
        return requeue_event(task, task.queue, f"{agent.name} is removed")
    other = next(stand_ins(state, task, include_unable=True), None)
    if other is not None:
        return requeue_event(task, own_queue(other.id), f"{agent.name} is removed; {other.name} takes over")
    if _is_dispensable(state, task):
        return TaskSkipped(task_id=task.id, reason=f"{agent.name} was removed; it goes on without", optional=True)
    return TaskFailed(task_id=task.id, error=f"{agent.name} was removed and no other agent has one of its specialties")


def _is_dispensable(state: State, task: Task) -> bool:
    """Return True for a review without which the graph can go on.

    A draft stands without its scorer; work that needs approval needs another reviewer.
    """
    following = [state.tasks[task_id] for task_id in task.before]
    check_kinds = {task.check.what for task in following if task.check is not None}
    others = (state.tasks[task_id] for check in following for task_id in check.after if task_id != task.id)
    is_reviewed = any(not task.ended or task.status is TaskStatus.DONE for task in others)
    return "score" in check_kinds or ("approved" in check_kinds and is_reviewed)


def requeue_event(task: Task, queue: str, reason: str) -> Event:
    """Return the event that moves a task to another queue."""
    return TaskRequeued(task_id=task.id, queue=queue, reason=reason)


def remove_member(state: State, command: RemoveMember, ctx: DecisionContext) -> Decided:
    """Begin to remove an agent, or remove a supervisor without members."""
    agent = find_member(state, command.target)
    if isinstance(agent, Supervisor):
        return _remove_supervisor(state, agent)
    busy = len(agent.running) + len(agent.parked)
    waiting = list(own_tasks(state, agent))
    if (busy or waiting) and command.mode is None:
        raise Refused(
            f"{agent.name} is at work on {busy} and has {pluralize(len(waiting), 'task')} of its own waiting; "
            "say what becomes of them: --mode drain, requeue or abort"
        )
    if agent.removing is not None and (command.mode or "drain") == agent.removing:
        raise Refused(f"{agent.name} is being removed already ({agent.removing})")
    mode = command.mode or "drain"
    scratch = Scratch(state, ctx)
    scratch.take([AgentRemoving(agent_id=agent.id, mode=mode)])
    for task in waiting if mode != "drain" else ():
        scratch.take([_move_from(scratch.state, scratch.state.tasks[task.id], agent)])
    left = _describe_left_work(scratch, agent.id, waiting)
    return Decided(
        events=scratch.events,
        summary="; ".join([f"removing {agent.name} ({mode})", *left]),
        result={"agent_id": agent.id},
    )


def _describe_left_work(scratch: Scratch, agent_id: str, waiting: Sequence[Task]) -> Iterator[str]:
    """Yield what becomes of the work that waits for a leaving agent, in words."""
    state = scratch.state
    agent = state.agents[agent_id]
    own, others = state.queues[own_queue(agent_id)], [state.queues[key] for key in agent.queues[2:]]
    if agent.removing == "drain" and not has_taker(state, own):
        held = len(waiting) + len(agent.running) + len(agent.parked)
        if held:
            why = describe_lack(state, own).partition(",")[0]
            yield f"{pluralize(held, 'task')} of it will wait, as {why}: a person is asked"
    elif agent.removing == "drain" and waiting:
        yield f"{pluralize(len(waiting), 'task')} of its own {'is' if len(waiting) == 1 else 'are'} done first"
    moved = [event for event in scratch.events if isinstance(event, TaskRequeued)]
    lost = [event for event in scratch.events if isinstance(event, TaskFailed | TaskSkipped)]
    if moved:
        yield f"{pluralize(len(moved), 'task')} of its own {'goes' if len(moved) == 1 else 'go'} to others"
    if lost:
        yield f"{pluralize(len(lost), 'task')} of its own {'ends' if len(lost) == 1 else 'end'}: nobody else can"
    unserved = sum(queue.ready for queue in others if not has_taker(state, queue))
    if unserved:
        yield f"{pluralize(unserved, 'task')} that it alone takes go to whoever else can, or a person is asked"


def _remove_supervisor(state: State, supervisor: Supervisor) -> Decided:
    if supervisor.members:
        members = pluralize(len(supervisor.members), "member")
        raise Refused(f"supervisor {supervisor.name!r} has {members}; remove them first")
    if is_used(state, supervisor):
        raise Refused(f"supervisor {supervisor.name!r} is part of an open run; cancel the run or wait for it")
    if supervisor.parent_id is None and len(state.roots) == 1:
        raise Refused(f"supervisor {supervisor.name!r} is the only root; a team needs one")
    event = SupervisorRemoved(supervisor_id=supervisor.id)
    return Decided(events=[event], summary=f"removed supervisor {supervisor.name}")


def _move_from(state: State, task: Task, agent: Agent) -> Event:
    """Return the event that moves a task out of a leaving agent's queue; one at work elsewhere goes to that agent."""
    if task.attempt is None or task.attempt.agent_id is None:
        return move_to_stand_in(state, task, agent)
    return requeue_event(task, own_queue(task.attempt.agent_id), f"{agent.name} is removed")


def requeue(state: State, followup: Requeue, ctx: DecisionContext) -> list[Event]:
    """Move the task of a stopped attempt: to the agent it is for, its shared queue, or a stand-in."""
    task = state.tasks.get(followup.task_id)
    if task is None or task.status is not TaskStatus.WAITING or task.agent_id not in state.agents:
        return []
    agent, worker = state.agents[task.agent_id], state.agents.get(task.worker_id or "")
    if worker is not None and worker.removing in (None, "drain"):
        return [requeue_event(task, own_queue(worker.id), f"it is for {worker.name}")]
    if agent.removing is None and task.queue is not None and worker is None:
        return [requeue_event(task, task.queue, f"{agent.name} was stopped")]
    return [move_to_stand_in(state, task, agent)]
