"""Figures of agents, each defined once: screens, hints, lists of the command line and metrics show these."""

from collections.abc import Sequence

from engine.core.state import Agent

MIN_OUTCOMES = 10
"""Ended attempts below which no share is shown: one failure of one would read as 100 %."""


def is_busy(agent: Agent) -> bool:
    """Return whether an attempt of an agent holds a slot; a wait for a person or for delegated work does not."""
    return bool(agent.running)


def success_share(done: int, failed: int) -> float | None:
    """Return the share of attempts that ended well, 0 to 1; None below `MIN_OUTCOMES`."""
    ended = done + failed
    return done / ended if ended >= MIN_OUTCOMES else None


def median(values: Sequence[int]) -> float | None:
    """Return the median, such as the p50 of an agent from its `at_work_ms`; None without values."""
    if not values:
        return None
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
