"""Timers in the state: set, and dropped with what they are about."""

from engine.core.state import State, Timer

OF_TASKS: tuple[str, ...] = ("retry", "warn", "deadline", "grace", "time")
"""Kinds of timers that tasks have; they end with the task."""
OF_RUNS: tuple[str, ...] = ("warn", "deadline", "grace", "time")
"""Kinds of timers that runs have."""


def timer_id(kind: str, subject: str) -> str:
    """Return the id of a timer."""
    return f"{kind}:{subject}"


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
