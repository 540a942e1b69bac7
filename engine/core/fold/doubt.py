"""Fold: tool calls that have begun and may be without an end."""

from engine.core.events import DoubtSettled, ToolFailed, ToolStarted
from engine.core.fold.handlers import Handlers
from engine.core.fold.queues import dequeue, enqueue, is_ready
from engine.core.state import State, Task, TaskStatus


def doubt(state: State, task: Task) -> None:
    """Let a task wait for a person: a tool of it may have been called."""
    dequeue(state, task)
    task.status = TaskStatus.IN_DOUBT


def _tool_started(state: State, event: ToolStarted) -> None:
    state.tasks[event.task_id].calling[event.key] = event.name


def _tool_failed(state: State, event: ToolFailed) -> None:
    state.tasks[event.task_id].calling.pop(event.key, None)


def _doubt_settled(state: State, event: DoubtSettled) -> None:
    task = state.tasks[event.task_id]
    task.calling.pop(event.key, None)
    task.status = TaskStatus.WAITING
    if is_ready(task):
        enqueue(state, task, again=True)


HANDLERS: Handlers = {ToolStarted: _tool_started, ToolFailed: _tool_failed, DoubtSettled: _doubt_settled}
