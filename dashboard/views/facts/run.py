"""The facts of a run, with the same text in every place that shows them."""

from collections.abc import Iterator
from typing import TypeAlias

from dashboard.views.drawing.facts import Fact
from dashboard.views.facts.searches import search_facts, searches_of_run
from dashboard.views.measures.digest import Digest
from dashboard.views.measures.forecast import may_grow, time_left
from dashboard.views.measures.limits import limit_facts
from dashboard.views.measures.progress import format_share, share_of
from dashboard.views.words.amounts import cost_text, count, describe_usage, duration, elapsed, is_known, moment
from dashboard.views.words.glyphs import run_mark
from dashboard.views.words.names import format_labels
from engine.core.specs.options import DEFAULT_PRIORITY
from engine.core.state import Run, RunSummary, State

AnyRun: TypeAlias = Run | RunSummary
"""An open run, or a finished one."""


def run_facts(state: State, run: AnyRun, counts: Digest, *, now_ms: int) -> list[Fact]:
    """Return all that is known of a run, in groups, each in the order of its importance."""
    facts = [*_head(state, run, counts, now_ms), *_figures(state, run, now_ms, counts.working)]
    facts += search_facts(state, searches_of_run(state, run.id), now_ms=now_ms, group="terms")
    if run.labels:
        facts.append(Fact("labels", format_labels(run.labels), "muted", "terms"))
    if isinstance(run, Run):
        return [*facts, *_terms(state, run), *limit_facts(state, run.id, now_ms=now_ms)]
    return [*facts, Fact("error", run.error, "error", "alerts")] if run.error is not None else facts


def _head(state: State, run: AnyRun, counts: Digest, now_ms: int) -> Iterator[Fact]:
    mark, supervisor = run_mark(run, counts.activities), state.supervisors.get(run.supervisor_id)
    yield Fact("state", mark.text, mark.tone, "head")
    took = duration(run.ended_ms - run.started_ms) if isinstance(run, RunSummary) else elapsed(now_ms - run.started_ms)
    if took:
        yield Fact("took", took, "strong", "head")
    yield Fact("since", moment(run.started_ms, now_ms), "muted", "head", rank=1)
    joined = f", joined by {supervisor.aggregation}" if supervisor is not None and run.strategy == "parallel" else ""
    yield Fact("strategy", f"{run.strategy}{joined}", "muted", "strategy")


def _figures(state: State, run: AnyRun, now_ms: int, working: bool) -> Iterator[Fact]:
    """Yield how far a run is, what it took, and how long it may still take."""
    if isinstance(run, Run):
        share = format_share(share_of(run), grows=may_grow(state, run))
        yield Fact("progress", share, "strong", "progress")
        yield Fact("ended", f"{run.ended:,}/{run.total:,}", "strong", "figures")
    else:
        yield Fact("done", f"{run.done:,}/{run.tasks:,}", "strong", "figures")
    yield Fact("failed", count(run.failed), "warn" if run.failed else "muted", "figures", rank=1)
    ended_count = run.ended if isinstance(run, Run) else run.tasks
    if (left_out := ended_count - run.done - run.failed) > 0:
        yield Fact("skipped or cancelled", count(left_out), "warn", "figures", rank=1)
    if is_known(run.usage):
        yield Fact("cost", cost_text(run.usage), "strong", "figures", rank=2)
        yield Fact("spent", describe_usage(run.usage), group="spent")
    if isinstance(run, RunSummary):
        yield Fact("longest attempt", duration(run.longest_ms), "muted", "figures", rank=3)
    elif working and (left := time_left(state, run, now_ms)) is not None:
        yield Fact("to go", left.text, "strong", "figures")


def _terms(state: State, run: Run) -> Iterator[Fact]:
    """Yield the question, the dependencies, the priority and the category of an open run."""
    questions = [escalation.question for escalation in state.escalations.values() if escalation.run_id == run.id]
    if questions:
        more = f" and {len(questions) - 1} more" if len(questions) > 1 else ""
        yield Fact("asks", f"{questions[0]}{more}  (8: Inbox)", "attention", "alerts")
    if run.after:
        yield Fact("after", ", ".join(run.after), "waiting", "alerts")
    is_default = run.priority == DEFAULT_PRIORITY
    yield Fact("priority", str(run.priority), "muted" if is_default else "", "defaults" if is_default else "terms")
    if run.category is not None:
        yield Fact("category", run.category, "muted", "terms")
