"""Events of which only the beginning of large values is kept, so that thousands of them fit into memory.

The values are what agents were given and put out. The state refers to what is as long as this, so that it is the same
when it is folded from abridged events.
"""

from engine.core.events import Delegated, Event
from engine.core.records.records import JsonValue, copy_with, names

LARGE_BYTES = 100_000
"""An event of a longer body is abridged."""
CHARACTERS = 20_000
"""Of all texts, numbers and names of one value together, as far as they are kept."""
_VALUES = ("request", "output", "partial")
"""Fields of events that hold such values."""


def abridge(event: Event) -> Event:
    """Return an event with no more than the beginning of each value."""
    if isinstance(event, Delegated):
        return copy_with(
            event, children=[copy_with(child, input=_Abridger().abridge(child.input)) for child in event.children]
        )
    return copy_with(
        event, **{name: _Abridger().abridge(getattr(event, name)) for name in _VALUES if name in names(event)}
    )


class _Abridger:
    """The beginning of one value; counts the characters that are left."""

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
