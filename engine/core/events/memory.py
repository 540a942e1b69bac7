"""Events of memory: insights of agents, and prompt parts, each stored once."""

from msgspec import field

from engine.core.events.base import Event, TaskEvent
from engine.core.records.records import JsonValue, fact


@fact
class Remembered(TaskEvent):
    """An agent stored an insight for later attempts."""

    agent_id: str
    insight_id: str
    text: str
    tags: list[str] = field(default_factory=list)
    importance: float
    """From 0 to 1."""


@fact
class PartRecorded(Event):
    """A system prompt or tool schemas were sent to a model for the first time; steps refer to them by hash."""

    hash: str
    value: JsonValue
