"""What carrying out a command comes to."""

from msgspec import field

from engine.core.events import Event
from engine.core.fact import JsonValue, fact


@fact
class Applied:
    """The events of a command, and what its sender is told."""

    events: list[Event]
    summary: str
    """What it did, in a few words that follow "✓"."""
    result: dict[str, JsonValue] = field(default_factory=dict)
