"""Resolves the target of a command about work: a run, a task, or the tasks that an agent works on."""

from engine.core.errors import Refused
from engine.core.queries.targets import find_any
from engine.core.queries.team.tree import task_subtree
from engine.core.state import Agent, Run, RunSummary, State, Supervisor, Task


def work_reached_by(state: State, target: str) -> list[Run | Task]:
    """Return the open run, the open task, or the tasks that an agent works on; none of them is below another.

    Raises:
        Refused: If there is no such work.
    """
    subject = find_any(state, target)
    if isinstance(subject, Supervisor):
        raise Refused(f"{subject.name} is a supervisor; name one of its runs, a task or an agent")
    if isinstance(subject, Agent):
        return tasks_at(state, subject)
    if isinstance(subject, RunSummary) or (isinstance(subject, Task) and subject.ended):
        kind = "run" if isinstance(subject, RunSummary) else "task"
        raise Refused(f"{kind} {subject.id} has ended already ({subject.status.value})")
    return [subject]


def tasks_at(state: State, agent: Agent) -> list[Run | Task]:
    """Return the tasks that an agent works on, without those below one of them; raises Refused if it works on none."""
    tasks = [state.tasks[task_id] for task_id in (*agent.running, *agent.parked)]
    if not tasks:
        raise Refused(f"{agent.name} is working on no task")
    inner = {descendant.id for task in tasks for descendant in task_subtree(state, task)[1:]}
    return [task for task in tasks if task.id not in inner]
