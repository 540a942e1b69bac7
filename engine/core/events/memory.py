"""Events of memory: insights of agents, and prompt parts, each stored once."""

from typing import Literal

from msgspec import field

from engine.core.entities.memory import PRIVATE, Evidence
from engine.core.events.base import Event
from engine.core.records.records import JsonValue, fact


@fact
class Remembered(Event):
    """An insight was written: by an agent for its later work or for its team, or by a person."""

    run_id: str | None = None
    task_id: str | None = None
    """The task of the agent that wrote it."""
    agent_id: str | None = None
    """None if a person or a program wrote it."""
    supervisor_id: str = ""
    """The supervisor at the top of its team; empty in older journals."""
    author: str = ""
    """Name of the agent or person; empty in older journals."""
    insight_id: str
    text: str
    tags: list[str] = field(default_factory=list)
    segment: str = PRIVATE
    importance: float
    """From 0 to 1."""
    version: int = 1
    supersedes: str | None = None
    """The insight that it takes the place of."""
    expires_ms: int | None = None
    """When it is forgotten."""
    evidence: Evidence | None = None
    """The step in which it was written."""


@fact
class InsightsForgotten(Event):
    """Insights were dropped."""

    ids: list[str]
    why: Literal["expired", "room", "person"]
    """Their time was over, there were too many, or a person dropped them."""


@fact
class PartRecorded(Event):
    """A system prompt or tool schemas were sent to a model for the first time; steps refer to them by hash."""

    hash: str
    value: JsonValue
