"""A task is given to another agent by hand, waiting or at work."""

from engine.core.commands import Reassign
from engine.core.context import Context
from engine.core.decide.applied import Applied
from engine.core.errors import Refused
from engine.core.events import TaskReassigned
from engine.core.queries.able import why_not_able
from engine.core.queries.queues import own_queue
from engine.core.queries.targets import find_agent, find_task
from engine.core.queries.work import is_cancelled
from engine.core.state import Agent, State, Task


def reassign(state: State, command: Reassign, ctx: Context) -> Applied:
    """Give a task to an agent; one at work stops, and goes on there with its finished steps."""
    task = find_task(state, command.task)
    agent = find_agent(state, command.agent)
    why_not = _of_task(state, task) or _of_agent(state, task, agent)
    if why_not is not None:
        raise Refused(why_not)
    attempt = task.attempt
    event = TaskReassigned(
        task_id=task.id,
        agent_id=agent.id,
        supervisor_id=agent.supervisor_id,
        stopping=attempt.number if attempt is not None else None,
        now=command.now and attempt is not None,
    )
    return Applied(
        events=[event],
        summary=f"gave {task.id} to {agent.name}{_when(event)}",
        result={"task_id": task.id, "agent_id": agent.id, "stopping": attempt is not None},
    )


def _when(event: TaskReassigned) -> str:
    if event.stopping is None:
        return ""
    return "; it is stopped now" if event.now else "; it goes there at its next step"


def _of_task(state: State, task: Task) -> str | None:
    if task.kind != "agent":
        return f"task {task.id} is the work of no agent ({task.kind}); reassign a task under it"
    if task.ended:
        return f"task {task.id} has ended already ({task.status.value}); nothing to reassign"
    if is_cancelled(state, task):
        return f"task {task.id} is being cancelled"
    if task.escalation_id is not None:
        return f"task {task.id} waits for a person; answer {task.escalation_id} first"
    return None


def _of_agent(state: State, task: Task, agent: Agent) -> str | None:
    why_not = why_not_able(state, agent)
    if why_not is not None:
        return f"{agent.name} {why_not}; choose another agent"
    attempt = task.attempt
    if attempt is not None and attempt.agent_id == agent.id and attempt.stopping is None:
        return f"{agent.name} works on task {task.id} already"
    if task.queue == own_queue(agent.id):
        return f"task {task.id} is for {agent.name} already"
    return None
