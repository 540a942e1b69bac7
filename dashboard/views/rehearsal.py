"""What a command would do now: decided by the engine's own code on the state that is looked at, and shown."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from engine.core.code import named_in
from engine.core.commands import Command
from engine.core.context import Context
from engine.core.decide import carry_out
from engine.core.errors import Refused
from engine.core.events import Event
from engine.core.state import State


class Rehearsal(NamedTuple):
    """What it comes to."""

    summary: str
    """What it would do, in the words in which it is told afterwards; empty where it would be refused."""
    refusal: str = ""
    """Why it would be refused; empty where it would not."""
    events: Sequence[Event] = ()
    result: dict[str, Any] = {}


def rehearsed(state: State, command: Command, now_ms: int) -> Rehearsal:
    """Return what a command would do, or why it would be refused; nothing is changed."""
    try:
        applied = carry_out(state, command, _context(state, command, now_ms))
    except Refused as refusal:
        return Rehearsal("", refusal.reason)
    return Rehearsal(applied.summary, events=applied.events, result=dict(applied.result))


def _context(state: State, command: Command, now_ms: int) -> Context:
    """Return the moment, as if all the code that the command names were allowed: whoever gives it is asked for that."""
    granted = {one: state.trusted.get(one, "") for one in named_in(command)}
    return Context(now_ms=max(now_ms, state.at_ms), jitter=0.5, granted=granted)
