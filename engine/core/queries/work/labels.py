"""Labels of requests: a run has them, and so do its tasks."""

from collections.abc import Mapping

from engine.core.queries.team.tree import supervisors_from
from engine.core.records.shared import EMPTY
from engine.core.state import Run, RunSummary, State


def labels_of(state: State, run_id: str | None) -> Mapping[str, str]:
    """Return the labels of a run; none if the state has dropped it."""
    run: Run | RunSummary | None = state.runs.get(run_id or "") or state.summary(run_id or "")
    return EMPTY if run is None else run.labels


def metric_labels_of(state: State, run: Run) -> dict[str, str]:
    """Return the labels of a run that metrics tell apart, by the settings of the supervisor at the top."""
    keys = [supervisor.options.metric_labels for supervisor in supervisors_from(state, run.supervisor_id)][-1:]
    return {key: run.labels[key] for key in dict.fromkeys(keys[0] or () if keys else ()) if key in run.labels}


def labels_by_run(state: State) -> dict[str, Mapping[str, str]]:
    """Return the labels of every run in the state that has any."""
    labels: dict[str, Mapping[str, str]] = {run.id: run.labels for run in state.finished if run.labels}
    return labels | {run.id: run.labels for run in state.runs.values() if run.labels}
