"""Building blocks of decisions: command results, new ids, escalations, time and run stamps of events."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, TypeVar

from msgspec import field
from msgspec.structs import force_setattr

from engine.core.decisions.decision_context import DecisionContext
from engine.core.events import EVENTS, Escalated, Event
from engine.core.records.records import JsonValue, fact, field_names, fields
from engine.core.state import Attempt, State


@fact
class Decided:
    """The events of a command, and the answer to its sender."""

    events: list[Event]
    summary: str
    """What the command did, in a few words that follow "✓"."""
    result: dict[str, JsonValue] = field(default_factory=dict)


class Mint:
    """Returns new ids: a letter and the next number that the journal has not used.

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
_TASK_EVENTS = frozenset(
    event_class
    for event_class in EVENTS
    if any(each.name == "run_id" and each.default == "" for each in fields(event_class))
)


def stamp(state: State, events: Iterable[Event], at_ms: int) -> list[Event]:
    """Return newly decided events, with the time and the run of their task filled in where missing."""
    event_list = events if type(events) is list else list(events)
    event: Any
    # Set in place although events are frozen: these were just built and are not shared yet.
    for event in event_list:
        if not event.at_ms:
            force_setattr(event, "at_ms", at_ms)
        if type(event) in _TASK_EVENTS and not event.run_id:
            force_setattr(event, "run_id", state.tasks[event.task_id].run_id)
    return event_list


def ask(
    state: State,
    ctx: DecisionContext,
    *,
    kind: str,
    subject: str,
    run_id: str | None,
    question: str,
    options: list[str],
    default: str | None = None,
    after_ms: int | None = None,
    detail: Mapping[str, JsonValue] | None = None,
    mint: Mint | None = None,
) -> Escalated:
    """Return the event that asks a person.

    Args:
        kind: A key of `decide.people.escalations.ON_ANSWER`.
        subject: Id of the task, run, agent or supervisor that the question is about.
        run_id: The run that waits for the answer, if one does.
        question: One line: what happened, and what to decide.
        options: The possible answers.
        default: The answer if none is given in time.
        after_ms: How long to wait for a person, in milliseconds; with None there is no limit.
        detail: Further data for the handler of the kind.
        mint: Shared by all questions of one decision: `state` does not change between them, so that a new `Mint` would
            return the same id again.
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


def attempt_event(kind: Callable[..., E], attempt: Attempt, signal: Any, **extra: Any) -> E:
    """Return the event of a signal about an attempt: `extra` fields, and all others that both have."""
    shared = {name: getattr(signal, name) for name in _shared_fields(kind, type(signal))}
    return kind(attempt=attempt.number, agent_id=attempt.agent_id, **(shared | extra))


def _find_shared_fields(kind: Any, signal: Any) -> tuple[str, ...]:
    signal_fields = {*field_names(signal)} - {"attempt", "generation"}
    return tuple(name for name in field_names(kind) if name in signal_fields)


_shared_fields: Callable[[Any, Any], tuple[str, ...]] = cache(_find_shared_fields)
"""The names of the fields that the classes of an event and of a signal share."""
