"""The command that makes work more or less urgent while it waits or runs."""

from engine.core.commands import SetPriority
from engine.core.context import Context
from engine.core.decide.applied import Applied
from engine.core.errors import Refused
from engine.core.events import PrioritySet
from engine.core.queries.targets import find_work
from engine.core.queries.work import below
from engine.core.state import Run, RunSummary, State, Task


def set_priority(state: State, command: SetPriority, ctx: Context) -> Applied:
    """Give a run, or a task and all below it, another priority; what waits keeps since when it waits."""
    priority = command.priority
    subject = _found(state, command.target)
    if isinstance(subject, Run):
        what, run_id, task_id = f"run {subject.id}", subject.id, None
        tasks = [state.tasks[one] for one in subject.tasks]
    else:
        what, run_id, task_id = f"task {subject.id}", subject.run_id, subject.id
        tasks = below(state, subject)
    work = [task for task in tasks if task.kind == "agent" and not task.ended]
    if subject.priority == priority and all(task.priority == priority for task in work):
        raise Refused(f"{what} has priority {priority} already")
    event = PrioritySet(run_id=run_id, task_id=task_id, priority=priority, previous=subject.priority)
    at_work = sum(task.attempt is not None for task in work)
    waiting = len(work) - at_work
    return Applied(
        events=[event],
        summary=f"{what} has priority {priority}, before {subject.priority}: {waiting} not begun, {at_work} at work",
        result={"priority": priority, "previous": subject.priority, "waiting": waiting, "at_work": at_work},
    )


def _found(state: State, target: str) -> Run | Task:
    found = find_work(state, target)
    if isinstance(found, RunSummary):
        raise Refused(f"run {found.id} has ended already ({found.status.value}); nothing of it can be urgent")
    if isinstance(found, Task) and found.ended:
        raise Refused(f"task {found.id} has ended already ({found.status.value}); nothing of it can be urgent")
    return found
