"""A stream reader in this process.

It never slows the writer. Buffered text is merged, and beyond a limit dropped with a `dropped` piece. Events are never
dropped: those beyond the buffer are read from the journal later.
"""

from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Protocol, TypeAlias, TypeVar

import anyio
from anyio.lowlevel import checkpoint
from typing_extensions import override

from engine.core.events import Event
from engine.stream.records import Piece, Speaker, StreamItem

MAX_TASK_CHARACTERS = 1_000_000
"""Characters of one task that are buffered for a reader; more are dropped."""
MAX_CHARACTERS = 16_000_000
"""Characters of all tasks that are buffered for a reader."""
TOOL_CHARACTERS = 200
"""Characters that a tool call counts as."""
ITEMS_PER_TURN = 64
"""Items that a reader takes before it yields to the event loop."""

ItemT = TypeVar("ItemT", bound=StreamItem)
ReadEvents: TypeAlias = Callable[[int], Awaitable[list[tuple[int, Event]]]]
"""Reads the next events after a seq from the journal; none when there are no more."""


class _Merged:
    """Buffered text of one task, in pieces."""

    __slots__ = ("characters", "first", "texts")

    def __init__(self, first: Piece) -> None:
        self.first = first
        self.texts = [first.text]
        self.characters = len(first.text)

    @property
    def piece(self) -> Piece:
        first = self.first
        text = first.text if len(self.texts) == 1 else "".join(self.texts)
        return Piece(speaker=first.speaker, kind=first.kind, at_ms=first.at_ms, text=text)


class EventSource(Protocol):
    """The source that a reader subscribes to."""

    delivered_seq: int
    """Seq of the newest event that was delivered to the readers."""

    def remove(self, subscription: "Subscription[Any]") -> None:
        """Remove a reader."""


class Subscription(AsyncIterator[ItemT], AbstractContextManager["Subscription[ItemT]"]):
    """An async iterator over events with their seqs, from subscribing on, and pieces between them.

    It ends when the engine does.
    """

    run_id: str | None = None
    """Deliver only pieces of this run; None delivers those of all runs."""

    def __init__(self, bus: EventSource, read_on: ReadEvents, *, buffered: int, pieces: bool) -> None:
        self._bus = bus
        self._read_on = read_on
        self._buffered = buffered
        self._with_pieces = pieces
        self._queue: deque[_Merged | StreamItem] = deque()
        self._queued_events = 0
        self._last: dict[str, _Merged] = {}
        """By task: the text into which more is merged, as long as nothing of the task is queued behind it."""
        self._waiting: dict[str, int] = {}
        """Buffered characters by task."""
        self._characters = 0
        self._dropped: dict[str, Piece] = {}
        """By task: what was dropped since its last text in the queue."""
        self._behind_after: int | None = None
        """The last event in the queue if the buffer is full; later ones are read from the journal."""
        self._has_ended = False
        self._news: anyio.Event | None = None
        self._delivered_count = 0

    @override
    async def __anext__(self) -> ItemT:
        """Return the next event or piece."""
        self._delivered_count += 1
        if self._delivered_count % ITEMS_PER_TURN == 0:
            await checkpoint()
        while not self._queue:
            if self._behind_after is not None:
                await self._catch_up(self._behind_after)
            elif self._dropped:
                self._queue_dropped()
            elif self._has_ended:
                raise StopAsyncIteration
            else:
                self._news = anyio.Event()
                await self._news.wait()
        return self._take()  # type: ignore[return-value]  # without pieces there are none in the queue

    @override
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop listening."""
        self._bus.remove(self)
        self._queue.clear()
        self._last.clear()
        self._dropped.clear()
        self._behind_after = None
        self.end()

    def push(self, seq: int, event: Event) -> None:
        """Buffer an event, or note from where to read the journal."""
        if self._behind_after is not None:
            return
        if self._queued_events >= self._buffered:
            self._behind_after = seq - 1
            self._last.clear()
        else:
            if self._last or self._dropped:
                self._end_merging(getattr(event, "task_id", None))
            self._queue.append((seq, event))
            self._queued_events += 1
        self._wake()

    def push_piece(self, piece: Piece) -> None:
        """Buffer a piece, or count it as dropped."""
        speaker = piece.speaker
        if not self._with_pieces or piece.kind == "closed" or (self.run_id or speaker.run_id) != speaker.run_id:
            return
        size, task_id = len(piece.text) if piece.name is None else TOOL_CHARACTERS, speaker.task_id
        waiting = self._waiting.get(task_id, 0)
        has_room = waiting + size <= MAX_TASK_CHARACTERS and self._characters + size <= MAX_CHARACTERS
        # While behind, pieces have no place between the events still to be read; and after one dropped piece the rest
        # of the task is dropped until the reader knows, so that text has no unmarked gaps.
        if self._behind_after is not None or not has_room or task_id in self._dropped:
            self._drop(speaker, piece.at_ms, size)
        else:
            self._waiting[task_id] = waiting + size
            self._characters += size
            last = self._last.get(task_id)
            if last is not None and last.first.kind == piece.kind and last.first.speaker is speaker:
                last.texts.append(piece.text)
                last.characters += size
                return
            if piece.name is None:
                self._last[task_id] = merged = _Merged(piece)
                self._queue.append(merged)
            else:
                self._last.pop(task_id, None)
                self._queue.append(piece)
        self._wake()

    def end(self) -> None:
        """End once everything buffered is taken."""
        self._has_ended = True
        self._wake()

    def _wake(self) -> None:
        if self._news is not None:
            self._news.set()
            self._news = None

    def _take(self) -> StreamItem:
        item = self._queue.popleft()
        if isinstance(item, tuple):
            self._queued_events -= 1
            return item
        if isinstance(item, Piece):
            if item.kind != "dropped":
                self._release(item.speaker.task_id, TOOL_CHARACTERS)
            return item
        task_id = item.first.speaker.task_id
        if self._last.get(task_id) is item:
            del self._last[task_id]
        self._release(task_id, item.characters)
        return item.piece

    def _release(self, task_id: str, size: int) -> None:
        self._characters -= size
        if (remaining := self._waiting[task_id] - size) > 0:
            self._waiting[task_id] = remaining
        else:
            del self._waiting[task_id]

    def _drop(self, speaker: Speaker, at_ms: int, size: int) -> None:
        dropped = self._dropped.get(speaker.task_id)
        if dropped is None:
            dropped = self._dropped[speaker.task_id] = Piece(speaker, "dropped", at_ms, value=0)
        dropped.value += size  # type: ignore[operator]  # counted from 0

    def _end_merging(self, task_id: str | None) -> None:
        """End merging for a task (None: for all), so that the next item stands behind its text."""
        if task_id is None:
            self._last.clear()
            self._queue_dropped()
        else:
            self._last.pop(task_id, None)
            if (dropped := self._dropped.pop(task_id, None)) is not None:
                self._queue.append(dropped)

    def _queue_dropped(self) -> None:
        self._queue.extend(self._dropped.values())
        self._dropped.clear()

    async def _catch_up(self, after_seq: int) -> None:
        """Read the next events from the journal, until the reader is no longer behind."""
        events = [item for item in await self._read_on(after_seq) if item[0] > after_seq]
        self._queue.extend(events)
        self._queued_events += len(events)
        last_seq = events[-1][0] if events else after_seq
        is_level = last_seq >= self._bus.delivered_seq or (self._has_ended and not events)
        self._behind_after = None if is_level else last_seq
        if not events and not is_level:
            await checkpoint()
