"""Batches of decided events on their way to disk, and defects found while deciding."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from engine.core import signals
from engine.core.commands import Order
from engine.core.effects import Effect
from engine.core.encoding.codec import encode_event
from engine.core.events import EVENTS, CommandRefused, Event, SignalDropped
from engine.core.records.records import copy_with, field_names
from engine.core.signals import Signal
from engine.core.state import RunSummary
from engine.runtimes.values import with_class
from store import Row

OnWritten: TypeAlias = Callable[[Exception | None], None]
"""Called once a message is on disk, with an error if it was not decided or not written."""


@dataclass(frozen=True, slots=True)
class DirectEvent:
    """An event that the shell creates without the core: an unreadable command, a message that hit a defect."""

    event: Event


Message: TypeAlias = Order | Signal | DirectEvent
_IMPORT_SIGNALS = (signals.ArchiveChecked, signals.PartRead, signals.StateReady, signals.StateUnusable)


@dataclass(slots=True)
class Batch:
    """Events of several messages, appended in one statement."""

    first_seq: int
    events: list[Event] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)
    finished_runs: dict[str, RunSummary] = field(default_factory=dict)
    """Runs that finish in this batch."""
    callbacks: list[OnWritten] = field(default_factory=list)
    """Called once the batch is on disk."""

    @property
    def is_due(self) -> bool:
        """True while there is something to append, perform or report."""
        return bool(self.rows or self.callbacks)


def row_of(event: Event) -> Row:
    """Return the journal row of `event`; raises ValueError if a text in it cannot be written as UTF-8."""
    kind, has_run, has_task, has_agent = _SHAPES[type(event)]
    untyped: Any = event
    return Row(
        untyped.at_ms,
        kind,
        encode_event(event),
        untyped.run_id if has_run else None,
        untyped.task_id if has_task else None,
        untyped.agent_id if has_agent else None,
    )


def _shape(event_type: type[Event]) -> tuple[str, bool, bool, bool]:
    known_fields = field_names(event_type)
    return event_type.type, "run_id" in known_fields, "task_id" in known_fields, "agent_id" in known_fields


_SHAPES: dict[type, tuple[str, bool, bool, bool]] = {event_type: _shape(event_type) for event_type in EVENTS}
"""For each event class: its kind, and whether it has a run, task and agent id. Computed once: `row_of` is hot."""


@dataclass(frozen=True, slots=True)
class DefectReport:
    """A defect of the engine and the message that triggered it; the message is refused and the team keeps working."""

    message: Message
    on_written: OnWritten | None
    error: Exception

    @property
    def line(self) -> str:
        """The defect in one line."""
        return with_class(self.error)

    @property
    def kind(self) -> str:
        """Kind of the message."""
        message = self.message
        return str(message.command.type) if isinstance(message, Order) else type(message).__name__

    def event(self, at_ms: int) -> Event:
        """Return the event that records the outcome of the message."""
        message = self.message
        if isinstance(message, Order):
            return _refusal(self, at_ms, message.id, message.sender, message.role)
        if isinstance(message, _IMPORT_SIGNALS):
            return _refusal(self, at_ms, message.order_id, message.sender, message.role)
        if isinstance(message, DirectEvent) and isinstance(message.event, CommandRefused):
            refused = message.event
            return _refusal(self, at_ms, refused.command_id, "", "")
        task_id = getattr(message, "task_id", None)
        return SignalDropped(at_ms=at_ms, signal=self.kind, error=self.line, task_id=task_id)

    def replacement(self) -> Signal | None:
        """Return what to report in place of a signal that hit a defect and that a task waits for."""
        message = self.message
        if isinstance(message, signals.AgentsFound) and message.found:
            return copy_with(message, found=[], granted={}, faults=[f"a defect in the engine: {self.line}"])
        if not isinstance(message, signals.AttemptSucceeded | signals.AttemptStopped):
            return None
        return signals.AttemptErred(
            task_id=message.task_id,
            attempt=message.attempt,
            error=f"a defect in the engine: {self.line}",
            error_type="Defect",
            duration_ms=message.duration_ms,
            usage=message.usage,
            stuck=isinstance(message, signals.AttemptStopped) and message.stuck,
        )


def _refusal(defect: DefectReport, at_ms: int, command_id: str, sender: str, role: str) -> CommandRefused:
    return CommandRefused(
        at_ms=at_ms,
        command_id=command_id,
        command="import_state" if isinstance(defect.message, _IMPORT_SIGNALS) else defect.kind,
        sender=sender,
        role=role,
        code="defect",
        reason=f"a defect in the engine, please report it: {defect.line}",
    )
