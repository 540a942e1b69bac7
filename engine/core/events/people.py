"""What people said for longer than one answer: grants."""

from typing import Literal

from engine.core.fact import fact


@fact
class GrantGiven:
    """A person answered for all calls of a tool by an agent: nobody is asked about these any more."""

    type: Literal["grant_given"] = "grant_given"
    at_ms: int = 0
    grant_id: str
    agent_id: str
    generation: int
    """It holds for this generation of the agent, and ends with it."""
    tool: str
    allows: bool = True
    """False where the calls are rejected without asking."""


@fact
class GrantRevoked:
    """A person is asked again about calls of a tool."""

    type: Literal["grant_revoked"] = "grant_revoked"
    at_ms: int = 0
    grant_id: str
    agent_id: str
    tool: str
