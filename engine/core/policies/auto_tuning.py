"""Proposes changes to the coordination of a supervisor with `optimize`, based on its finished runs.

Invariant: a change needs `MIN_RUNS` runs, one change is made at a time, and a change that made the figures worse
over as many runs is reverted and not tried again. See docs/decisions/later.md.
"""

from collections.abc import Sequence
from statistics import median
from typing import Literal

from engine.core.records.records import fact
from engine.core.specs.options import Optimize
from engine.core.state import RunStatus, RunSummary, State, Supervisor

MIN_RUNS = 20
"""Finished runs that a decision needs."""
REVERT_SHARE = 0.1
"""A change is reverted if a figure got worse by this share."""


@fact
class RunStatistics:
    """Statistics of the last runs of a supervisor."""

    runs: int
    success: float
    """Share of runs that were done, 0 to 1."""
    median_ms: float
    """From submission to output."""
    speed: float
    """Median ratio of the longest attempt's duration to the run's; at most 1: no run is shorter than its attempts."""


@fact
class TuningChange:
    """A change to make, and the reason."""

    kind: Literal["parallel", "selection", "back"]
    metric: str
    """The figure that is too low or too high."""
    before: float
    expected: float | None
    """The expected figure; for a reverted change the figure before it."""
    runs: int
    reason: str


def figures_of(runs: Sequence[RunSummary]) -> RunStatistics:
    """Return the figures of one or more finished runs."""
    times = [max(1, run.ended_ms - run.started_ms) for run in runs]
    shares = [min(1.0, run.longest_ms / time) for run, time in zip(runs, times, strict=True)]
    done = sum(run.status is RunStatus.DONE for run in runs)
    return RunStatistics(runs=len(runs), success=done / len(runs), median_ms=median(times), speed=median(shares))


def runs_of(state: State, supervisor: Supervisor) -> list[RunSummary]:
    """Return the last runs submitted since the last change, without cancelled ones."""
    since_ms = 0 if supervisor.tuning is None else supervisor.tuning.changed_ms
    recent_runs = [
        run
        for run in state.finished
        if run.supervisor_id == supervisor.id
        and run.strategy == supervisor.mode
        and run.started_ms >= since_ms
        and run.status is not RunStatus.CANCELLED
    ]
    return recent_runs[-MIN_RUNS:]


def next_change(state: State, supervisor: Supervisor) -> TuningChange | None:
    """Return the change to make now; None with too few runs, or if none would help."""
    optimize = supervisor.options.optimize
    runs = runs_of(state, supervisor)
    if optimize is None or len(runs) < MIN_RUNS:
        return None
    figures = figures_of(runs)
    tuning = supervisor.tuning
    if tuning is not None and tuning.is_on_trial:
        return _propose_revert(supervisor, figures)
    return _propose_parallel(supervisor, optimize, figures) or _propose_selection(supervisor, optimize, figures)


def _propose_parallel(supervisor: Supervisor, optimize: Optimize, figures: RunStatistics) -> TuningChange | None:
    is_allowed = (
        optimize.switch_to_parallel_when_slow
        and supervisor.mode == "sequential"
        and not _was_tried(supervisor, "parallel")
    )
    if not is_allowed or figures.speed >= optimize.performance_threshold:
        return None
    expected_ms = figures.median_ms * figures.speed
    reason = (
        f"of the last {figures.runs} runs, one took {figures.median_ms / 1000:.1f} s, and its longest attempt"
        f" {expected_ms / 1000:.1f} s: in parallel it could take as little"
    )
    return TuningChange(
        kind="parallel",
        metric="median_ms",
        before=figures.median_ms,
        expected=expected_ms,
        runs=figures.runs,
        reason=reason,
    )


def _propose_selection(supervisor: Supervisor, optimize: Optimize, figures: RunStatistics) -> TuningChange | None:
    is_allowed = optimize.optimize_agent_selection and supervisor.options.balance != "performance"
    if not is_allowed or _was_tried(supervisor, "selection") or figures.success >= optimize.performance_threshold:
        return None
    reason = (
        f"{figures.success:.0%} of the last {figures.runs} runs were done: agents that did well before are preferred"
    )
    return TuningChange(
        kind="selection", metric="success", before=figures.success, expected=None, runs=figures.runs, reason=reason
    )


def _propose_revert(supervisor: Supervisor, figures: RunStatistics) -> TuningChange | None:
    tuning = supervisor.tuning
    assert tuning is not None
    slower = tuning.kind == "parallel" and figures.median_ms > tuning.median_ms * (1 + REVERT_SHARE)
    if not slower and figures.success >= tuning.success * (1 - REVERT_SHARE):
        return None
    if slower:
        metric, before, was = "median_ms", figures.median_ms, tuning.median_ms
        comparison = f"{before / 1000:.1f} s instead of {was / 1000:.1f} s"
    else:
        metric, before, was = "success", figures.success, tuning.success
        comparison = f"{before:.0%} done instead of {was:.0%}"
    return TuningChange(
        kind="back",
        metric=metric,
        before=before,
        expected=was,
        runs=figures.runs,
        reason=f"{comparison} over {figures.runs} runs",
    )


def _was_tried(supervisor: Supervisor, kind: str) -> bool:
    return supervisor.tuning is not None and kind in supervisor.tuning.given_up
