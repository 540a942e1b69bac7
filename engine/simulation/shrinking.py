"""Shrinks a history that breaks an invariant: leaves out decisions and failures while it still breaks.

Delta debugging (A. Zeller and R. Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", IEEE Transactions on
Software Engineering 28, 2002) over the list of all decisions that chance took: what operators do, what goes wrong
around, and which attempts go wrong by themselves.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from engine.simulation.history import run_history
from engine.simulation.plan import Decision, HistoryResult, Plan

MAX_RUNS = 250
MAX_SECONDS = 40.0
"""How long shrinking may take, in seconds; it returns the shortest history found by then."""

Part: TypeAlias = Decision | str
"""A part that can be left out: a decision, or the failure of one attempt."""


def shrink_history(
    result: HistoryResult, live: Callable[[Plan], HistoryResult] = run_history, *, seconds: float = MAX_SECONDS
) -> HistoryResult:
    """Return the shortest history found that breaks the same invariant as `result`.

    Args:
        result: The history that broke it.
        live: Runs a plan.
        seconds: How long to search, in seconds.
    """
    assert result.violation is not None
    shrinker = _Shrinker(result, live, time.monotonic() + seconds)
    shrinker.shrink()
    return shrinker.best


class _Shrinker:
    def __init__(self, result: HistoryResult, live: Callable[[Plan], HistoryResult], until_s: float) -> None:
        self.best = result
        self._live = live
        self._until_s = until_s
        self._runs = 0

    def shrink(self) -> None:
        """Leave out pieces, large ones first, until no single part can be left out."""
        self._try_parts([part for part in self._parts() if not isinstance(part, str)])
        size = max(1, len(self._parts()) // 2)
        while not self._is_spent():
            place, has_shrunk = 0, False
            while place < len(self._parts()) and not self._is_spent():
                parts = self._parts()
                if self._try_parts(parts[:place] + parts[place + size :]):
                    has_shrunk = True
                else:
                    place += size
            if size == 1 and not has_shrunk:
                return
            size = max(1, min(size // 2, len(self._parts()) // 2))

    def _parts(self) -> list[Part]:
        """Return the parts of the best history that can still be left out; those after its end are gone already."""
        broken = self.best.violation
        assert broken is not None
        decisions = [decision for decision in self.best.plan.decisions if decision.at_ms <= broken.at_ms]
        return [*decisions, *self.best.mishaps]

    def _try_parts(self, parts: list[Part]) -> bool:
        """Run a history with only these parts; keep it if it breaks the same invariant."""
        self._runs += 1
        wrong = {part for part in parts if isinstance(part, str)}
        calm = self.best.plan.calm | (set(self.best.mishaps) - wrong)
        decisions = [part for part in parts if isinstance(part, Decision)]
        result = self._live(replace(self.best.plan, decisions=tuple(decisions), calm=frozenset(calm)))
        before, after = self.best.violation, result.violation
        if before is None or after is None or after.law != before.law:
            return False
        self.best = result
        return True

    def _is_spent(self) -> bool:
        return self._runs >= MAX_RUNS or time.monotonic() >= self._until_s
