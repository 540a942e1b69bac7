"""Registry of laws: `@law(...)` says when each is checked."""

from collections.abc import Callable
from dataclasses import fields
from enum import Enum, auto
from typing import Any, TypeAlias, TypeVar

from engine.core.events import Event

SAMPLE = 25
"""One batch in SAMPLE gets the expensive checks."""
Law: TypeAlias = Callable[..., str | None]
L = TypeVar("L", bound=Law)


class When(Enum):
    """Moments besides events, with the arguments of a law then."""

    ON_EVERY_EVENT = auto()
    """Before any event is folded: the ledger and the event, as at one class of events."""
    AFTER_BATCH = auto()
    """After each write: the ledger."""
    SAMPLED = auto()
    """After one write in `SAMPLE`, as it takes long: the world."""
    ON_BEGIN = auto()
    """When an agent begins: the ledger and its `Work`."""
    ON_READ = auto()
    """When an agent has read its task: the ledger, and its `Work` with the `Task`."""
    ON_CALL = auto()
    """When a tool is called that must not be called twice: the ledger and the `Work` of its attempt."""
    ON_STEP = auto()
    """When a step or a tool call begins: the ledger, the `Work` of its attempt, and its name."""
    AT_MOMENTS = auto()
    """Whenever an operator wakes, because the clock moves only when nothing else can happen: the world."""
    AT_REST = auto()
    """When nothing is at work, no timer is set, nothing is paused, missing or full: the world."""
    AT_THE_END = auto()
    """Once the last engine has ended: the world."""


LAWS: dict[type[Event] | When, tuple[Law, ...]] = {}
"""The laws of each moment, and of each class of events; the latter are checked before the event is folded."""


def law(*moments: type[Event] | When) -> Callable[[L], L]:
    """Register a function as a law that is checked at each of these moments."""

    def register(check: L) -> L:
        for moment in moments:
            LAWS[moment] = (*LAWS.get(moment, ()), check)
        return check

    return register


def describe_difference(actual: Any, expected: Any) -> str:
    """Return the first field in which what the state says of something differs from what events say."""
    pairs = (
        (field.name, getattr(actual, field.name), getattr(expected, field.name))
        for field in fields(expected)
        if field.compare
    )
    name, actual_value, expected_value = next(
        (name, actual_value, expected_value)
        for name, actual_value, expected_value in pairs
        if actual_value != expected_value
    )
    return f"{name} of {actual.id} is {actual_value!r:.80}; events say {expected_value!r:.80}"
