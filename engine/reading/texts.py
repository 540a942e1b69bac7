"""Resolves the `TextRef`s of the state: reads texts from the journal, with a cache.

Events that were written or read lately are cached up to a number of bytes, so that an output reaches the next agent
without a read from disk.
"""

import json
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any

from engine.core import events
from engine.core.records.records import JsonValue
from engine.core.records.values import INLINE_CHARS, StoredValue, TextRef, unescape_path

CACHE_BYTES = 8 * 1024 * 1024
"""Default size of the cache: for outputs passed between agents, not for a day's history."""
EVENT_OVERHEAD_BYTES = 1_000
"""Memory of an event object besides its JSON, in bytes."""

_CARRIERS: dict[type, str] = {
    events.RunSubmitted: "request",
    events.Delegated: "children",
    events.StepRecorded: "output",
    events.AttemptDone: "output",
    events.Remembered: "text",
    events.AttemptCancelled: "partial",
    events.AttemptSetAside: "partial",
    events.EscalationAnswered: "output",
    events.PartImported: "texts",
    events.SummariesImported: "texts",
    events.StateImported: "texts",
    events.TeamLoaded: "text",
}
"""Events that a `TextRef` may point to, with the name of the field that holds the value."""


class Texts:
    """Resolves values of the state, with a cache.

    Args:
        read: Returns the body of an event of the journal by its seq.
        kept_bytes: Size of the cache: bytes of JSON, plus `EVENT_OVERHEAD_BYTES` per event.
    """

    def __init__(self, read: Callable[[int], Awaitable[bytes]], *, kept_bytes: int = CACHE_BYTES) -> None:
        self._read = read
        self._limit = kept_bytes
        self._cache: OrderedDict[int, tuple[object, int]] = OrderedDict()
        self._bytes = 0

    def keep(self, seq: int, event: events.Event, size_bytes: int) -> None:
        """Cache an event that was just decided, if the state may refer to its value."""
        name = _CARRIERS.get(type(event))
        if name is None:
            return
        value = getattr(event, name)
        # A short text is in the state itself, so nothing refers to the event.
        if isinstance(value, str) and len(value) <= INLINE_CHARS and not getattr(event, "state_changes", None):
            return
        self._remember(seq, event, size_bytes)

    async def resolve(self, value: StoredValue) -> JsonValue:
        """Return a value, read from the journal if it is a reference; raises NoSuchSeq if its event is missing."""
        if not isinstance(value, TextRef):
            return value
        cached = self._cache.get(value.seq)
        if cached is None:
            body = await self._read(value.seq)
            cached = (json.loads(body), len(body))
            self._remember(value.seq, *cached)
        else:
            self._cache.move_to_end(value.seq)
        text: JsonValue = walk(cached[0], value.path)
        return text

    def _remember(self, seq: int, record: object, size_bytes: int) -> None:
        if seq in self._cache:
            self._bytes -= self._cache.pop(seq)[1]
        self._cache[seq] = (record, size_bytes + EVENT_OVERHEAD_BYTES)
        self._bytes += size_bytes + EVENT_OVERHEAD_BYTES
        # The newest entry stays, however large: it is about to be used.
        while self._bytes > self._limit and len(self._cache) > 1:
            self._bytes -= self._cache.popitem(last=False)[1][1]


def resolve_value(value: StoredValue, body: Callable[[int], bytes]) -> JsonValue:
    """Return a value, read from the journal if it is a reference; `body` returns the body of an event by its seq."""
    if not isinstance(value, TextRef):
        return value
    text: JsonValue = walk(json.loads(body(value.seq)), value.path)
    return text


def walk(record: object, path: str) -> Any:
    """Return the value at a path of names and list positions, joined by dots, in an event or its parsed JSON."""
    for name in path.split("."):
        if isinstance(record, list):
            record = record[int(name)]
        elif isinstance(record, dict):
            record = record[unescape_path(name)]
        else:
            record = getattr(record, name)
    return record
