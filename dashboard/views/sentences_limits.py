"""Sentences about deadlines and budgets."""

from collections.abc import Callable
from typing import Any

from dashboard.views.amounts import counted, duration
from dashboard.views.names import Names
from engine.core.events import DeadlinePassed, DeadlineSet, DeadlineWarned, GraceEnded


def _what(run_id: str, task_id: str | None, names: Names) -> str:
    return f"run {names.of(run_id)}" if task_id is None else f"task {names.of(task_id)}"


def _set(event: DeadlineSet, names: Names) -> str:
    what = _what(event.run_id, event.task_id, names)
    if event.after_ms is None:
        return f"{what} has no deadline of its own any more"
    return f"{what} has to have ended in {duration(event.after_ms)}"


def _warned(event: DeadlineWarned, names: Names) -> str:
    left_ms = max(0, event.deadline_ms - event.at_ms)
    return f"{_what(event.run_id, event.task_id, names)} has {duration(left_ms)} left until its deadline"


def _passed(event: DeadlinePassed, names: Names) -> str:
    what = _what(event.run_id, event.task_id, names)
    return f"{what}: {event.error}; {len(event.ended)} ended, {len(event.stopping)} stopping"


def _grace(event: GraceEnded, names: Names) -> str:
    what = _what(event.run_id, event.task_id, names)
    if not event.stopping:
        return f"{what} has come to rest after its deadline"
    return f"{what} did not stop in time: {counted(len(event.stopping), 'attempt')} ended where it was"


SENTENCES: dict[type, Callable[[Any, Names], str]] = {
    DeadlineSet: _set,
    DeadlineWarned: _warned,
    DeadlinePassed: _passed,
    GraceEnded: _grace,
}
