"""Merges events of the journal and recent outputs in the live file into one order, for a reader in another process.

The live file is written a moment after the journal, so an event waits until the recent outputs are as new. Those of a
task contain the places of its events.
"""

import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from engine.core.events import Event
from engine.stream.board import RECENT_PREFIX
from engine.stream.records import Piece, Speaker, StreamItem

_Entry: TypeAlias = Piece | int


class Merger:
    """The position of one reader in the journal and in the recent outputs."""

    def __init__(self) -> None:
        self._events: deque[tuple[int, Event]] = deque()
        self._readers: dict[str, _RecentOutputReader] = {}
        self._last_seq = 0

    @property
    def is_waiting(self) -> bool:
        """True while an event waits for the recent outputs."""
        return bool(self._events)

    def step(
        self, events: Iterable[tuple[int, Event]], texts: Mapping[str, str], *, patient: bool = True
    ) -> Iterator[StreamItem]:
        """Yield what can be delivered now.

        Args:
            events: New events of the journal.
            texts: The present recent outputs, read after these events.
            patient: Keep events waiting for recent outputs that are older, or not there yet: an engine that begins
                writes its first ones a moment after its events.
        """
        self._events.extend(events)
        delivered_seq = int(texts.get(RECENT_PREFIX, "0")) if patient else None
        for key, text in texts.items():
            if key != RECENT_PREFIX:
                task_id = key.removeprefix(RECENT_PREFIX)
                self._readers.setdefault(task_id, _RecentOutputReader(task_id)).read(text)
        while self._events and (delivered_seq is None or self._events[0][0] <= delivered_seq):
            seq, event = self._events.popleft()
            reader = self._readers.get(getattr(event, "task_id", None) or "")
            if reader is not None:
                yield from reader.take_before(seq)
            yield seq, event
            self._last_seq = seq
        for reader in self._readers.values():
            yield from reader.take_delivered(self._last_seq)
        delivered_ids = [task_id for task_id, reader in self._readers.items() if not reader.entries]
        for task_id in delivered_ids:
            if f"{RECENT_PREFIX}{task_id}" not in texts:
                del self._readers[task_id]


class _RecentOutputReader:
    """The position in the recent output of one task."""

    def __init__(self, task_id: str) -> None:
        self._task_id = task_id
        self._number = -1
        """Number of the next entry."""
        self._characters = 0
        """Characters that were read or missed so far."""
        self.entries: deque[_Entry] = deque()
        """Entries that were read and not delivered yet."""

    def read(self, text: str) -> None:
        """Read the new entries of the recent output."""
        recent = json.loads(text)
        first, before, entries = int(recent["n"]), int(recent["c"]), recent["e"]
        # A new reader starts with what is there; earlier output does not count as missed.
        if self._number == -1:
            self._number, self._characters = first, before
        elif first > self._number:
            if before > self._characters and entries:
                dropped = ["dropped", _attempt(entries), _at_ms(entries), "", None, before - self._characters]
                self.entries.append(_piece(self._task_id, dropped))
            self._number, self._characters = first, before
        for entry in entries[max(0, self._number - first) :]:
            self._number += 1
            if isinstance(entry, int):
                self.entries.append(entry)
            else:
                self.entries.append(_piece(self._task_id, entry))
                self._characters += len(entry[3])

    def take_before(self, seq: int) -> Iterator[Piece]:
        """Remove and yield the output from before an event."""
        if not any(isinstance(entry, int) and entry <= seq for entry in self.entries):
            return
        while self.entries:
            entry = self.entries.popleft()
            if isinstance(entry, Piece):
                yield entry
            elif entry == seq:
                return
            elif entry > seq:
                self.entries.appendleft(entry)
                return

    def take_delivered(self, seq: int) -> Iterator[Piece]:
        """Remove and yield the output from before the first event that was not delivered yet."""
        while self.entries:
            entry = self.entries[0]
            if isinstance(entry, int):
                if entry > seq:
                    return
                self.entries.popleft()
            else:
                yield self.entries.popleft()  # type: ignore[misc]  # checked above


def _piece(task_id: str, entry: list[Any]) -> Piece:
    kind, attempt, at_ms, text, name, value = entry
    speaker = Speaker(run_id="", task_id=task_id, attempt=attempt, agent_id="", agent="")
    return Piece(speaker, kind, at_ms, text, name, value)


def _attempt(entries: list[Any]) -> int:
    return next((int(entry[1]) for entry in entries if not isinstance(entry, int)), 0)


def _at_ms(entries: list[Any]) -> int:
    return next((int(entry[2]) for entry in entries if not isinstance(entry, int)), 0)
