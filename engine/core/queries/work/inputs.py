"""The inputs of a task: outputs before it in its graph and in the graphs around it."""

from engine.core.records.values import StoredValue
from engine.core.state import State, Task, TaskStatus


def input_tasks(state: State, task: Task) -> list[Task]:
    """Return the tasks of the graph whose outputs `task` gets: `sees` if set, else all its predecessors."""
    if task.takes == "own" or not (task.after or task.sees):
        return []
    if task.sees is not None:
        sources = (state.tasks[source_id] for source_id in task.sees)
        return [source for source in sources if _passes_output(task, source, excluded_kinds=("check",))]
    reached_ids: set[str] = set()
    front = list(task.after)
    while front:
        task_id = front.pop()
        if task_id not in reached_ids:
            reached_ids.add(task_id)
            front.extend(state.tasks[task_id].after)
    parent = state.tasks[task.parent_id] if task.parent_id else None
    # In planned order: the input must not depend on which of them ended first.
    ordered = (state.tasks[child] for child in (parent.children if parent else ()) if child in reached_ids)
    return [source for source in ordered if _passes_output(task, source, excluded_kinds=("join", "check"))]


def all_input_tasks(state: State, task: Task) -> list[Task]:
    """Return the tasks whose outputs `task` gets, those of the graphs around it first."""
    if task.takes == "own":
        return []
    sources = input_tasks(state, task)
    while task.call_key is None and task.parent_id is not None:
        task = state.tasks[task.parent_id]
        sources = input_tasks(state, task) + sources
    return sources


def input_of(state: State, group: Task) -> StoredValue:
    """Return the input of a group: the last output before it if it `takes` that, else its own input."""
    sources = all_input_tasks(state, group) if group.takes == "previous" else []
    return sources[-1].output if sources else group.input


def _passes_output(task: Task, source: Task, *, excluded_kinds: tuple[str, ...]) -> bool:
    """Return whether the output of `source` is passed on; None is dropped, except in a list, to keep places."""
    has_output = source.output is not None or (task.join == "list" and source.status is TaskStatus.DONE)
    return has_output and source.kind not in excluded_kinds
