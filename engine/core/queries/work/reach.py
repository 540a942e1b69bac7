"""Resolves the target of a command about work: a run, a task, or the work of an agent."""

from engine.core.errors import Refused
from engine.core.queries.targets import find_any
from engine.core.queries.team.tree import task_subtree
from engine.core.state import Agent, Run, RunSummary, State, Supervisor, Task


def work_reached_by(state: State, target: str, *, begun: bool = False) -> list[Run | Task]:
    """Return the open run, the open task, or the work of an agent (see `tasks_at`); none of them is below another.

    Raises:
        Refused: If there is no such work.
    """
    subject = find_any(state, target)
    if isinstance(subject, Supervisor):
        raise Refused(f"{subject.name} is a supervisor; name one of its runs, a task or an agent")
    if isinstance(subject, Agent):
        return tasks_at(state, subject, begun=begun)
    if isinstance(subject, RunSummary) or (isinstance(subject, Task) and subject.ended):
        kind = "run" if isinstance(subject, RunSummary) else "task"
        raise Refused(f"{kind} {subject.id} has ended already ({subject.status.value})")
    return [subject]


def tasks_at(state: State, agent: Agent, *, begun: bool = False) -> list[Run | Task]:
    """Return the work of an agent, or what is `begun` of it, without tasks below others; raises Refused for none."""
    tasks = [task for task in work_of(state, agent) if task.attempts or not begun]
    if not tasks:
        raise Refused(f"{agent.name} is working on no task{'' if begun else ', and none waits for it alone'}")
    inner = {descendant.id for task in tasks for descendant in task_subtree(state, task)[1:]}
    return [task for task in tasks if task.id not in inner]


def work_of(state: State, agent: Agent) -> list[Task]:
    """Return the work of an agent: what it is at, then what waits in queues that it alone serves, begun or not.

    What others could take too is not its work.
    """
    at_work = [state.tasks[task_id] for task_id in (*agent.running, *agent.parked)]
    own = {key for key in agent.queues if state.queues[key].agents == [agent.id]}
    waiting = (task for task in state.tasks.values() if task.queue in own and task.attempt is None and not task.ended)
    return [*at_work, *waiting]
