"""Fold: messages to tasks, and grants for tools."""

from engine.core.events import GrantGiven, GrantRevoked, Steered
from engine.core.fold.timers import note_id
from engine.core.records.shared import put
from engine.core.state import Grant, State


def _steered(state: State, event: Steered) -> None:
    note_id(state, event.steer_id)
    for task_id in event.tasks:
        task = state.tasks[task_id]
        task.steers = put(task.steers, event.steer_id, event.text)


def _grant_given(state: State, event: GrantGiven) -> None:
    note_id(state, event.grant_id)
    state.grants[event.grant_id] = Grant(
        id=event.grant_id,
        agent_id=event.agent_id,
        generation=event.generation,
        tool=event.tool,
        allows=event.allows,
        given_ms=event.at_ms,
    )


def _grant_revoked(state: State, event: GrantRevoked) -> None:
    del state.grants[event.grant_id]
