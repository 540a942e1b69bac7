"""Plans that agents wrote: tasks of one call that wait for each other, as the nodes of a graph do.

They are children of the task whose attempt asked for them, until a switch of the strategy makes nodes of them. A graph
that is shown whole has them below their task: `planned_by` says whose they are, `Task.after` what each waits for.
"""

from collections.abc import Iterator

from engine.core.records import fact
from engine.core.state import State, Task


@fact
class Plan:
    """One plan that an attempt asked for."""

    asker_id: str
    """The task whose attempt wrote it."""
    call_key: str
    tasks: tuple[str, ...]
    """In the order in which they were written; `Task.after` of each says what it waits for, all within the plan."""
    open: int
    """How many of them have not ended."""


def plans_of(state: State, task: Task) -> list[Plan]:
    """Return the plans that attempts of a task have asked for, the first one first."""
    return [
        Plan(
            asker_id=task.id,
            call_key=call.key,
            tasks=tuple(one for one in call.children if one in state.tasks),
            open=call.open,
        )
        for call in task.calls.values()
        if call.kind == "plan"
    ]


def planned_by(state: State, task: Task) -> Iterator[tuple[Task, Task]]:
    """Yield the tasks of every plan below a task, each with the task that asked for it, before those that it planned.

    Args:
        state: The team.
        task: One that an agent works on. What a supervisor makes of a task of a plan is a graph of its own.
    """
    for plan in plans_of(state, task):
        for child in (state.tasks[task_id] for task_id in plan.tasks):
            yield child, task
            yield from planned_by(state, child)
