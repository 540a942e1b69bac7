"""What carrying out a command comes to."""

from dataclasses import field

from pydantic import JsonValue

from engine.core.events import Event
from engine.core.fact import fact


@fact
class Applied:
    """The events of a command, and what its sender is told."""

    events: list[Event]
    summary: str
    """What it did, in a few words that follow "✓"."""
    result: dict[str, JsonValue] = field(default_factory=dict)
