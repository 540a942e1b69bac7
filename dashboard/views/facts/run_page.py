"""The first lines of the page of a run: its state, its progress, its stages and its problems. Pure."""

from collections.abc import Sequence
from functools import lru_cache

from dashboard.views.drawing.facts import Fact, in_groups, to_lines, to_row, to_title
from dashboard.views.drawing.lines import Line, Span, cell_width, cut, fit_spans, indent, spread
from dashboard.views.drawing.plots import meter
from dashboard.views.facts.run import AnyRun, run_facts
from dashboard.views.facts.run_times import time_lines
from dashboard.views.facts.run_work import Stage
from dashboard.views.measures.costs import weight
from dashboard.views.measures.digest import Digest
from dashboard.views.measures.progress import share_of
from dashboard.views.words.absent import absence
from dashboard.views.words.amounts import clock, cost_text, duration, elapsed, percent, pluralize, tokens
from dashboard.views.words.glyphs import task_mark
from engine.core.queries.money.spending import name_of_spender
from engine.core.queries.work.explain import Explanation
from engine.core.state import Run, State

SINCE_MIN_WIDTH = 70
"""Minimum cells of a title that says when the run began."""
ARROW = {"sequential": " ──▶ ", "parallel": " ⇉ "}
"""Separator of the stages of a graph by its mode; blanks for other modes."""
_METER = 14


def run_lines(
    state: State,
    run_id: str,
    stages: Sequence[Stage],
    counts: Digest,
    *,
    width: int,
    now_ms: int,
    times: Explanation | None = None,
) -> list[Line]:
    """Return the facts of an open run, or of an ended one that the state still has, with where its time went."""
    run = state.runs.get(run_id) or state.summary(run_id)
    if run is None:
        return [Line((Span(f" {run_id}  {absence(state, run_id)}", "muted"),))]
    facts = run_facts(state, run, counts, now_ms=now_ms)
    alerts = to_lines(in_groups(facts, "alerts", "terms", "limits"), width - 1)
    return [
        _head(facts, run, width),
        _progress_line(facts, run, width),
        *_stages(stages, run.strategy, counts, width, now_ms),
        *time_lines(times, width),
        *_spender_lines(state, run, width),
        *map(indent, alerts),
    ]


def _head(facts: Sequence[Fact], run: AnyRun, width: int) -> Line:
    name = [Span(run.id, "strong"), Span("  "), Span(run.title, "strong")]
    name += [Span(f"   {fact.text}", fact.tone) for fact in in_groups(facts, "strategy")]
    head = [fact for fact in in_groups(facts, "head") if width >= SINCE_MIN_WIDTH or fact.label != "since"]
    return to_title(name, head, width, bare={"state", "took"})


def _progress_line(facts: Sequence[Fact], run: AnyRun, width: int) -> Line:
    tone = "busy" if isinstance(run, Run) else "error" if run.status == "failed" else "done"
    row = to_row(in_groups(facts, "progress", "figures"), width - _METER, bare={"progress"})
    bar = meter(share_of(run), max(4, width - cell_width(row.spans) - 3), tone=tone)
    return spread((Span(" "), *bar, Span(" ")), (*row.spans, Span(" ")), width)


def _spender_lines(state: State, run: AnyRun, width: int) -> list[Line]:
    """Return who spent it, the most first, in one line; empty if nobody has spent tokens or money."""
    whole = sum(map(weight, run.spent_by.values()))
    ordered = sorted(run.spent_by.items(), key=lambda item: -weight(item[1]))
    spans = [Span(" spent by ", "muted")]
    for number, (agent_id, usage) in enumerate(ordered):
        amount = f"{tokens(usage)} tokens" if usage.cost_usd is None else cost_text(usage)
        share = f" {percent(weight(usage) / whole)}" if whole else ""
        name = name_of_spender(state, agent_id) or agent_id
        parts = [Span(" · " if number else "", "faint"), Span(f"{name} "), Span(amount, "strong"), Span(share, "muted")]
        more = f" · {len(ordered) - number} more"
        room = width if number == len(ordered) - 1 else width - len(more)
        if number and cell_width([*spans, *parts]) > room:
            return [Line((*spans, Span(more, "muted")))]
        spans += parts
    return [Line(fit_spans(spans, width))] if ordered else []


def _stages(stages: Sequence[Stage], mode: str, counts: Digest, width: int, now_ms: int) -> list[Line]:
    """Return the nodes of the graph in one line; if it is too long, ended and waiting nodes are counted."""
    if not stages:
        return []
    arrow = Span(ARROW.get(mode, "   "), "guide")
    whole = _join_with([_stage_spans(stage, counts, now_ms) for stage in stages], arrow)
    if cell_width(whole) + 1 > width:
        whole = _join_with(_abbreviate_stages(stages, counts, now_ms), arrow)
    return [Line((Span(" "), *fit_spans(whole, width - 1)))]


def _join_with(parts: Sequence[Sequence[Span]], arrow: Span) -> tuple[Span, ...]:
    out: list[Span] = []
    for part in parts:
        out += [arrow, *part] if out else part
    return tuple(out)


def _stage_spans(stage: Stage, counts: Digest, now_ms: int) -> list[Span]:
    task, mark = stage.task, task_mark(stage.task, counts.activities)
    at_work = not task.ended and (task.started_ms or task.begun_ms) is not None
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


def _abbreviate_stages(stages: Sequence[Stage], counts: Digest, now_ms: int) -> list[list[Span]]:
    before = [stage for stage in stages if stage.task.ended]
    open_ = [stage for stage in stages if not stage.task.ended]
    begun = [stage for stage in open_ if stage.task.started_ms is not None or stage.task.begun_ms is not None]
    coming = len(open_) - len(begun)
    out = [[Span("✓ ", "done"), Span(f"{len(before)} of {len(stages)}")]] if before else []
    out += [_stage_spans(stage, counts, now_ms) for stage in begun[:3]]
    out += [[Span(f"and {len(begun) - 3} more", "muted")]] if len(begun) > 3 else []
    return [*out, *([[Span("◌ ", "waiting"), Span(f"{coming} to come", "muted")]] if coming else [])]


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
