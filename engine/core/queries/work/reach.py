"""What a command about work reaches: of an agent what it is at, of a task or a run all that is below."""

from engine.core.errors import Refused
from engine.core.queries.targets import find_any
from engine.core.queries.team.tree import below
from engine.core.state import Agent, Run, RunSummary, State, Supervisor, Task


def reached(state: State, target: str) -> list[Run | Task]:
    """Return the open run, the open task, or the tasks that an agent is at; none of them is below another.

    Raises:
        Refused: If there is none.
    """
    found = find_any(state, target)
    if isinstance(found, Supervisor):
        raise Refused(f"{found.name} is a supervisor; name one of its runs, a task or an agent")
    if isinstance(found, Agent):
        return tasks_at(state, found)
    if isinstance(found, RunSummary) or (isinstance(found, Task) and found.ended):
        what = "run" if isinstance(found, RunSummary) else "task"
        raise Refused(f"{what} {found.id} has ended already ({found.status.value})")
    return [found]


def tasks_at(state: State, agent: Agent) -> list[Run | Task]:
    """Return the tasks that an agent is at, without those below one of them.

    Raises:
        Refused: If it is at none.
    """
    tasks = [state.tasks[task_id] for task_id in (*agent.running, *agent.parked)]
    if not tasks:
        raise Refused(f"{agent.name} is working on no task")
    inner = {one.id for task in tasks for one in below(state, task)[1:]}
    return [task for task in tasks if task.id not in inner]
