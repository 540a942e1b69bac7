"""What people said besides answers: messages to work under way, and what is granted for all calls of a tool."""

from typing import Literal

from engine.core.events.base import EventBase
from engine.core.records import fact


@fact
class Steered(EventBase):
    """A message for conversations under way: each takes it at its next turn, which is recorded as a step."""

    type: Literal["steered"] = "steered"
    steer_id: str
    text: str
    sender: str
    tasks: list[str]
    """Those that it is for: open work of agents, at work or waiting."""
    now: bool = False
    """A turn that cannot be joined is to be cut short for it."""


@fact
class GrantGiven(EventBase):
    """A person answered for all calls of a tool by an agent: later ones are not asked about."""

    type: Literal["grant_given"] = "grant_given"
    grant_id: str
    agent_id: str
    generation: int
    """It holds for this generation of the agent, and ends with it."""
    tool: str
    allows: bool = True
    """False where the calls are rejected without asking."""


@fact
class GrantRevoked(EventBase):
    """A person is asked again about calls of a tool."""

    type: Literal["grant_revoked"] = "grant_revoked"
    grant_id: str
    agent_id: str
    tool: str
