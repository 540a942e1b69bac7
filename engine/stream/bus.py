"""Delivers live output and journaled events to readers, in order within each attempt.

A step is journaled some time after the attempt has reported it; live output after the report is held back until then.
Slow readers do not slow the bus (`subscription`).
"""

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from engine.core.events import ATTEMPT_ENDS, AttemptMigrated, Event, ModelFailed, StepRecorded
from engine.stream.board import LiveTexts
from engine.stream.records import Piece, Speaker, StreamItem
from engine.stream.subscription import ItemT, ReadEvents, Subscription

ENDS = frozenset({*ATTEMPT_ENDS, AttemptMigrated})
"""Events that end an attempt, after which no reported event of it is outstanding."""
BUFFERED = 10_000
"""Default number of events kept in memory for a reader; one that falls further behind reads from the journal."""
_Key: TypeAlias = tuple[str, int]


class Bus:
    """The stream of one engine, for all its readers.

    Args:
        board: The live texts, for readers in other processes.
        read_on: Reads events from the journal, for readers that have fallen behind.
    """

    def __init__(self, board: LiveTexts, read_on: ReadEvents) -> None:
        self.board = board
        self.delivered_seq = 0
        """The last event that was delivered."""
        self._read_on = read_on
        self._subscriptions: list[Subscription[Any]] = []
        self._pending: dict[_Key, deque[Piece | str]] = {}
        """By attempt: keys of reported events that are not journaled yet, and the live output since, in order."""

    @property
    def has_readers(self) -> bool:
        """True while there is a reader in this process."""
        return bool(self._subscriptions)

    def subscribe(self, *, buffered: int = BUFFERED) -> Subscription[tuple[int, Event]]:
        """Return a subscription to events from now on, with `buffered` of them kept in memory."""
        return self._register(Subscription(self, self._read_on, buffered=buffered, pieces=False))

    def listen(self, *, buffered: int = BUFFERED) -> Subscription[StreamItem]:
        """Return a subscription to events and live output from now on."""
        return self._register(Subscription(self, self._read_on, buffered=buffered, pieces=True))

    def _register(self, subscription: Subscription[ItemT]) -> Subscription[ItemT]:
        self._subscriptions.append(subscription)
        return subscription

    def remove(self, subscription: Subscription[Any]) -> None:
        """Remove a reader."""
        if subscription in self._subscriptions:
            self._subscriptions.remove(subscription)

    def publish(self, piece: Piece) -> None:
        """Deliver live output, once the events that its attempt reported before are journaled."""
        speaker = piece.speaker
        pending_items = self._pending.get((speaker.task_id, speaker.attempt)) if self._pending else None
        if pending_items is not None:
            pending_items.append(piece)
        else:
            self._deliver(piece)

    def expect(self, speaker: Speaker, key: str) -> None:
        """Note that an attempt has reported an event that will be journaled, by its key, call key or else type."""
        self._pending.setdefault((speaker.task_id, speaker.attempt), deque()).append(key)

    def publish_events(self, first_seq: int, events: Sequence[Event]) -> None:
        """Deliver events that are in the journal."""
        if self._pending or self._subscriptions or self.board.is_live:
            for seq, event in enumerate(events, first_seq):
                self._deliver_event(seq, event)
        self.delivered_seq = max(self.delivered_seq, first_seq + len(events) - 1)
        self.board.mark_delivered(self.delivered_seq)

    def end(self) -> None:
        """End all subscriptions once their readers have taken what is buffered."""
        for subscription in self._subscriptions:
            subscription.end()
        self._subscriptions = []

    def _deliver_event(self, seq: int, event: Event) -> None:
        untyped: Any = event
        attempt: _Key | None = None
        if (number := getattr(event, "attempt", None)) is not None:
            attempt = (untyped.task_id, number)
        pending_items = self._pending.get(attempt) if attempt is not None else None
        if pending_items is not None:
            for piece in _release(pending_items, event):
                self._deliver(piece)
        if attempt is not None:
            self.board.note(seq, attempt[0], ends_text=_is_answer(event))
        for subscription in self._subscriptions:
            subscription.push(seq, event)
        if pending_items is not None:
            while pending_items and isinstance(pending_items[0], Piece):
                self._deliver(pending_items.popleft())  # type: ignore[arg-type]  # checked by the condition
            if not pending_items:
                del self._pending[attempt]  # type: ignore[arg-type]  # not None: it has pending items

    def _deliver(self, piece: Piece) -> None:
        self.board.add(piece)
        for subscription in self._subscriptions:
            subscription.push_piece(piece)


def _is_answer(event: Event) -> bool:
    """Return whether an event contains the answer of a model, or its failure."""
    return isinstance(event, ModelFailed) or (isinstance(event, StepRecorded) and event.what == "model")


def _release(pending_items: deque[Piece | str], event: Event) -> Iterator[Piece]:
    """Remove and yield the live output from before `event` was reported."""
    is_end = type(event) in ENDS
    key = getattr(event, "key", None) or getattr(event, "call_key", None) or event.type
    # An event that the attempt has not announced, for example one of a person.
    if not is_end and key not in pending_items:
        return
    while pending_items:
        first = pending_items.popleft()
        if isinstance(first, Piece):
            yield first
        elif not is_end and first == key:
            return
