"""What a decision may know besides the state: the time and one draw."""

from engine.core.fact import fact


@fact
class Context:
    """Handed in by the shell, so that the core needs neither a clock nor chance."""

    now_ms: int
    """UTC milliseconds, never before the last event."""
    jitter: float
    """A draw from [0, 1)."""
