"""Passes on what attempts say and what was journaled, in the order in which it happened within each attempt.

A step that an attempt has reported is journaled a while later. What the attempt says meanwhile is held back until then;
that is the one rule here. No reader can slow it: `subscription` says what happens to a slow one.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from engine.core.events import (
    AttemptCancelled,
    AttemptDone,
    AttemptFailed,
    AttemptLost,
    AttemptMigrated,
    AttemptPreempted,
    AttemptSetAside,
    Event,
)
from engine.stream.board import Board
from engine.stream.records import Heard, Piece, Speaker
from engine.stream.subscription import HeardT, ReadOn, Subscription

ENDS = frozenset(
    {
        AttemptDone,
        AttemptFailed,
        AttemptCancelled,
        AttemptLost,
        AttemptMigrated,
        AttemptPreempted,
        AttemptSetAside,
    }
)
"""Classes of events after which nothing that an attempt has reported is outstanding."""
BUFFERED = 10_000
"""How many events wait in memory for a reader, by default; a reader further behind gets the rest from the journal."""
_Key: TypeAlias = tuple[str, int]


class Bus:
    """What attempts say and what is journaled, for all readers of one engine.

    Args:
        board: What readers in other processes see.
        read_on: Reads events from the journal, for readers that lie behind.
    """

    def __init__(self, board: Board, read_on: ReadOn) -> None:
        self.board = board
        self.told_seq = 0
        """The last event that was told."""
        self._read_on = read_on
        self._subscriptions: list[Subscription[Any]] = []
        self._held: dict[_Key, deque[Piece | str]] = {}
        """By attempt: keys of what it has reported and is not journaled yet, and what it said since."""

    @property
    def is_heard(self) -> bool:
        """True while there is a reader in this process."""
        return bool(self._subscriptions)

    def subscribe(self, *, buffered: int = BUFFERED) -> Subscription[tuple[int, Event]]:
        """Return the events from now on; `buffered` of them may wait in memory."""
        return self._added(Subscription(self, self._read_on, buffered=buffered, pieces=False))

    def listen(self, *, buffered: int = BUFFERED) -> Subscription[Heard]:
        """Return the events from now on, and what attempts say between them."""
        return self._added(Subscription(self, self._read_on, buffered=buffered, pieces=True))

    def _added(self, subscription: Subscription[HeardT]) -> Subscription[HeardT]:
        self._subscriptions.append(subscription)
        return subscription

    def remove(self, subscription: Subscription[Any]) -> None:
        """Tell a reader nothing more."""
        if subscription in self._subscriptions:
            self._subscriptions.remove(subscription)

    def say(self, piece: Piece) -> None:
        """Pass on what an attempt says, once what it reported before is journaled."""
        if self._held and (held := self._held.get((piece.speaker.task_id, piece.speaker.attempt))) is not None:
            held.append(piece)
        else:
            self._pass_on(piece)

    def progress(self, speaker: Speaker, done: int, total: int, note: str) -> None:
        """Show how far an attempt is; it is no part of a stream."""
        self.board.progress(speaker.task_id, done, total, note)

    def expect(self, speaker: Speaker, key: str) -> None:
        """Take note that an attempt has reported something that is going to be journaled.

        Args:
            speaker: The attempt.
            key: `key` or `call_key` of the event; of one without them its type.
        """
        self._held.setdefault((speaker.task_id, speaker.attempt), deque()).append(key)

    def tell(self, first_seq: int, events: Sequence[Event]) -> None:
        """Pass on events that are in the journal."""
        if self._held or self._subscriptions or self.board.is_live:
            for seq, event in enumerate(events, first_seq):
                self._tell(seq, event)
        self.told_seq = max(self.told_seq, first_seq + len(events) - 1)
        self.board.told(self.told_seq)

    def end(self) -> None:
        """Let all subscriptions end after what waits for them."""
        for subscription in self._subscriptions:
            subscription.end()
        self._subscriptions = []

    def _tell(self, seq: int, event: Event) -> None:
        read: Any = event
        attempt: _Key | None = None
        if (number := getattr(event, "attempt", None)) is not None:
            attempt = (read.task_id, number)
        held = self._held.get(attempt) if attempt is not None else None
        if held is not None:
            for piece in _released(held, event):
                self._pass_on(piece)
        if attempt is not None:
            self.board.note(seq, attempt[0])
        for subscription in self._subscriptions:
            subscription.push(seq, event)
        if held is not None:
            while held and isinstance(held[0], Piece):
                self._pass_on(held.popleft())  # type: ignore[arg-type]  # just looked at
            if not held:
                del self._held[attempt]  # type: ignore[arg-type]  # something was held for it

    def _pass_on(self, piece: Piece) -> None:
        self.board.add(piece)
        for subscription in self._subscriptions:
            subscription.push_piece(piece)


def _released(held: deque[Piece | str], event: Event) -> Iterator[Piece]:
    """Take out what was said before `event` was reported, and yield it."""
    is_end = type(event) in ENDS
    key = getattr(event, "key", None) or getattr(event, "call_key", None) or event.type
    if not is_end and key not in held:
        return
    while held:
        first = held.popleft()
        if isinstance(first, Piece):
            yield first
        elif not is_end and first == key:
            return
