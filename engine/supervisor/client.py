"""Client for one team's database: sends commands to its engine and reads their outcomes.

Rule: the outcome of a command is read from the journal; the inbox only transports it. Everything here blocks; call it
from a thread or a command line.
"""

import os
import threading
import time
import uuid
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from engine.core.commands import Command
from engine.core.encoding.codec import encode_command
from engine.core.events import CommandApplied, CommandRefused
from engine.core.records.records import JsonValue
from engine.platform.sender import sender_of
from engine.reading.folding import events_of
from store import CommandRow, InboxClient, Reader, Record, StoreError, Tail
from store.wall_clock import wall_ms

Source: TypeAlias = str | os.PathLike[str]
_OUTCOMES = ("command_applied", "command_refused")


def command_row(command: Command, sender: str) -> CommandRow:
    """Return a command as the inbox has it, under a new id."""
    return CommandRow(uuid.uuid4().hex, command.type, encode_command(command), sender, "operator", wall_ms())


def put_rows(path: Source, rows: Sequence[CommandRow]) -> None:
    """Put commands into the inbox of a database as one write; raises StoreError."""
    with InboxClient(path) as inbox:
        inbox.put(*rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandReply:
    """The outcome of a command."""

    command_id: str
    status: Literal["applied", "refused", "pending"]
    seq: int | None = None
    """Seq of the event with the outcome; None while it is pending."""
    code: str | None = None
    """The kind of refusal."""
    reason: str | None = None
    """Why it was refused, and what to do; for a pending command, why its outcome is unknown."""
    result: dict[str, JsonValue] = field(default_factory=dict)
    summary: str = ""
    """What it did, in a few words."""


class Client:
    """Sends commands to the engine of one database, and waits for outcomes; keeps no file open between calls.

    Args:
        path: The database.
        sender: Name of the sender for the audit log; None means this process and its program.
        stop: Ends waiting for outcomes once it is set.

    Attributes:
        sent: The ids of its commands, also of those that an interruption left half sent, each with a seq before its
            outcome.
    """

    def __init__(self, path: Source, *, sender: str | None = None, stop: threading.Event | None = None) -> None:
        self.path = path
        self._sender = sender or sender_of()
        self._stop = stop or threading.Event()
        self.sent: dict[str, int] = {}

    def send(self, command: Command) -> str:
        """Put a command into the inbox and return its id; no engine has to be running.

        Raises:
            StoreError: If there is no Quarterdeck database, or its inbox cannot be written, such as by a viewer.
        """
        return self.send_all([command])[0]

    def send_all(self, commands: Sequence[Command]) -> list[str]:
        """Put commands into the inbox as one write, in their order, and return their ids.

        Raises:
            StoreError: As `send`.
        """
        with Reader(self.path) as reader:
            after_seq = reader.last_seq()
        rows = [command_row(command, self._sender) for command in commands]
        self.sent.update({row.id: after_seq for row in rows})
        put_rows(self.path, rows)
        return [row.id for row in rows]

    def wait(self, command_id: str, timeout_s: float = 10.0) -> CommandReply:
        """Return the outcome of a command of this client; `pending` if it has none in time, or it cannot be read.

        Args:
            command_id: What `send` returned.
            timeout_s: Maximum time to wait, in seconds; 0 does not wait.
        """
        after_seq = self.sent.get(command_id, 0)
        try:
            outcome = self._outcome_after(after_seq, command_id)
            if outcome is None and timeout_s > 0:
                outcome = self._wait_for_outcome(after_seq, command_id, timeout_s)
        except StoreError as error:  # an exception would look as if it was not sent
            reason = f"sent, but what became of it cannot be read: {error}"
            return CommandReply(command_id=command_id, status="pending", reason=reason)
        return outcome or CommandReply(command_id=command_id, status="pending")

    def perform(self, command: Command, timeout_s: float = 10.0) -> CommandReply:
        """Send a command and wait for its outcome."""
        return self.wait(self.send(command), timeout_s)

    def _outcome_after(self, seq: int, command_id: str) -> CommandReply | None:
        with Reader(self.path) as reader:
            records = reader.records(seq, 1, kinds=_OUTCOMES, contains=command_id)
        return _outcome_in(records, command_id)

    def _wait_for_outcome(self, after_seq: int, command_id: str, timeout_s: float) -> CommandReply | None:
        deadline_s = time.monotonic() + timeout_s
        with closing(Tail(self.path, after_seq).batches(self._stop, idle=True)) as batches:
            for batch in batches:
                outcome = _outcome_in(batch, command_id)
                if outcome is not None:
                    return outcome
                if time.monotonic() >= deadline_s:
                    break
        return self._outcome_after(after_seq, command_id)


def _outcome_in(records: list[Record], command_id: str) -> CommandReply | None:
    outcomes = [record for record in records if record.kind.startswith(_OUTCOMES)]
    for record, event in zip(outcomes, events_of(outcomes), strict=True):
        if isinstance(event, CommandApplied) and event.command_id == command_id:
            return CommandReply(
                command_id=command_id, status="applied", seq=record.seq, result=event.result, summary=event.summary
            )
        if isinstance(event, CommandRefused) and event.command_id == command_id:
            return CommandReply(
                command_id=command_id, status="refused", seq=record.seq, code=event.code, reason=event.reason
            )
    return None
