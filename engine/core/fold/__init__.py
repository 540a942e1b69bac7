"""The one place where supervisor state changes.

Pure by contract (import-linter and a test enforce it): no clock, no randomness, no I/O. What an event needs to know is
in the event. One handler per kind, found by the annotation of its event (`core/handlers.py`), so that nothing else
names it; a file per subject, named in `_FILES`.
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
    run,
    slots,
    swapping,
    task,
    team,
)
from engine.core.handlers import Handlers, handlers_in
from engine.core.state import State

_FILES = (
    accounting, attempt, declared, engine, escalation, failing, hierarchy, importing, memory, people, queues, run,
    slots, swapping, task, team,
)  # fmt: skip
FOLD: Handlers = handlers_in(map(vars, _FILES), EVENTS, result_hint=None)
"""The handler of every kind."""


def apply(state: State, event: Event) -> None:
    """Apply an event that was decided on `state`; the only writer of it. Any exception is a defect of the core."""
    state.seq += 1
    if event.at_ms > state.at_ms:
        state.at_ms = event.at_ms
    FOLD[type(event)](state, event)
    if state.schedule is not None:
        state.schedule.follow(state)


def fold(state: State, events: Iterable[Event]) -> None:
    """Apply events that were read from a journal.

    Raises:
        CorruptJournal: If one cannot follow the ones before: the file was changed, or the fold has a defect.
    """
    for event in events:
        try:
            apply(state, event)
        except Exception as error:
            raise CorruptJournal(state.seq, f"{event.type} does not follow ({error!r})") from error
