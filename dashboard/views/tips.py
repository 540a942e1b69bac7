"""What a newcomer to the demo may try next: one quiet line at a time, each once, gone when it is done."""

from collections.abc import Collection
from dataclasses import dataclass

from dashboard.views.rows import Cell

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
    Tip("5, then enter: read a report", frozenset()),
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
