"""The first lines of the page of a run: its state, its progress, its stages and its problems. Pure."""

from collections.abc import Sequence
from functools import lru_cache

from dashboard.views.drawing.lines import Line, Span, cell_width, cut, fit_spans, flow, spread
from dashboard.views.drawing.plots import meter
from dashboard.views.facts.run_work import Stage
from dashboard.views.measures.forecast import may_grow, time_left, waits_for_you
from dashboard.views.measures.limits import limit_facts
from dashboard.views.measures.progress import format_share, share_done
from dashboard.views.words.absent import absence
from dashboard.views.words.amounts import clock, duration, elapsed, is_known, moment, money, pluralize
from dashboard.views.words.glyphs import run_mark, task_mark
from engine.core.specs.options import DEFAULT_PRIORITY
from engine.core.state import Run, RunSummary, State

ARROW = {"sequential": " ──▶ ", "parallel": " ⇉ "}
"""Separator of the stages of a graph by its mode; blanks for other modes."""
_METER = 14


def run_facts(
    state: State, run_id: str, stages: Sequence[Stage], *, width: int, now_ms: int, working: bool = True
) -> list[Line]:
    """Return the facts of an open run, or of an ended one that the state still has."""
    run, summary = state.runs.get(run_id), state.summary(run_id)
    if run is not None:
        lines = [_head(state, run, width, now_ms, working), _progress_line(state, run, width, now_ms, working)]
        return [*lines, *_stages(stages, run.strategy, width, now_ms), *_alerts(state, run, width, now_ms)]
    if summary is not None:
        return [_head(state, summary, width, now_ms, working), _outcome_line(summary, width), *_error(summary, width)]
    return [Line((Span(f" {run_id}  {absence(state, run_id)}", "muted"),))]


def _head(state: State, run: Run | RunSummary, width: int, now_ms: int, working: bool) -> Line:
    mark = run_mark(run, working=working)
    supervisor = state.supervisors.get(run.supervisor_id)
    joined = f", joined by {supervisor.aggregation}" if supervisor is not None and run.strategy == "parallel" else ""
    spent_ms = (run.ended_ms if isinstance(run, RunSummary) else now_ms) - run.started_ms
    took = duration(spent_ms) if isinstance(run, RunSummary) else elapsed(spent_ms)
    right = [Span(mark.text, f"{mark.tone} bold"), Span(f"  {took}", "strong")]
    if width >= 70:
        right.append(Span(f"  since {moment(run.started_ms, now_ms)}", "muted"))
    left = (
        Span("▌", "accent"),
        Span(run.id, "strong"),
        Span("  "),
        Span(run.title, "strong"),
        Span(f"   {run.strategy}{joined}", "muted"),
    )
    return spread(left, (*right, Span(" ")), width)


def _progress_line(state: State, run: Run, width: int, now_ms: int, working: bool) -> Line:
    share = run.ended / run.total if run.total else 0.0
    left = time_left(state, run, now_ms) if working else None
    spans = [
        Span(f" {format_share(share, grows=may_grow(state, run))}", "strong"),
        Span(f"  {run.ended:,}/{run.total:,} ended"),
        Span(f"  {run.failed:,} failed", "warn" if run.failed else "faint"),
    ]
    if is_known(run.usage):
        spans.append(Span(f"  {money(run.usage)}", "strong"))
    if working and waits_for_you(state, run):
        spans.append(Span("   waits for you ", "attention"))
    else:
        spans.append(Span(f"   {left.text.replace('≥', 'at least')} to go " if left is not None else " "))
    return spread((Span(" "), *meter(share, max(4, width - cell_width(spans) - 2))), spans, width)


def _outcome_line(run: RunSummary, width: int) -> Line:
    share = share_done(run)
    failed = Span(f"  {run.failed:,} failed", "warn" if run.failed else "faint")
    spans = [Span(f" {run.done:,} of {run.tasks:,} done"), failed]
    if is_known(run.usage):
        spans.append(Span(f"  {money(run.usage)}", "strong"))
    spans += [Span(f"   longest {duration(run.longest_ms)}", "muted"), Span(" ")]
    tone = "error" if run.status == "failed" else "done"
    return spread((Span(" "), *meter(share, max(4, width - cell_width(spans) - 2), tone=tone)), spans, width)


