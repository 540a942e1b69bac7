"""An agent or a supervisor leaves: what becomes of its work."""

from engine.core.commands import RemoveMember
from engine.core.context import Context
from engine.core.decide.applied import Applied
from engine.core.decide.leaving import elsewhere, is_used, own_tasks, requeued
from engine.core.decide.scratch import Scratch
from engine.core.errors import Refused
from engine.core.events import Event, SupervisorRemoved
from engine.core.events.team import AgentRemoving
from engine.core.prompts import Requeue
from engine.core.queries.queues import own_queue
from engine.core.queries.targets import find_member
from engine.core.state import Agent, State, Supervisor, Task, TaskStatus
from engine.core.values import counted


def remove_member(state: State, command: RemoveMember, ctx: Context) -> Applied:
    """Begin to remove an agent, or remove a supervisor that has nothing under it."""
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
    return Applied(events=scratch.events, summary=f"removing {agent.name} ({mode})", result={"agent_id": agent.id})


def _remove_supervisor(state: State, supervisor: Supervisor) -> Applied:
    if supervisor.members:
        members = counted(len(supervisor.members), "member")
        raise Refused(f"supervisor {supervisor.name!r} has {members}; remove them first")
    if is_used(state, supervisor):
        raise Refused(f"supervisor {supervisor.name!r} is part of an open run; cancel the run or wait for it")
    if supervisor.parent_id is None and len(state.roots) == 1:
        raise Refused(f"supervisor {supervisor.name!r} is the only root; a team needs one")
    event = SupervisorRemoved(supervisor_id=supervisor.id)
    return Applied(events=[event], summary=f"removed supervisor {supervisor.name}")


def _away_from(state: State, task: Task, agent: Agent) -> Event:
    """Return the event that takes a task from a leaving agent's queue; one that another is to bring stays there."""
    if task.attempt is None or task.attempt.agent_id is None:
        return elsewhere(state, task, agent)
    return requeued(task, own_queue(task.attempt.agent_id), f"{agent.name} is removed")


def requeue(state: State, prompt: Requeue, ctx: Context) -> list[Event]:
    """Give the work of an attempt that was stopped to another agent: the one it is for, or one that is able."""
    task = state.tasks.get(prompt.task_id)
    if task is None or task.status is not TaskStatus.WAITING or task.agent_id not in state.agents:
        return []
    agent, meant = state.agents[task.agent_id], state.agents.get(task.worker_id or "")
    if meant is not None and meant.removing in (None, "drain"):
        return [requeued(task, own_queue(meant.id), f"it is for {meant.name}")]
    if agent.removing is None and task.queue is not None and meant is None:
        return [requeued(task, task.queue, f"{agent.name} was stopped")]
    return [elsewhere(state, task, agent)]
