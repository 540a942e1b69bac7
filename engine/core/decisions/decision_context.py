"""What a decision may know besides the state: the time, one draw, and what the one who runs the engine trusts."""

from collections.abc import Mapping

from msgspec import field

from engine.core.commands import Submit
from engine.core.records.records import fact


@fact
class DecisionContext:
    """Handed in by the shell, so that the core needs neither a clock nor chance."""

    now_ms: int
    """UTC milliseconds, never before the last event."""
    jitter: float
    """A draw from [0, 1)."""
    granted: Mapping[str, str] = field(default_factory=dict)
    """References of the order that may be imported, each with the hash of its code; empty for installed code."""
    sender: str = ""
    """Who sent the order."""
    ended: Mapping[str, str] = field(default_factory=dict)
    """How runs ended that the order names, where the engine has looked them up."""
    again: Submit | None = None
    """The request of the finished run that the order names, where the engine has looked it up."""
    run_id: str | None = None
    """The run whose agent gave the order."""
