"""What was decided and is not yet on disk: rows to append, and what to do once they are."""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, TypeAlias

from engine.core.codec import encode_event, kind_of
from engine.core.commands import Order
from engine.core.effects import Effect
from engine.core.events import EVENTS, Event
from engine.core.signals import Signal
from engine.core.state import RunSummary
from store import Row

Then: TypeAlias = Callable[[Exception | None], None]
"""Called once a message is on disk; with the defect, where deciding it ran into one."""


@dataclass(frozen=True, slots=True)
class Given:
    """An event that the shell says by itself: a command that cannot be read, a message that ran into a defect."""

    event: Event


Message: TypeAlias = Order | Signal | Given


@dataclass(slots=True)
class Batch:
    """Events of several messages that are appended as one."""

    first_seq: int
    events: list[Event] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)
    ended: dict[str, RunSummary] = field(default_factory=dict)
    """Runs that end with it."""
    then: list[Then] = field(default_factory=list)
    """Who waits for the disk."""

    @property
    def is_due(self) -> bool:
        """True where something is to be written, done or said."""
        return bool(self.rows or self.then)


def row_of(event: Event) -> Row:
    """Return `event` as it stands in the journal.

    Raises:
        ValueError: If a text in it cannot be written as UTF-8.
    """
    kind, has_run, has_task, has_agent = _SHAPES[type(event)]
    read: Any = event
    return Row(
        read.at_ms,
        kind,
        encode_event(event),
        read.run_id if has_run else None,
        read.task_id if has_task else None,
        read.agent_id if has_agent else None,
    )


def _shape(event_type: type) -> tuple[str, bool, bool, bool]:
    names = {field.name for field in fields(event_type)}
    return kind_of(event_type), "run_id" in names, "task_id" in names, "agent_id" in names


_SHAPES: dict[type, tuple[str, bool, bool, bool]] = {event_type: _shape(event_type) for event_type in EVENTS}
"""Kind of each class of event, and which of the columns for ids it fills."""
