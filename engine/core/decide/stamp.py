"""What every event says besides what happened: when, and in which run."""

from collections.abc import Iterable
from typing import Any

from msgspec.structs import force_setattr

from engine.core.events import EVENTS, Event
from engine.core.fact import fields
from engine.core.state import State

_OF_TASKS = frozenset(
    one for one in EVENTS if any(each.name == "run_id" and each.default == "" for each in fields(one))
)


def stamped(state: State, events: Iterable[Event], at_ms: int) -> list[Event]:
    """Return events that were just decided, with the time and the run of their task where these are not said yet."""
    found = list(events)
    event: Any
    for event in found:
        if not event.at_ms:
            force_setattr(event, "at_ms", at_ms)
        if type(event) in _OF_TASKS and not event.run_id:
            force_setattr(event, "run_id", state.tasks[event.task_id].run_id)
    return found
