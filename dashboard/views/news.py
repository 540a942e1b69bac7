"""One line that comes by itself: what happened that a person has to know, and what a newcomer may try next."""

from collections.abc import Collection
from dataclasses import dataclass

from dashboard.views.amounts import duration
from dashboard.views.rows import Cell
from engine.core.state import RunStatus, RunSummary, State
from engine.core.values import preview


class News:
    """Notice runs that end while somebody looks; those that had ended before are no news."""

    def __init__(self) -> None:
        self._known: str | None = None

    def of(self, state: State, *, caught_up: bool) -> Cell | None:
        """Return what is new since the last call.

        Args:
            state: As far as it is folded.
            caught_up: Whether that is all there is in the file; until it was so once, nothing is new.
        """
        newest = state.finished[-1] if state.finished else None
        now = newest.id if newest is not None else ""
        if self._known is None:
            self._known = now if caught_up else None
            return None
        if now == self._known or newest is None:
            return None
        self._known = now
        return _told(newest)


def _told(run: RunSummary) -> Cell | None:
    """A run that was cancelled was cancelled by somebody, who knows."""
    title = preview(run.title, 24)
    if run.status is RunStatus.DONE:
        took = duration(run.ended_ms - run.started_ms)
        return Cell(f"✓ {title} is done after {took} · 7 and enter show its output", "busy")
    if run.status is RunStatus.FAILED:
        return Cell(f"✕ {title} has failed · 7 and enter show why", "error")
    if run.status is RunStatus.SKIPPED:
        return Cell(f"– {title} was skipped · 7 and enter show why", "stopped")
    return None


SHOWN_MS = 25_000
"""A tip that nobody follows makes way for the next one after so long."""


@dataclass(frozen=True, slots=True)
class Tip:
    """One thing to try."""

    words: str
    done_by: frozenset[str]
    """Kinds of events that show that it was done."""


TIPS = (
    Tip("h on parser-fast, then enter: swap it while it works", frozenset({"agent_swapped"})),
    Tip("u: undo that swap, or B: roll an agent back", frozenset({"swap_rolled_back"})),
    Tip("z on an agent: pause it, and watch its queue; z again resumes it", frozenset({"agent_resumed"})),
    Tip("S on inspection: switch its strategy in mid-run, both graphs shown", frozenset({"strategy_switched"})),
    Tip("n: give the crew a request of your own, such as audit json", frozenset({"run_submitted"})),
    Tip("kill -9 {pid} in another terminal, then E: nothing that is done is lost", frozenset({"engine_started"})),
    Tip("7, then enter: read a report", frozenset()),
)


class Tips:
    """Choose the tip of the moment."""

    def __init__(self) -> None:
        self._left = list(TIPS)
        self._since_ms: int | None = None

    def of(self, happened: Collection[str], now_ms: int, *, pid: int | None) -> Cell | None:
        """Return the tip to show; None when all were shown.

        Args:
            happened: Kinds of the events since the last call.
            now_ms: The time.
            pid: The engine's process; without one only the tip to start another makes sense, and a banner gives it.
        """
        self._left = [tip for tip in self._left if tip.done_by.isdisjoint(happened)]
        if self._since_ms is None:
            self._since_ms = now_ms
        if self._left and now_ms - self._since_ms >= SHOWN_MS:
            del self._left[0]
            self._since_ms = now_ms
        if not self._left or pid is None:
            return None
        return Cell(self._left[0].words.format(pid=pid), "muted", "try  ")
