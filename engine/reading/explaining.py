"""Where the time of a run went, from the state of its team or from its journal; called in the reading thread."""

from engine.core.activities import Activities, parse_live
from engine.core.events import RunSubmitted
from engine.core.fold import fold
from engine.core.queries.work.explain import Explanation, explain, explain_finished
from engine.core.state import RunSummary, State
from engine.reading.folding import events_of, finished_run, fold_from, pages
from store import Reader


def explain_run(reader: Reader, state: State, run_id: str, now_ms: int, *, working: bool) -> Explanation | None:
    """Return where the time of a run went, of an open one until `now_ms`; None if there is no run with this id.

    A run of an earlier version, whose end does not say it, is folded anew from its submission.
    """
    run = state.runs.get(run_id)
    if run is not None:
        return explain(state, run, now_ms, Activities(state, parse_live(reader.live()), now_ms, working=working))
    summary = state.summary(run_id) or finished_run(reader, run_id)
    if summary is None:
        return None
    return (None if summary.times else _fold_anew(reader, summary)) or explain_finished(summary)


def _fold_anew(reader: Reader, summary: RunSummary) -> Explanation | None:
    """Fold the events of a finished run; None if the journal does not have them."""
    submitted = reader.records(0, 1, kinds=[RunSubmitted.type], run_id=summary.id)
    if not submitted or not summary.seq:
        return None
    # From before its submission: a state that was stored by an earlier version has no times of its tasks.
    state = fold_from(reader, submitted[0].seq - 1)
    for records in pages(reader, state.seq, summary.seq - 1):
        fold(state, events_of(records))
    return explain(state, state.runs[summary.id], summary.ended_ms)
