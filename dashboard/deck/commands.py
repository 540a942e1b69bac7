"""Commands to the engine, their outcomes in one line, and their undo."""

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from dashboard.deck.access import Access
from dashboard.deck.background import Background, do_nothing
from dashboard.deck.messages import Messages
from dashboard.engines.process import is_alive
from dashboard.reading.feed import Feed
from dashboard.views.changes.bulk import Bulk, describe_outcomes
from dashboard.views.changes.outcomes import (
    NOTHING_TO_UNDO,
    REDO_HINT,
    UNDO_HINT,
    UNDO_PREVIOUS_HINT,
    can_be_undone,
    describe_outcome,
    describe_undo,
    is_irrevocable,
)
from dashboard.views.words.keyed import fill_keys
from engine.core.commands import Command, StopEngine, Undo
from engine.core.errors import CoreError
from engine.core.state import MAX_UNDOABLE
from engine.platform.sender import sender_of
from store import StoreError

if TYPE_CHECKING:
    from engine.supervisor.client import Client, CommandReply

NAMED_S = 20.0
"""How long what an undo would take back stays named."""
PATIENCE_S = 10.0
"""How long to wait for an outcome before the command is reported as queued."""


class Commands:
    """Sends commands in threads, and remembers what can be undone."""

    def __init__(self, path: Path, feed: Feed, background: Background, messages: Messages, access: Access) -> None:
        self._path, self._feed, self._background = path, feed, background
        self._messages, self._access = messages, access
        self.undoable: list[tuple[str, ...]] = []
        """Ids of this session's commands that can be undone; commands of one bulk change form one entry."""
        self._undos: set[str] = set()
        """Ids of commands that undid a change: to undo one of them redoes that change."""
        self._summaries: dict[str, str] = {}
        """What each of them did, in words."""
        self._barrier: tuple[int, str] | None = None
        """The last change of this session that cannot be undone, in words, and how many entries there were before."""
        self._named: tuple[tuple[str, ...], float] | None = None
        """The entry that `u` has named and takes back when it is pressed again, and when it did."""

    def send(
        self,
        command: Command | None,
        receive: "Callable[[CommandReply], None] | None" = None,
        *,
        on_failure: Callable[[], None] = do_nothing,
    ) -> None:
        """Send a command, show its outcome and pass it to `receive`; if it cannot be sent, call `on_failure`."""
        if command is not None and self._access.can_write():
            self._named = None  # what it changes may be what the next undo takes back
            self._messages.say(f"… {command.type.replace('_', ' ')}", "muted")

            def announce(outcome: "CommandReply") -> None:
                self._report_outcome(command, outcome)
                if receive is not None:
                    receive(outcome)

            self._background.run_in_thread(
                partial(self._perform, command), announce, (StoreError, CoreError), "not sent: ", on_failure=on_failure
            )

    def _client(self) -> "Client":
        from engine.supervisor.client import Client  # needed only for changes

        self._feed.check_same_file()
        return Client(self._path, sender=sender_of("quarterdeck dashboard"))

    def _perform(self, command: Command) -> "CommandReply":
        """Runs in a thread."""
        return self._client().perform(command, PATIENCE_S if is_alive(self._path) else 0.0)

    def _report_outcome(self, command: Command, outcome: "CommandReply") -> None:
        way_back = self._track_undo([command], [outcome])
        cell = describe_outcome(
            command, outcome.status, outcome.seq, summary=outcome.summary, reason=outcome.reason, way_back=way_back
        )
        self._messages.say(cell.text, cell.tone)

    def _track_undo(self, commands: Sequence[Command], outcomes: "Sequence[CommandReply]") -> str:
        """Update what `u` undoes next, and return the hint for it.

        An undo is itself undone only if no earlier change is left: otherwise a second press would redo the change, and
        earlier ones could not be reached. A new change, even one without an undo, drops the redo, as in an editor.
        """
        applied = [pair for pair in zip(commands, outcomes, strict=True) if pair[1].status == "applied"]
        if not applied:
            return ""
        undone = {reply.result.get("undone") for command, reply in applied if isinstance(command, Undo)}
        takes_back = bool(undone) and undone.isdisjoint(self._undos)
        undone_ids = undone | self._undos
        self.undoable = [ids for ids in self.undoable if undone_ids.isdisjoint(ids)]
        done = [reply.command_id for command, reply in applied if can_be_undone(command)]
        if takes_back:
            self._undos.update(done)
        self._summaries = {ids[-1]: self._summaries.get(ids[-1], "") for ids in self.undoable}
        self._summaries |= {reply.command_id: reply.summary for _, reply in applied}
        final = [reply.summary for command, reply in applied if is_irrevocable(command) and not can_be_undone(command)]
        if final and not done:
            self._barrier = len(self.undoable), final[-1]
        if not done or (takes_back and self.undoable):
            return fill_keys(UNDO_PREVIOUS_HINT) if done else ""
        newest = done[-MAX_UNDOABLE:]
        self.undoable.append(tuple(newest))
        some = f", the newest {len(newest):,} can be undone" if len(newest) < len(done) else ""
        return some + fill_keys(REDO_HINT if undone else UNDO_HINT)

    def send_all(self, bulk: Bulk, commands: Sequence[Command], *, on_failure: Callable[[], None] = do_nothing) -> None:
        """Send several commands and show their outcomes in one line; if they cannot be sent, call `on_failure`."""
        if commands and self._access.can_write():
            self._named = None
            self._messages.say(f"… {len(commands):,} changes", "muted")
            announce = partial(self._report_outcomes, bulk, commands)
            self._background.run_in_thread(
                partial(self._perform_all, commands),
                announce,
                (StoreError, CoreError),
                "not sent: ",
                on_failure=on_failure,
            )

    def _perform_all(self, commands: Sequence[Command]) -> "list[CommandReply]":
        """Runs in a thread; after one timeout it waits for no further outcome."""
        client = self._client()
        left_s = PATIENCE_S if is_alive(self._path) else 0.0
        replies = []
        for command_id in client.send_all(commands):
            replies.append(client.wait(command_id, left_s))
            left_s = 0.0 if replies[-1].status == "pending" else left_s
        return replies

    def _report_outcomes(self, bulk: Bulk, commands: Sequence[Command], outcomes: "Sequence[CommandReply]") -> None:
        cell = describe_outcomes(bulk, outcomes, way_back=self._track_undo(commands, outcomes))
        self._messages.say(cell.text, cell.tone)

    def undo(self, command_id: str | None = None) -> None:
        """Undo a command, or the last change of this session; the engine refuses it if the object has changed since."""
        if command_id is not None:
            self.send(Undo(command_id=command_id))
        elif not self.undoable and not self._is_at_barrier:
            self._messages.say(fill_keys(NOTHING_TO_UNDO), "muted")
        elif self._access.can_write() and self._is_named():
            self._named = self._barrier = None
            # Popped before the outcome is known, so that a second press undoes the change before.
            last = self.undoable.pop()
            on_failure = partial(self.undoable.append, last)
            undoes = [Undo(command_id=command_id) for command_id in reversed(last)]
            if len(undoes) == 1:
                self.send(undoes[0], on_failure=on_failure)
            else:
                self.send_all(Bulk("Undo", "undone", tuple(undoes)), undoes, on_failure=on_failure)

    @property
    def _is_at_barrier(self) -> bool:
        return self._barrier is not None and self._barrier[0] == len(self.undoable)

    def _is_named(self) -> bool:
        """Name what the next undo takes back; return whether it was named just before."""
        last = self.undoable[-1] if self.undoable else ()
        now_s = time.monotonic()
        if last and self._named is not None and self._named[0] == last and now_s - self._named[1] < NAMED_S:
            return True
        self._named = last, now_s
        barrier = self._barrier[1] if self._barrier is not None and self._is_at_barrier else ""
        summary = self._summaries.get(last[-1], "") if last else ""
        now_ms = time.time_ns() // 1_000_000
        cell = describe_undo(self._feed.state, last, summary=summary, barrier=barrier, now_ms=now_ms)
        self._messages.say(cell.text, cell.tone)
        return False

    def stop_engine(self, on_stop: Callable[[], None]) -> None:
        """Stop the engine that leads, then call `on_stop`."""
        token = self._feed.engine.token if self._feed.engine is not None else None

        def stop() -> None:
            self._client().perform(StopEngine(token=token), PATIENCE_S)

        self._background.run_in_thread(stop, lambda _: on_stop(), (StoreError, CoreError), "not stopped: ")
