"""What every event says besides what happened: when, and in which run."""

from collections.abc import Iterable
from dataclasses import fields

from engine.core.events import EVENTS, Event
from engine.core.state import State

_OF_TASKS = frozenset(
    one for one in EVENTS if any(each.name == "run_id" and each.default == "" for each in fields(one))
)


def stamped(state: State, events: Iterable[Event], at_ms: int) -> list[Event]:
    """Return events that were just decided, with the time and the run of their task where these are not said yet."""
    found = list(events)
    for event in found:
        if not event.at_ms:
            object.__setattr__(event, "at_ms", at_ms)
        if type(event) in _OF_TASKS and not event.run_id:  # type: ignore[union-attr]
            object.__setattr__(event, "run_id", state.tasks[event.task_id].run_id)  # type: ignore[union-attr, index]
    return found
