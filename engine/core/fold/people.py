"""Fold: what people said for longer than one answer."""

from engine.core.events import GrantGiven, GrantRevoked
from engine.core.fold.timers import Handlers, note
from engine.core.state import Grant, State


def _grant_given(state: State, event: GrantGiven) -> None:
    note(state, event.grant_id)
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


HANDLERS: Handlers = {
    GrantGiven: _grant_given,
    GrantRevoked: _grant_revoked,
}
