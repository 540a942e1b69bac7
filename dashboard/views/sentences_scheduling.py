"""Sentences about priorities, and about slots that are taken from what is less urgent."""

from collections.abc import Callable
from typing import Any

from dashboard.views.names import Names
from engine.core.events import AttemptPreempted, PreemptionAsked, PrioritySet


def _set(event: PrioritySet, names: Names) -> str:
    what = f"run {names.of(event.run_id)}" if event.task_id is None else f"task {names.of(event.task_id)}"
    return f"{what} has priority {event.priority}, before {event.previous}"


def _asked(event: PreemptionAsked, names: Names) -> str:
    when = "at once" if event.now else "at its next step"
    return f"{names.of(event.task_id)} stops {when}: its slot is for {names.of(event.for_task_id)}, which is urgent"


def _preempted(event: AttemptPreempted, names: Names) -> str:
    whom = f" for {names.of(event.for_task_id)}" if event.for_task_id is not None else ""
    return f"{names.of(event.task_id)} made way{whom} and waits again; its finished steps are kept"


SENTENCES: dict[type, Callable[[Any, Names], str]] = {
    PrioritySet: _set,
    PreemptionAsked: _asked,
    AttemptPreempted: _preempted,
}
