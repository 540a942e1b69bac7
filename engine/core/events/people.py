"""Events of people besides answers: messages to running work, and standing permissions for tools."""

from typing import Literal

from msgspec import field

from engine.core.events.base import Event
from engine.core.records.records import fact


@fact
class Steered(Event):
    """A person sent a message to running work; each attempt reads it at its next turn, recorded as a step."""

    steer_id: str
    text: str
    sender: str
    tasks: list[str]
    """The open agent tasks that it is for."""
    now: bool = False
    """Interrupt a turn that cannot take the message while it runs."""


@fact
class GrantGiven(Event):
    """A person decided further calls of a tool by an agent, so that no more questions are asked about them."""

    grant_id: str
    agent_id: str
    generation: int
    """The generation of the agent for which it holds."""
    tool: str
    allows: bool = True
    """False rejects the calls."""
    scope: Literal["task", "run", "until", "always"] = "always"
    scope_id: str | None = None
    """The task or run that it holds for."""
    until_ms: int | None = None
    """When it ends, UTC milliseconds."""
    where: dict[str, str] = field(default_factory=dict)
    """It holds for calls with these arguments alone: JSON texts by name."""


@fact
class GrantRevoked(Event):
    """A standing permission ended: a person is asked again about calls of the tool."""

    grant_id: str
    agent_id: str
    tool: str
    why: Literal["person", "time", "ended"] = "person"
    """A person revoked it, its time has passed, or its task or run has ended."""
