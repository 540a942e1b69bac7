"""What becomes of a message that runs into a defect of the engine: it is refused aloud, and the team goes on."""

from dataclasses import dataclass

from engine.core.commands import Order
from engine.core.events import CommandRefused, Event, SignalDropped
from engine.core.signals import (
    ArchiveChecked,
    AttemptErred,
    AttemptStopped,
    AttemptSucceeded,
    PartRead,
    Signal,
    StateReady,
    StateUnusable,
)
from engine.host.batch import Given, Message, Then
from engine.runtimes.values import with_class

_OF_IMPORTS = (ArchiveChecked, PartRead, StateReady, StateUnusable)


@dataclass(frozen=True, slots=True)
class Found:
    """A defect, and the message that found it."""

    message: Message
    then: Then | None
    error: Exception

    @property
    def line(self) -> str:
        """The defect in one line."""
        return with_class(self.error)

    @property
    def kind(self) -> str:
        """What kind of message found it."""
        message = self.message
        return str(message.command.type) if isinstance(message, Order) else type(message).__name__

    def event(self, at_ms: int) -> Event:
        """Return the event that says what became of the message."""
        message = self.message
        if isinstance(message, Order):
            return _refused(self, at_ms, message.id, message.sender, message.role)
        if isinstance(message, _OF_IMPORTS):
            return _refused(self, at_ms, message.order_id, message.sender, message.role)
        if isinstance(message, Given) and isinstance(message.event, CommandRefused):
            refused = message.event
            return _refused(self, at_ms, refused.command_id, "", "")
        task_id = getattr(message, "task_id", None)
        return SignalDropped(at_ms=at_ms, signal=self.kind, error=self.line, task_id=task_id)

    def instead(self) -> Signal | None:
        """Return what to report in place of an attempt's end that cannot be decided, so that its task does not hang."""
        message = self.message
        if not isinstance(message, AttemptSucceeded | AttemptStopped):
            return None
        return AttemptErred(
            task_id=message.task_id,
            attempt=message.attempt,
            error=f"a defect in the engine: {self.line}",
            error_type="Defect",
            duration_ms=message.duration_ms,
            usage=message.usage,
            stuck=isinstance(message, AttemptStopped) and message.stuck,
        )


def _refused(found: Found, at_ms: int, command_id: str, sender: str, role: str) -> CommandRefused:
    return CommandRefused(
        at_ms=at_ms,
        command_id=command_id,
        command="import_state" if isinstance(found.message, _OF_IMPORTS) else found.kind,
        sender=sender,
        role=role,
        code="defect",
        reason=f"a defect in the engine, please report it: {found.line}",
    )
