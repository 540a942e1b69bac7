"""Sentences about failures: who takes over, what a person said, circuits and restarts."""

from collections.abc import Callable
from typing import Any

from dashboard.views.names import Names
from engine.core.events import TaskAnswered, TaskFailedOver, TaskTriedAnew


def _failed_over(event: TaskFailedOver, names: Names) -> str:
    return f"{names.of(event.task_id)} went to {names.of(event.to_id)}: {event.reason}"


def _tried_anew(event: TaskTriedAnew, names: Names) -> str:
    who = "nobody answered, so" if event.by == "default" else "a person says that"
    return f"{who} {names.of(event.task_id)} is tried again"


def _answered(event: TaskAnswered, names: Names) -> str:
    return f"{names.of(event.task_id)} is done: a person gave its output"


SENTENCES: dict[type, Callable[[Any, Names], str]] = {
    TaskFailedOver: _failed_over,
    TaskTriedAnew: _tried_anew,
    TaskAnswered: _answered,
}
