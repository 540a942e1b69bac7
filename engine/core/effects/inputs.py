"""What a task is given to work on: outputs before it in its graph, and in the graphs around it."""

from engine.core.effects.records import Input, Look
from engine.core.state import State, Task, TaskStatus


def inputs_of(state: State, task: Task) -> list[Input]:
    """Return the outputs that `task` gets of its graph: those it sees, else all before it in the order of the plan."""
    if task.takes == "own" or not (task.after or task.sees):
        return []
    if task.sees is not None:
        seen_tasks = (state.tasks[task_id] for task_id in task.sees)
        return [_input(state, one) for one in seen_tasks if _has_said(task, one) and one.kind != "check"]
    seen: set[str] = set()
    front = list(task.after)
    while front:
        task_id = front.pop()
        if task_id not in seen:
            seen.add(task_id)
            front.extend(state.tasks[task_id].after)
    parent = state.tasks[task.parent_id] if task.parent_id else None
    ordered = [task_id for task_id in (parent.children if parent else ()) if task_id in seen]
    return [
        _input(state, before)
        for before in (state.tasks[task_id] for task_id in ordered)
        if _has_said(task, before) and before.kind not in ("join", "check")
    ]


def _has_said(task: Task, before: Task) -> bool:
    """Return whether an output counts: None is no answer, but keeps its place in a list."""
    return before.output is not None or (task.join == "list" and before.status is TaskStatus.DONE)


def _input(state: State, task: Task) -> Input:
    return Input(task_id=task.id, agent=_worker(state, task), title=task.title, output=task.output)


def source_of(state: State, task: Task) -> Task:
    """Return the task whose place in its graph says what text `task` gets: its own, or that of the group around it."""
    while task.takes == "request" and task.call_key is None and task.parent_id is not None:
        group = state.tasks[task.parent_id]
        if group.takes == "previous":
            break  # the group's input is the output before it already
        task = group
    return task


def all_inputs_of(state: State, task: Task) -> list[Input]:
    """Return the outputs before `task` in its graph, after those before the groups around it."""
    if task.takes == "own":
        return []
    inputs = inputs_of(state, task)
    while task.call_key is None and task.parent_id is not None:
        task = state.tasks[task.parent_id]
        inputs = inputs_of(state, task) + inputs
    return inputs


def looks_of(state: State, task: Task) -> list[Look]:
    """Return what a built-in node looks at, done or not: what it sees, else the input of its graph."""
    group = state.tasks[task.parent_id or ""]
    if not task.sees:
        return [Look(task_id=group.id, agent="", title=group.title, status="done", output=group.input, error=None)]
    return [
        Look(
            task_id=one.id,
            agent=_worker(state, one),
            title=one.title,
            status=one.status.value,
            output=one.output,
            error=one.error,
        )
        for one in (state.tasks[task_id] for task_id in task.sees)
    ]


def _worker(state: State, task: Task) -> str:
    worker = task.agent_id or task.worker_id or ""
    if worker in state.agents:
        return state.agents[worker].name
    return state.supervisors[worker].name if worker in state.supervisors else task.title
