"""What every fold handler uses: the shape of a table of handlers, ids that are taken, timers set and dropped."""

from collections.abc import Callable
from typing import Any, TypeAlias

from engine.core.state import State, Timer, timer_id

OF_TASKS: tuple[str, ...] = ("retry", "warn", "deadline", "grace", "time")
"""Kinds of timers that tasks have; they end with the task."""
OF_RUNS: tuple[str, ...] = ("warn", "deadline", "grace", "time")
"""Kinds of timers that runs have."""


def set_timer(state: State, kind: str, subject: str, due_ms: int) -> None:
    """Let `subject` wait for a moment; an earlier timer of the kind is replaced."""
    key = timer_id(kind, subject)
    state.timers[key] = Timer(id=key, due_ms=due_ms, kind=kind, subject=subject)


def drop_timer(state: State, kind: str, subject: str) -> None:
    """Wait no more."""
    state.timers.pop(timer_id(kind, subject), None)


def drop_all(state: State, kinds: tuple[str, ...], subject: str) -> None:
    """Drop the timers of something that has ended."""
    if state.timers:
        for kind in kinds:
            state.timers.pop(timer_id(kind, subject), None)


Handlers: TypeAlias = dict[type, Callable[[State, Any], None]]
"""From the class of an event to what applies it."""


def note(state: State, entity_id: str) -> None:
    """Remember that `entity_id` is taken, so that the next id of its letter is above it."""
    letter, number = entity_id[0], int(entity_id[1:])
    if number > state.minted.get(letter, 0):
        state.minted[letter] = number
