"""What agents remember, and the parts of what models are told, each once."""

from typing import Literal

from msgspec import field

from engine.core.events.base import EventBase, TaskEvent
from engine.core.records import JsonValue, fact


@fact
class Remembered(TaskEvent):
    """An agent keeps something for later."""

    type: Literal["remembered"] = "remembered"
    agent_id: str
    insight_id: str
    text: str
    tags: list[str] = field(default_factory=list)
    importance: float
    """From 0 to 1."""


@fact
class PartRecorded(EventBase):
    """A system prompt, or the schemas of tools, that a model is told of for the first time; steps name it by hash."""

    type: Literal["part_recorded"] = "part_recorded"
    hash: str
    value: JsonValue
