"""How long work that is under way may take: a range, and nothing where nothing can be said. Pure."""

from math import sqrt
from typing import NamedTuple

from dashboard.views.amounts import duration
from engine.core.state import Run

FEWEST = 8
"""Tasks that have to have ended before anything is said."""
NARROWEST, WIDEST = 0.15, 0.6
"""Of the middle: how far the ends of the range are from it."""


class Range(NamedTuple):
    """From the shortest to the longest time that is likely, in milliseconds."""

    low_ms: float
    high_ms: float

    @property
    def text(self) -> str:
        """Such as `32–50 s`, `2–4 min`, or `1 min 10 s – 2 min 05 s` where the units differ."""
        for unit_ms, unit, upto in ((1_000, "s", 120), (60_000, "min", 120), (3_600_000, "h", 1_000_000)):
            low, high = self.low_ms / unit_ms, self.high_ms / unit_ms
            if high <= upto and (low >= 1 or unit == "s"):
                first, last = max(1, round(low)), max(1, round(high))
                return f"{first}–{last} {unit}" if first != last else f"{last} {unit}"
        return f"{duration(self.low_ms)} – {duration(self.high_ms)}"


def time_left(run: Run, now_ms: int) -> Range | None:
    """Return how long an open run may still take, from how many of its tasks ended in its time; None if unclear.

    The ends of the range are two standard deviations of a Poisson count away from the middle. Tasks that come later are
    not known, so that a run whose agents hand out work in the end takes longer.
    """
    left = run.total - run.ended
    if run.ended < FEWEST or left <= 0 or run.paused or run.suspended or run.after:
        return None
    a_task_ms = max(0, now_ms - run.started_ms) / run.ended
    off = max(NARROWEST, min(WIDEST, 2 / sqrt(run.ended)))
    return Range(left * a_task_ms * (1 - off), left * a_task_ms * (1 + off))
