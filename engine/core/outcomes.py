"""Parts of decisions: the result of a command, new ids, questions to a person, time and run of events."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, TypeVar

from msgspec import field
from msgspec.structs import force_setattr

from engine.core.decision_context import DecisionContext
from engine.core.events import EVENTS, Escalated, Event
from engine.core.records import JsonValue, fact, fields, names
from engine.core.state import Attempt, State


@fact
class Decided:
    """The events of a command, and what its sender is told."""

    events: list[Event]
    summary: str
    """What it did, in a few words that follow "✓"."""
    result: dict[str, JsonValue] = field(default_factory=dict)


class Mint:
    """Hands out ids that the journal has not used: a letter and the next number.

    Letters: `s` supervisor, `a` agent, `r` run, `t` task, `e` question, `g` grant, `n` message.
    """

    def __init__(self, state: State) -> None:
        self._last = dict(state.minted)

    def __call__(self, letter: str) -> str:
        """Return the next id of a letter."""
        number = self._last.get(letter, 0) + 1
        self._last[letter] = number
        return f"{letter}{number}"


E = TypeVar("E")
_OF_TASKS = frozenset(
    one for one in EVENTS if any(each.name == "run_id" and each.default == "" for each in fields(one))
)


def stamped(state: State, events: Iterable[Event], at_ms: int) -> list[Event]:
    """Return events that were just decided, with the time and the run of their task where these are not said yet."""
    found = events if type(events) is list else list(events)
    event: Any
    for event in found:
        if not event.at_ms:
            force_setattr(event, "at_ms", at_ms)
        if type(event) in _OF_TASKS and not event.run_id:
            force_setattr(event, "run_id", state.tasks[event.task_id].run_id)
    return found


def ask(
    state: State, ctx: DecisionContext, *, kind: str, subject: str, run_id: str | None, question: str,
    options: list[str], default: str | None = None, after_ms: int | None = None,
    detail: Mapping[str, JsonValue] | None = None, mint: Mint | None = None,
) -> Escalated:  # fmt: skip
    """Return the event that asks a person.

    Args:
        state: The state of the moment.
        ctx: Its time.
        kind: A key of `decide.escalations.ON_ANSWER`.
        subject: Id of the task, run, agent or supervisor that it is about.
        run_id: The run that waits for it, if one does.
        question: One line: what happened, and what is to be decided.
        options: The answers that there are.
        default: The answer when none is given in time.
        after_ms: How long to wait for a person, in milliseconds; with None there is no limit.
        detail: What the handler of the kind needs besides.
        mint: Gives the id; the same one for all that a decision asks, because `state` does not change meanwhile.
    """
    return Escalated(
        escalation_id=(mint or Mint(state))("e"),
        kind=kind,
        subject=subject,
        run_id=run_id,
        task_id=subject if subject in state.tasks else None,
        question=question,
        options=options,
        default=default,
        due_ms=None if after_ms is None else ctx.now_ms + after_ms,
        detail=dict(detail or {}),
    )


def of_attempt(kind: Callable[..., E], attempt: Attempt, signal: Any, **besides: Any) -> E:
    """Return the event that tells what a signal reports of an attempt: what both have under one name is the same.

    Args:
        kind: The class of the event.
        attempt: The one that is going on, of the task that the signal names.
        signal: What was reported.
        besides: Fields of the event that are decided.
    """
    said = {name: getattr(signal, name) for name in _in_both(kind, type(signal))}
    return kind(attempt=attempt.number, agent_id=attempt.agent_id, **(said | besides))


def _find_in_both(kind: Any, signal: Any) -> tuple[str, ...]:
    here = {*names(signal)} - {"attempt", "generation"}
    return tuple(name for name in names(kind) if name in here)


_in_both: Callable[[Any, Any], tuple[str, ...]] = cache(_find_in_both)
"""From the classes of an event and of a signal to the names of the fields that both have."""
