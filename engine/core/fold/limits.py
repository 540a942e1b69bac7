"""Fold: deadlines and budgets, and what ends because of them.

What has a deadline of its own has its timers; what is below it has the same moment or an earlier one of its own.
"""

from engine.core.events import DeadlinePassed, DeadlineSet, DeadlineWarned, GraceEnded
from engine.core.fold.ending import ask_to_stop, end
from engine.core.fold.handlers import Handlers
from engine.core.fold.timers import drop_timer, set_timer, timer_id
from engine.core.state import Run, State, Task, TaskStatus


def set_deadline(
    state: State, subject: Run | Task, deadline_ms: int | None, after_ms: int | None, warn_ms: int | None
) -> None:
    """Give a run or a task a deadline of its own, or take it away; what is below it follows with `follow_deadline`."""
    subject.deadline_after_ms = after_ms
    for kind, due_ms in (("deadline", deadline_ms), ("warn", warn_ms)):
        if due_ms is None:
            drop_timer(state, kind, subject.id)
        else:
            set_timer(state, kind, subject.id, due_ms)


def follow_deadline(state: State, task: Task, above_ms: int | None) -> None:
    """Give `task` and all below it the earliest of `above_ms` and of what was set for each of them."""
    front = [(task, above_ms)]
    while front:
        one, due_ms = front.pop()
        if one.deadline_after_ms is not None:
            own = state.timers.get(timer_id("deadline", one.id))
            if own is not None and (due_ms is None or own.due_ms < due_ms):
                due_ms = own.due_ms
        one.deadline_ms = due_ms
        front += [(state.tasks[child], due_ms) for child in one.children]


def deadline_above(state: State, task: Task) -> int | None:
    """Return by when what `task` is part of has to have ended."""
    above = state.tasks[task.parent_id] if task.parent_id is not None else state.runs[task.run_id]
    return above.deadline_ms


def subject_of(state: State, run_id: str, task_id: str | None) -> Run | Task:
    """Return the run or the task that a fact is about."""
    return state.runs[run_id] if task_id is None else state.tasks[task_id]


def exceed(state: State, subject: Run | Task, words: str, ended: list[str], stopping: list[str]) -> None:
    """End a run or a task, and all below it, because of a deadline or a budget."""
    root_id = subject.root_id if isinstance(subject, Run) else subject.id
    subject.exceeded = words
    subject.cancelling = True
    for task_id in stopping:
        ask_to_stop(state.tasks[task_id], "limit")
    for task_id in ended:
        status = TaskStatus.FAILED if task_id == root_id else TaskStatus.CANCELLED
        end(state, state.tasks[task_id], status, error=words)


def _deadline_set(state: State, event: DeadlineSet) -> None:
    run = state.runs[event.run_id]
    subject = subject_of(state, event.run_id, event.task_id)
    set_deadline(state, subject, event.deadline_ms, event.after_ms, event.warn_ms)
    if isinstance(subject, Run):
        run.deadline_ms = event.deadline_ms
        follow_deadline(state, state.tasks[run.root_id], run.deadline_ms)
    else:
        follow_deadline(state, subject, deadline_above(state, subject))


def _deadline_warned(state: State, event: DeadlineWarned) -> None:
    drop_timer(state, "warn", event.task_id or event.run_id)


def _deadline_passed(state: State, event: DeadlinePassed) -> None:
    subject = subject_of(state, event.run_id, event.task_id)
    drop_timer(state, "warn", subject.id)
    drop_timer(state, "deadline", subject.id)
    if event.grace_due_ms is not None:
        set_timer(state, "grace", subject.id, event.grace_due_ms)
    exceed(state, subject, event.error, event.ended, event.stopping)


def _grace_ended(state: State, event: GraceEnded) -> None:
    drop_timer(state, "grace", event.task_id or event.run_id)


HANDLERS: Handlers = {
    DeadlineSet: _deadline_set,
    DeadlineWarned: _deadline_warned,
    DeadlinePassed: _deadline_passed,
    GraceEnded: _grace_ended,
}
