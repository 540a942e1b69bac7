"""Shrinks a history that breaks a law: leaves out decisions and mishaps while it still breaks.

Delta debugging (A. Zeller and R. Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", IEEE Transactions on
Software Engineering 28, 2002) over the list of all decisions that chance took: commands of operators,
faults of the surroundings, and mishaps of attempts.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from engine.simulation.history import run_history
from engine.simulation.plan import Decision, HistoryResult, Plan

MAX_RUNS = 250
MAX_SECONDS = 40.0
"""How long shrinking may take, in seconds; it returns the shortest history found by then."""


@dataclass(frozen=True, slots=True)
class Mishap:
    """The mishap of one attempt."""

    attempt_key: str


def shrink_history(
    result: HistoryResult, run: Callable[[Plan], HistoryResult] = run_history, *, seconds: float = MAX_SECONDS
) -> HistoryResult:
    """Return the shortest history found that breaks the same law as `result`.

    Args:
        result: The history that broke it.
        run: Runs a plan.
        seconds: How long to search, in seconds.
    """
    assert result.violation is not None
    shrinker = _Shrinker(result, run, time.monotonic() + seconds)
    shrinker.shrink()
    return shrinker.best


class _Shrinker:
    def __init__(self, result: HistoryResult, run: Callable[[Plan], HistoryResult], until_s: float) -> None:
        self.best = result
        self._run = run
        self._until_s = until_s
        self._runs = 0

    def shrink(self) -> None:
        """Leave out pieces, large ones first, until no single part can be left out."""
        self._try_parts([part for part in self._parts() if isinstance(part, Decision)])  # first without any mishap
        size = max(1, len(self._parts()) // 2)
        while not self._is_out_of_budget():
            index = 0
            has_shrunk = False
            while index < len(self._parts()) and not self._is_out_of_budget():
                parts = self._parts()
                if self._try_parts(parts[:index] + parts[index + size :]):
                    has_shrunk = True
                else:
                    index += size
            if size == 1 and not has_shrunk:
                return
            size = max(1, min(size // 2, len(self._parts()) // 2))

    def _parts(self) -> list[Decision | Mishap]:
        """Return the parts of the best history that can still be left out; decisions after its end had no effect."""
        broken = self.best.violation
        assert broken is not None
        decisions = [decision for decision in self.best.plan.decisions if decision.at_ms <= broken.at_ms]
        return [*decisions, *map(Mishap, self.best.mishaps)]

    def _try_parts(self, parts: Sequence[Decision | Mishap]) -> bool:
        """Run a history with only these parts; keep it if it breaks the same law."""
        self._runs += 1
        kept_mishaps = {part.attempt_key for part in parts if isinstance(part, Mishap)}
        avoided_mishaps = self.best.plan.avoided_mishaps | (self.best.mishaps.keys() - kept_mishaps)
        decisions = tuple(part for part in parts if isinstance(part, Decision))
        result = self._run(replace(self.best.plan, decisions=decisions, avoided_mishaps=avoided_mishaps))
        before = self.best.violation
        after = result.violation
        if before is None or after is None or after.law != before.law:
            return False
        self.best = result
        return True

    def _is_out_of_budget(self) -> bool:
        return self._runs >= MAX_RUNS or time.monotonic() >= self._until_s
