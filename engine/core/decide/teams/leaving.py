"""Decides on the removal of agents and supervisors, and on their work."""

from collections.abc import Iterator
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
from engine.core.queries.team.tree import above_of, below_of
from engine.core.queries.work.placement import left_behind, stand_ins
from engine.core.queries.work.queues import is_of_few, own_queue
from engine.core.records.values import counted
from engine.core.state import Agent, State, Supervisor, Task, TaskStatus


def is_used(state: State, supervisor: Supervisor) -> bool:
    """Return True while an open run or task belongs to `supervisor`."""
    if any(run.supervisor_id == supervisor.id for run in state.runs.values()):
        return True
    return any(_is_of(task, {supervisor.id}) for task in state.tasks.values())


def _is_of(task: Task, supervisor_ids: set[str]) -> bool:
    return not task.ended and (task.supervisor_id in supervisor_ids or task.worker_id in supervisor_ids)


def sent_away(state: State, supervisor: Supervisor, mode: Literal["drain", "abort"]) -> list[Event]:
    """Return the events by which a supervisor and its subtree begin to leave.

    Args:
        supervisor: The supervisor to remove.
        mode: Whether its open work is finished or stopped.
    """
    subtree = list(below_of(state, supervisor))
    events: list[Event] = [
        SupervisorLeaving(supervisor_id=one.id, mode=mode)
        for one in subtree
        if one.leaving is None or (one.leaving == "drain" and mode == "abort")
    ]
    if mode == "abort":
        ids = {one.id for one in subtree}
        tops = [task for task in state.tasks.values() if _is_of(task, ids) and not _is_under(state, task, ids)]
        events += stop_all(state, tops, f"{supervisor.name} is removed")
    return events


def _is_under(state: State, task: Task, supervisor_ids: set[str]) -> bool:
    """Return whether an ancestor of `task` belongs to these supervisors, so that stopping it stops `task` too."""
    return any(_is_of(above, supervisor_ids) for above in above_of(state, task) if above is not task)


def own_tasks(state: State, agent: Agent) -> Iterator[Task]:
    """Yield open tasks of the agent's own queue that it is not working on, including tasks that another agent runs."""
    key = own_queue(agent.id)
    for task in state.tasks.values():
        if task.queue == key and not task.ended and (task.attempt is None or task.attempt.agent_id != agent.id):
            yield task


def check_leaving(state: State, followup: CheckLeaving, ctx: DecisionContext) -> list[Event]:
    """Remove agents without work, then the agents of supervisors without work, then those supervisors."""
    events: list[Event] = []
    for one in state.leaving:
        agent = state.agents.get(one)
        if agent is not None and not (agent.running or agent.parked or any(own_tasks(state, agent))):
            # One at a time: which agents take over its queues depends on the remaining ones.
            removed = AgentRemoved(agent_id=agent.id)
            return [*_left_over(state, agent, ctx), removed, *left_behind(state, agent, ())]
    for supervisor in (state.supervisors[one] for one in state.leaving if one in state.supervisors):
        if is_used(state, supervisor):
            continue
        agents = [state.agents[one] for one in supervisor.members if one in state.agents]
        events += [AgentRemoving(agent_id=agent.id, mode="drain") for agent in agents if not agent.removing]
        if not supervisor.members:
            events.append(SupervisorRemoved(supervisor_id=supervisor.id))
    return events


def _left_over(state: State, agent: Agent, ctx: DecisionContext) -> list[Event]:
    """Return the events for tasks in queues of named members of whom `agent` is the last."""
    keys = {key for key in agent.queues if _is_last(state, agent, key)}
    tasks = [task for task in state.tasks.values() if task.queue in keys and not task.ended] if keys else []
    if not tasks:
        return []
    # Each stand-in is chosen by its load, which includes the tasks that were moved before.
    scratch = Scratch(state, ctx)
    for task in tasks:
        scratch.take([elsewhere(scratch.state, scratch.state.tasks[task.id], agent)])
    return scratch.events


