"""A stream reader in another process: events from the journal, live output from the live file.

It only reads, so it cannot affect the engine.
"""

import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType

import anyio
import anyio.to_thread
from typing_extensions import override

from engine.core.events import Event
from engine.stream.merging import Merger
from engine.stream.records import StreamItem
from engine.stream.subscription import Subscription
from store import Reader

POLL_S = 0.05
"""Interval between reads of the live file."""
PATIENCE_S = 2.0
"""How long an event waits for the live file to catch up before it is delivered without it: longer than the thread that
writes it pauses.
"""
MAX_EVENTS = 500


class AttachedStream(AsyncIterator[StreamItem], AbstractContextManager["AttachedStream"]):
    """Events of a file with their seqs, and pieces between them; iterate over it inside a `with`."""

    run_id: str | None = None
    """Unused: a narrator selects the tasks of its run by their ids."""

    def __init__(self, path: Path, events: Subscription[tuple[int, Event]]) -> None:
        self._path = path
        self._events = events
        self._reader: Reader | None = None
        self._merger = Merger()
        self._ready: deque[StreamItem] = deque()
        self._waits_since_s: float | None = None
        self._has_ended = False

    @override
    async def __anext__(self) -> StreamItem:
        """Return the next event or piece."""
        while not self._ready:
            if self._has_ended:
                raise StopAsyncIteration
            await self._read_more()
        return self._ready.popleft()

    @override
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._events.close()
        if self._reader is not None:
            self._reader.close()

    async def _read_more(self) -> None:
        events: list[tuple[int, Event]] = []
        with anyio.move_on_after(POLL_S):
            while len(events) < MAX_EVENTS:
                try:
                    events.append(await anext(self._events))
                except StopAsyncIteration:
                    self._has_ended = True
                    break
        texts = await anyio.to_thread.run_sync(self._read_recent_outputs)
        now_s = time.monotonic()
        since_s = now_s if self._waits_since_s is None else self._waits_since_s
        is_patient = not self._has_ended and now_s < since_s + PATIENCE_S
        self._ready.extend(self._merger.step(events, texts, patient=is_patient))
        self._waits_since_s = since_s if self._merger.is_waiting else None

    def _read_recent_outputs(self) -> dict[str, str]:
        if self._reader is None:
            self._reader = Reader(self._path)
        return self._reader.recent_outputs()
