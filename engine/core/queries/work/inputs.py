"""The inputs of a task: outputs before it in its graph and in the graphs around it."""

from engine.core.records.values import StoredValue
from engine.core.state import State, Task, TaskStatus


def seen_by(state: State, task: Task) -> list[Task]:
    """Return the tasks of the graph whose outputs `task` gets: `sees` if set, else all its predecessors."""
    if task.takes == "own" or not (task.after or task.sees):
        return []
    if task.sees is not None:
        return [one for one in (state.tasks[seen] for seen in task.sees) if _counts(task, one, but=("check",))]
    reached: set[str] = set()
    front = list(task.after)
    while front:
        task_id = front.pop()
        if task_id not in reached:
            reached.add(task_id)
            front.extend(state.tasks[task_id].after)
    parent = state.tasks[task.parent_id] if task.parent_id else None
    # In planned order: the text must not depend on which of them ended first.
    ordered = (state.tasks[child] for child in (parent.children if parent else ()) if child in reached)
    return [one for one in ordered if _counts(task, one, but=("join", "check"))]


def all_seen_by(state: State, task: Task) -> list[Task]:
    """Return the tasks whose outputs `task` gets, those of the graphs around it first."""
    if task.takes == "own":
        return []
    found = seen_by(state, task)
    while task.call_key is None and task.parent_id is not None:
        task = state.tasks[task.parent_id]
        found = seen_by(state, task) + found
    return found


def input_of(state: State, group: Task) -> StoredValue:
    """Return the input of a group: the last output before it if it `takes` that, else its own input."""
    before = all_seen_by(state, group) if group.takes == "previous" else []
    return before[-1].output if before else group.input


def _counts(task: Task, before: Task, *, but: tuple[str, ...]) -> bool:
    """Return whether an output is passed on: None is dropped, except from a list, where it keeps its place."""
    has_said = before.output is not None or (task.join == "list" and before.status is TaskStatus.DONE)
    return has_said and before.kind not in but
