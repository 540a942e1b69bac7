"""The inputs of a decision besides the state: time, one random draw, trusted references, facts about finished runs."""

from collections.abc import Collection, Mapping

from msgspec import field

from engine.core.commands import Submit
from engine.core.entities.team import Origin
from engine.core.records.records import fact


@fact
class DecisionContext:
    """Passed in by the shell, so that the core needs no clock and no random source."""

    now_ms: int
    """UTC milliseconds, never before the last event."""
    jitter: float
    """A draw from [0, 1)."""
    granted: Mapping[str, str] = field(default_factory=dict)
    """References of the order that may be imported, each with the hash of its code; empty for installed code."""
    sender: str = ""
    """The sender of the order."""
    ended: Mapping[str, str] = field(default_factory=dict)
    """Statuses of finished runs that the order names, by id, if the engine has looked them up in the journal."""
    again: Submit | None = None
    """Request of the finished run that the order names, if the engine has looked it up in the journal."""
    run_id: str | None = None
    """The run whose agent sent the order; None if a person or program did."""
    origin: Origin | None = None
    """Where the engine found the spec of the order, if that is an entry of the catalogue."""
    replaceable: Collection[str] | None = None
    """Agents that may make room for one that is added; None is all."""
