"""Truncates large values of events, so that thousands of events fit into memory.

The values are inputs and outputs of agents. The state has only references to values of this size, so that folding
abridged events gives the same state.
"""

from engine.core.events import Delegated, Event
from engine.core.records.records import JsonValue, copy_with, field_names

LARGE_BYTES = 100_000
"""Events with a longer body are abridged."""
CHARACTERS = 20_000
"""Characters of one value that are kept, over all its texts, numbers and names."""
_VALUES = ("request", "output", "partial")
"""Fields of events that may have large values."""


def abridge(event: Event) -> Event:
    """Return an event with truncated values."""
    if isinstance(event, Delegated):
        children = [copy_with(child, input=_Abridger().abridge(child.input)) for child in event.children]
        return copy_with(event, children=children)
    values = {name: _Abridger().abridge(getattr(event, name)) for name in _VALUES if name in field_names(event)}
    return copy_with(event, **values)


class _Abridger:
    """Truncates one value; counts the characters that remain."""

    def __init__(self) -> None:
        self._left = CHARACTERS

    def abridge(self, value: JsonValue) -> JsonValue:
        if isinstance(value, str):
            room = max(0, self._left)
            self._left -= len(value)
            return value if len(value) <= room else f"{value[:room]}… ({len(value):,} characters)"
        self._left -= 8
        if isinstance(value, list):
            items: list[JsonValue] = []
            for item in value:
                if self._left <= 0:
                    return [*items, f"… {len(value) - len(items):,} more"]
                items.append(self.abridge(item))
            return items
        if isinstance(value, dict):
            fields: dict[str, JsonValue] = {}
            for key, item in value.items():
                if self._left <= 0:
                    return fields | {"…": f"{len(value) - len(fields):,} more"}
                self._left -= len(key)
                fields[key[:CHARACTERS]] = self.abridge(item)
            return fields
        return value
