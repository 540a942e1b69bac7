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
from engine.core.records.values import INLINE_CHARS, StoredValue, TextRef

KEPT_BYTES = 8 * 1024 * 1024
"""Default size of the cache: for outputs passed between agents, not for a day's history."""
EACH_BYTES = 1_000
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
        kept_bytes: Size of the cache: bytes of JSON, plus `EACH_BYTES` per event.
    """

    def __init__(self, read: Callable[[int], Awaitable[bytes]], *, kept_bytes: int = KEPT_BYTES) -> None:
        self._read = read
        self._limit = kept_bytes
        self._kept: OrderedDict[int, tuple[object, int]] = OrderedDict()
        self._bytes = 0

    def keep(self, seq: int, event: events.Event, size_bytes: int) -> None:
        """Cache an event that was just decided, if the state may refer to its value."""
        name = _CARRIERS.get(type(event))
        if name is None:
            return
        value = getattr(event, name)
        # Stands in the state itself, so that nothing refers to the event.
        if isinstance(value, str) and len(value) <= INLINE_CHARS:
            return
        self._remember(seq, event, size_bytes)

    async def resolve(self, value: StoredValue) -> JsonValue:
        """Return the value itself.

        Raises:
            store.NoSuchSeq: If the journal does not have the event.
        """
        if not isinstance(value, TextRef):
            return value
        kept = self._kept.get(value.seq)
        if kept is None:
            body = await self._read(value.seq)
            kept = (json.loads(body), len(body))
            self._remember(value.seq, *kept)
        else:
            self._kept.move_to_end(value.seq)
        resolved: JsonValue = walk(kept[0], value.path)
        return resolved

    def _remember(self, seq: int, record: object, size_bytes: int) -> None:
        if seq in self._kept:
            self._bytes -= self._kept.pop(seq)[1]
        self._kept[seq] = (record, size_bytes + EACH_BYTES)
        self._bytes += size_bytes + EACH_BYTES
        # The newest entry stays, however large: it is about to be used.
        while self._bytes > self._limit and len(self._kept) > 1:
            self._bytes -= self._kept.popitem(last=False)[1][1]


def resolved(value: StoredValue, body: Callable[[int], bytes]) -> JsonValue:
    """Return the value itself; `body` reads the body of an event by its seq."""
    if not isinstance(value, TextRef):
        return value
    found: JsonValue = walk(json.loads(body(value.seq)), value.path)
    return found


def walk(record: object, path: str) -> Any:
    """Return the value at `path` in an event or in its JSON body.

    Args:
        record: The event, or its body as parsed JSON.
        path: Field names and list positions joined by dots.
    """
    for name in path.split("."):
        if isinstance(record, list):
            record = record[int(name)]
        elif isinstance(record, dict):
            record = record[name]
        else:
            record = getattr(record, name)
    return record
