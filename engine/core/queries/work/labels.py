"""Labels of requests: a run has them, and so do its tasks."""

from collections.abc import Mapping

from engine.core.records.shared import EMPTY
from engine.core.state import Run, RunSummary, State


def labels_of(state: State, run_id: str | None) -> Mapping[str, str]:
    """Return the labels of a run; none if the state has dropped it."""
    run: Run | RunSummary | None = state.runs.get(run_id or "") or state.summary(run_id or "")
    return EMPTY if run is None else run.labels


def labels_by_run(state: State) -> dict[str, Mapping[str, str]]:
    """Return the labels of every run in the state that has any."""
    labels: dict[str, Mapping[str, str]] = {run.id: run.labels for run in state.finished if run.labels}
    return labels | {run.id: run.labels for run in state.runs.values() if run.labels}
