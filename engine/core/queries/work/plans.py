"""Plans that agents delegated: tasks of one call with dependencies between them.

They are children of the asking task, until a switch of the strategy makes them nodes of the graph.
"""

from engine.core.state import State, Task


def plans_of(state: State, task: Task) -> list[list[str]]:
    """Return the tasks of each plan that a task has delegated, in the order of the calls and of the plan."""
    plans = [call for call in task.calls.values() if call.kind == "plan"]
    return [[task_id for task_id in call.children if task_id in state.tasks] for call in plans]
