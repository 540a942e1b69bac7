"""Fold: timers and ids in use, shared by all handlers."""

from engine.core.state import State, Timer, timer_id

TASK_TIMERS: tuple[str, ...] = ("retry", "warn", "deadline", "grace", "time")
"""Kinds of timers of tasks; they are dropped when the task ends."""
RUN_TIMERS: tuple[str, ...] = ("warn", "deadline", "grace", "time")
"""Kinds of timers of runs."""


def set_timer(state: State, kind: str, subject: str, due_ms: int) -> None:
    """Set the timer of a kind for `subject`, replacing an earlier one."""
    key = timer_id(kind, subject)
    state.timers[key] = Timer(id=key, due_ms=due_ms, kind=kind, subject=subject)


def drop_timer(state: State, kind: str, subject: str) -> None:
    """Drop a timer, if it is set."""
    state.timers.pop(timer_id(kind, subject), None)


def drop_timers(state: State, kinds: tuple[str, ...], subject: str) -> None:
    """Drop all timers of an ended task or run."""
    if state.timers:
        for kind in kinds:
            state.timers.pop(timer_id(kind, subject), None)


def note_id(state: State, entity_id: str) -> None:
    """Mark `entity_id` as used, so that new ids of its letter are larger."""
    letter, number = entity_id[0], int(entity_id[1:])
    if number > state.minted.get(letter, 0):
        state.minted[letter] = number
