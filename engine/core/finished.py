"""Summaries of finished runs, made from their events: they outlive the state's tasks of the run."""

from engine.core.commands import Submit
from engine.core.documents.importing import state_from
from engine.core.events import RunFinished, RunSubmitted, StateImported, SummariesImported
from engine.core.queries.targets import id_target
from engine.core.records.records import field_names
from engine.core.state import RunSummary


def summary_of(event: RunFinished, seq: int) -> RunSummary:
    """Return the summary of the run that ended with event `seq`."""
    return RunSummary(
        id=event.run_id,
        status=event.status,
        output=event.output,
        error=event.error,
        ended_ms=event.at_ms,
        seq=seq,
        **{name: getattr(event.figures, name) for name in field_names(event.figures)},
    )


def resubmission_of(event: RunSubmitted) -> Submit:
    """Return the command that submits the request of a run with its settings again; the deadline starts anew."""
    return Submit(
        request=event.request,
        supervisor=id_target(event.supervisor_id),
        on_failure=tuple(event.on_failure),
        priority=event.priority,
        deadline_s=None if event.deadline_ms is None else (event.deadline_ms - event.at_ms) / 1000,
        limits=event.limits,
        category=event.category,
        conversation=event.conversation,
        labels=event.labels,
    )


def imported_summary(event: StateImported | SummariesImported, seq: int, run_id: str) -> RunSummary | None:
    """Return the summary of a finished run from the import that is event `seq`; None if it does not contain the run."""
    return state_from(event.state, seq).summary(run_id)
