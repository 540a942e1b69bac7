"""Fold: failed tasks that are given to others, tried anew, or answered by a person."""

from engine.core.events import TaskAnswered, TaskFailedOver, TaskTriedAnew
from engine.core.fold.ending import begin_anew, end
from engine.core.fold.handlers import Handlers
from engine.core.fold.queues import dequeue, enqueue, is_ready
from engine.core.state import State, Task, TaskStatus


def _place(state: State, task: Task, queue: str) -> None:
    """Let a task wait in a queue; where it came from is remembered once one agent alone may take it."""
    dequeue(state, task)
    if (task.queue or "").startswith("able:") and not queue.startswith("able:"):
        task.came_from = task.queue
    task.queue = queue
    task.worker_id = queue.removeprefix("agent:") if queue.startswith("agent:") else None
    task.supervisor_id = state.queues[queue].supervisor_id
    if is_ready(task):
        enqueue(state, task)


def _task_failed_over(state: State, event: TaskFailedOver) -> None:
    task = state.tasks[event.task_id]
    task.retries = 0
    task.failovers += 1
    _place(state, task, event.queue)


def _task_tried_anew(state: State, event: TaskTriedAnew) -> None:
    task = state.tasks[event.task_id]
    begin_anew(task)
    task.tried_by_default = event.by == "default"
    _place(state, task, event.queue)


def _task_answered(state: State, event: TaskAnswered) -> None:
    end(state, state.tasks[event.task_id], TaskStatus.DONE)


HANDLERS: Handlers = {
    TaskFailedOver: _task_failed_over,
    TaskTriedAnew: _task_tried_anew,
    TaskAnswered: _task_answered,
}
