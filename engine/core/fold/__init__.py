"""The one place where supervisor state changes.

Pure by contract (import-linter and a test enforce it): no clock, no randomness, no I/O. Everything that a handler needs
is in the event or the state. One handler per kind of event, found by its annotation (`core/handlers.py`); one file per
subject, listed in `_FILES`.
"""

from collections.abc import Iterable

from engine.core.errors import CorruptJournal
from engine.core.events import EVENTS, Event
from engine.core.fold import (
    accounting,
    attempt,
    declared,
    engine,
    escalation,
    failing,
    hierarchy,
    importing,
    memory,
    people,
    queues,
    recipes,
    run,
    slots,
    swapping,
    task,
    team,
)
from engine.core.handlers import Handlers, handlers_in
from engine.core.state import State

_FILES = (
    accounting, attempt, declared, engine, escalation, failing, hierarchy, importing, memory, people, queues,
    recipes, run, slots, swapping, task, team,
)  # fmt: skip
FOLD: Handlers = handlers_in(map(vars, _FILES), EVENTS, result_hint=None)
"""The handler of every kind of event."""


def apply(state: State, event: Event) -> None:
    """Apply an event that was decided on `state`. Any exception is a defect of the core."""
    state.seq += 1
    if event.at_ms > state.at_ms:
        state.at_ms = event.at_ms
    FOLD[type(event)](state, event)
    if state.schedule is not None:
        state.schedule.follow(state)


def fold(state: State, events: Iterable[Event]) -> None:
    """Apply events that were read from a journal.

    Raises:
        CorruptJournal: If an event does not fit the ones before: the file was changed, or the fold has a defect.
    """
    for event in events:
        try:
            apply(state, event)
        except Exception as error:
            raise CorruptJournal(state.seq, f"{event.type} does not follow ({error!r})") from error