def _is_last(state: State, agent: Agent, key: str) -> bool:
    return is_of_few(key) and state.queues[key].agents == [agent.id]


def elsewhere(state: State, task: Task, agent: Agent) -> Event:
    """Return the event that moves a task of a leaving agent to a stand-in, or ends it if there is none."""
    if task.queue is not None and task.queue.startswith("able:") and not _is_last(state, agent, task.queue):
        return requeued(task, task.queue, f"{agent.name} is removed")
    other = next(stand_ins(state, task, or_waits=True), None)
    if other is not None:
        return requeued(task, own_queue(other.id), f"{agent.name} is removed; {other.name} takes over")
    if _is_not_needed(state, task):
        return TaskSkipped(task_id=task.id, reason=f"{agent.name} was removed; it goes on without", optional=True)
    return TaskFailed(task_id=task.id, error=f"{agent.name} was removed and no other agent has one of its specialties")


def _is_not_needed(state: State, task: Task) -> bool:
    """Return True for a review without which the graph can go on.

    A draft stands without its scorer; work that needs approval needs another reviewer.
    """
    following = [state.tasks[one] for one in task.before]
    asked = {one.check.what for one in following if one.check is not None}
    others = (state.tasks[one] for check in following for one in check.after if one != task.id)
    is_reviewed = any(not one.ended or one.status is TaskStatus.DONE for one in others)
    return "score" in asked or ("approved" in asked and is_reviewed)


def requeued(task: Task, queue: str, reason: str) -> Event:
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
            f"{agent.name} is at work on {busy} and has {counted(len(waiting), 'task')} of its own waiting; "
            "say what becomes of them: --mode drain, requeue or abort"
        )
    if agent.removing is not None and (command.mode or "drain") == agent.removing:
        raise Refused(f"{agent.name} is being removed already ({agent.removing})")
    mode = command.mode or "drain"
    scratch = Scratch(state, ctx)
    scratch.take([AgentRemoving(agent_id=agent.id, mode=mode)])
    for task in waiting if mode != "drain" else ():
        scratch.take([_away_from(scratch.state, scratch.state.tasks[task.id], agent)])
    return Decided(events=scratch.events, summary=f"removing {agent.name} ({mode})", result={"agent_id": agent.id})


def _remove_supervisor(state: State, supervisor: Supervisor) -> Decided:
    if supervisor.members:
        members = counted(len(supervisor.members), "member")
        raise Refused(f"supervisor {supervisor.name!r} has {members}; remove them first")
    if is_used(state, supervisor):
        raise Refused(f"supervisor {supervisor.name!r} is part of an open run; cancel the run or wait for it")
    if supervisor.parent_id is None and len(state.roots) == 1:
        raise Refused(f"supervisor {supervisor.name!r} is the only root; a team needs one")
    event = SupervisorRemoved(supervisor_id=supervisor.id)
    return Decided(events=[event], summary=f"removed supervisor {supervisor.name}")


def _away_from(state: State, task: Task, agent: Agent) -> Event:
    """Return the event that moves a task out of a leaving agent's queue; one at work elsewhere goes to that agent."""
    if task.attempt is None or task.attempt.agent_id is None:
        return elsewhere(state, task, agent)
    return requeued(task, own_queue(task.attempt.agent_id), f"{agent.name} is removed")


def requeue(state: State, followup: Requeue, ctx: DecisionContext) -> list[Event]:
    """Move the task of a stopped attempt: to the agent it is for, its shared queue, or a stand-in."""
    task = state.tasks.get(followup.task_id)
    if task is None or task.status is not TaskStatus.WAITING or task.agent_id not in state.agents:
        return []
    agent, meant = state.agents[task.agent_id], state.agents.get(task.worker_id or "")
    if meant is not None and meant.removing in (None, "drain"):
        return [requeued(task, own_queue(meant.id), f"it is for {meant.name}")]
    if agent.removing is None and task.queue is not None and meant is None:
        return [requeued(task, task.queue, f"{agent.name} was stopped")]
    return [elsewhere(state, task, agent)]
