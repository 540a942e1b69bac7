"""Events of people besides answers: messages to running work, and standing permissions for tools."""

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
    """A person decided all future calls of a tool by an agent, so that no more questions are asked about them."""

    grant_id: str
    agent_id: str
    generation: int
    """The generation of the agent for which it holds."""
    tool: str
    allows: bool = True
    """False rejects the calls."""


@fact
class GrantRevoked(Event):
    """A standing permission was revoked: a person is asked again about calls of the tool."""

    grant_id: str
    agent_id: str
    tool: str