def _stages(stages: Sequence[Stage], mode: str, width: int, now_ms: int) -> list[Line]:
    """Return the nodes of the graph in one line; if it is too long, ended and waiting nodes are counted."""
    if not stages:
        return []
    arrow = Span(ARROW.get(mode, "   "), "guide")
    whole = _join_with([_stage_spans(stage, now_ms) for stage in stages], arrow)
    if cell_width(whole) + 1 > width:
        whole = _join_with(_abbreviate_stages(stages, now_ms), arrow)
    return [Line((Span(" "), *fit_spans(whole, width - 1)))]


def _join_with(parts: Sequence[Sequence[Span]], arrow: Span) -> tuple[Span, ...]:
    out: list[Span] = []
    for part in parts:
        out += [arrow, *part] if out else part
    return tuple(out)


def _stage_spans(stage: Stage, now_ms: int) -> list[Span]:
    task, mark = stage.task, task_mark(stage.task)
    if task.kind == "group" and not task.ended and stage.total and task.begun_ms:
        mark = mark._replace(glyph="●", tone="busy")
    at_work = mark.glyph in "●◔◐⚑"
    out = [Span(f"{mark.glyph} ", mark.tone), Span(cut(task.title, 24), "strong" if at_work else "")]
    if stage.total > 1 and at_work:
        out += [
            Span(" "),
            *meter(stage.ended_count / stage.total, _METER),
            Span(f" {stage.ended_count:,}/{stage.total:,}"),
        ]
    elif stage.total > 1:
        out.append(Span(f" {stage.ended_count:,}/{stage.total:,}", "muted"))
    began = task.started_ms or task.begun_ms
    if task.ended_ms is not None and began is not None:
        out.append(Span(f" {duration(task.ended_ms - began)}", "muted"))
    elif at_work and began is not None:
        out.append(Span(f" {elapsed(now_ms - began)}", "muted"))
    return out


def _abbreviate_stages(stages: Sequence[Stage], now_ms: int) -> list[list[Span]]:
    before = [stage for stage in stages if stage.task.ended]
    open_ = [stage for stage in stages if not stage.task.ended]
    begun = [stage for stage in open_ if stage.task.started_ms is not None or stage.task.begun_ms is not None]
    coming = len(open_) - len(begun)
    out = [[Span("✓ ", "done"), Span(f"{len(before)} of {len(stages)}")]] if before else []
    out += [_stage_spans(stage, now_ms) for stage in begun[:3]]
    out += [[Span(f"and {len(begun) - 3} more", "muted")]] if len(begun) > 3 else []
    return [*out, *([[Span("◌ ", "waiting"), Span(f"{coming} to come", "muted")]] if coming else [])]


def _alerts(state: State, run: Run, width: int, now_ms: int) -> list[Line]:
    """Return the question, the dependencies and the limits of an open run."""
    alerts: list[tuple[str, str]] = []
    escalations = [escalation for escalation in state.escalations.values() if escalation.run_id == run.id]
    if escalations:
        more = f" and {len(escalations) - 1} more" if len(escalations) > 1 else ""
        alerts.append((f"⚑ {escalations[0].question}{more}  (8: Inbox)", "attention"))
    if run.after:
        alerts.append((f"◌ begins after {', '.join(run.after)}", "waiting"))
    if run.priority != DEFAULT_PRIORITY:
        alerts.append((f"priority {run.priority}", ""))
    if run.category is not None:
        alerts.append((f"category {run.category}", "muted"))
    alerts += [
        (f"{limit.label} {limit.text}", limit.tone or "muted") for limit in limit_facts(state, run.id, now_ms=now_ms)
    ]
    return flow(([Span(text, tone)] for text, tone in alerts), width)


def _error(run: RunSummary, width: int) -> list[Line]:
    return [Line((Span(f" ✕ {cut(run.error, width - 4)}", "error"),))] if run.error is not None else []


def report_words(state: State, run_id: str, text: str, *, whole: bool) -> str:
    """Return the text beside the title of a report: its length, or that it is a draft, and what `o` does."""
    key = "o shows its tasks" if whole else "o whole screen"
    summary = state.summary(run_id)
    if summary is None:
        return f"draft, grows while it runs · {key}" if text else key
    return f"{pluralize(_words_in(text), 'word')} · {clock(summary.ended_ms)} · {key}" if text else ""


@lru_cache(4)  # a report of a megabyte is drawn in every frame
def _words_in(text: str) -> int:
    return len(text.split())
