"""The inputs that effects carry for tasks and built-in nodes."""

from engine.core.effects import Input, Inspection
from engine.core.queries.work.inputs import all_input_tasks, input_tasks
from engine.core.state import State, Task


def inputs_of(state: State, task: Task) -> list[Input]:
    """Return the outputs that `task` gets from its graph."""
    return [_input(state, source) for source in input_tasks(state, task)]


def all_inputs_of(state: State, task: Task) -> list[Input]:
    """Return the outputs that `task` gets, those of the graphs around it first."""
    return [_input(state, source) for source in all_input_tasks(state, task)]


def _input(state: State, task: Task) -> Input:
    return Input(task_id=task.id, agent=_worker(state, task), title=task.title, output=task.output)


def source_of(state: State, task: Task) -> Task:
    """Return the task whose `takes` decides the text of `task`: itself, or a group around it."""
    while task.takes == "request" and task.call_key is None and task.parent_id is not None:
        group = state.tasks[task.parent_id]
        if group.takes == "previous":
            break  # the input of that group has been replaced by the output before it
        task = group
    return task


def looks_of(state: State, task: Task) -> list[Inspection]:
    """Return the outputs that a check inspects, whatever the status; without `sees`, the input of its graph."""
    group = state.tasks[task.parent_id or ""]
    if not task.sees:
        return [
            Inspection(task_id=group.id, agent="", title=group.title, status="done", output=group.input, error=None)
        ]
    return [
        Inspection(
            task_id=source.id,
            agent=_worker(state, source),
            title=source.title,
            status=source.status.value,
            output=source.output,
            error=source.error,
        )
        for source in (state.tasks[task_id] for task_id in task.sees)
    ]


def _worker(state: State, task: Task) -> str:
    worker = task.agent_id or task.worker_id or ""
    if worker in state.agents:
        return state.agents[worker].name
    return state.supervisors[worker].name if worker in state.supervisors else task.title
