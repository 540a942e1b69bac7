"""Plans that agents wrote: tasks of one call that wait for each other, as the nodes of a graph do.

They are children of the task whose attempt asked for them, until a switch of the strategy makes nodes of them.
"""

from engine.core.state import State, Task


def plans_of(state: State, task: Task) -> list[list[str]]:
    """Return the tasks of each plan that attempts of a task have asked for, in the order of calls and of the plan."""
    plans = [call for call in task.calls.values() if call.kind == "plan"]
    return [[task_id for task_id in call.children if task_id in state.tasks] for call in plans]
