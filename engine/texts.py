"""Texts by reference: what the state holds as `TextRef`, read from the journal once.

What this process has written lately, or read, is kept within a bound of bytes; so an output goes to the next agent
without a visit to the disk.
"""

import json
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any

from engine.core import events
from engine.core.records import JsonValue
from engine.core.values import INLINE_CHARS, StoredValue, TextRef

KEPT_BYTES = 8 * 1024 * 1024
"""How much is cached by default: outputs passed between agents, not a day's history."""
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
"""Events whose values the state refers to, with the field of the value."""


class Texts:
    """Resolve what the state holds.

    Args:
        read: Returns the body of the event with a seq, from the journal.
        kept_bytes: How much to keep, counted in bytes of JSON and `EACH_BYTES` for each.
    """

    def __init__(self, read: Callable[[int], Awaitable[bytes]], *, kept_bytes: int = KEPT_BYTES) -> None:
        self._read = read
        self._limit = kept_bytes
        self._kept: OrderedDict[int, tuple[object, int]] = OrderedDict()
        self._bytes = 0

    def keep(self, seq: int, event: events.Event, size_bytes: int) -> None:
        """Remember an event that was just decided, where the state may refer to what it carries."""
        name = _CARRIERS.get(type(event))
        if name is None:
            return
        value = getattr(event, name)
        if isinstance(value, str) and len(value) <= INLINE_CHARS:
            return
        self._remember(seq, event, size_bytes)

    async def resolve(self, value: StoredValue) -> JsonValue:
        """Return the value itself.

        Raises:
            store.NoSuchSeq: If the journal does not have the event it refers to.
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
        while self._bytes > self._limit and len(self._kept) > 1:
            self._bytes -= self._kept.popitem(last=False)[1][1]


def resolved(value: StoredValue, body: Callable[[int], bytes]) -> JsonValue:
    """Return the value itself; `body` reads the body of the event with a seq."""
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
