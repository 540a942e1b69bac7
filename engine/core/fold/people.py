"""Fold: messages to tasks, and grants for tools."""

from engine.core.events import GrantGiven, GrantRevoked, Steered
from engine.core.fold.timers import drop_timer, note_id, set_timer
from engine.core.queries.people.grants import grant_from
from engine.core.records.shared import put
from engine.core.state import State


def _steered(state: State, event: Steered) -> None:
    note_id(state, event.steer_id)
    for task_id in event.tasks:
        task = state.tasks[task_id]
        task.steers = put(task.steers, event.steer_id, event.text)


def _grant_given(state: State, event: GrantGiven) -> None:
    note_id(state, event.grant_id)
    state.grants[event.grant_id] = grant_from(event, event.at_ms)
    if event.until_ms is not None:
        set_timer(state, "grant", event.grant_id, event.until_ms)


def _grant_revoked(state: State, event: GrantRevoked) -> None:
    del state.grants[event.grant_id]
    drop_timer(state, "grant", event.grant_id)
