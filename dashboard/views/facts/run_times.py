"""Where the time of a run went: a bar by kinds of time, and the longest parts of its critical path. Pure."""

from math import floor

from dashboard.views.drawing.lines import Line, Span, fit_spans
from dashboard.views.view_state import ViewState
from dashboard.views.words.amounts import duration
from dashboard.views.words.glyphs import TIME
from engine.core.queries.work.explain import (
    Explanation,
    describe_share,
    describe_subject,
    explain,
    explain_finished,
    largest_shares,
)
from engine.core.state import Run, RunSummary

MIN_WALL_MS = 1_000
"""Shorter runs have nothing to explain."""
EVERY_MS, TASKS_PER_MS = 1_000, 10
"""Minimum time between two looks at an open run, and the tasks per millisecond that lengthen it."""
_BAR_WIDTH, _MAX_PARTS, _LABEL_WIDTH = 24, 4, 7


class RunTimes:
    """The explanation of one run, made at most once a second while it is open."""

    def __init__(self) -> None:
        self._run_id, self._next_ms, self._seq = "", 0, -1
        self._explanation: Explanation | None = None

    def of(self, view: ViewState, run_id: str) -> Explanation | None:
        """Return where the time of a run went; None if the state does not have it, or it is too short."""
        state = view.state
        run = state.runs.get(run_id)
        if run is None:
            return finished_times(state.summary(run_id))
        is_other = run_id != self._run_id or state.seq < self._seq
        if is_other or view.is_due(self._next_ms):
            self._run_id, self._seq = run_id, state.seq
            self._next_ms = view.wall_ms + max(EVERY_MS, len(run.tasks) // TASKS_PER_MS)
            now_ms = max(state.at_ms, view.now_ms)
            self._explanation = explain(state, run, now_ms, None if view.past is not None else view.counts.activities)
        return _if_long(self._explanation)


def finished_times(summary: RunSummary | None) -> Explanation | None:
    """Return where the time of a finished run went; None if that was not counted, or it was too short."""
    return None if summary is None or not summary.times else _if_long(explain_finished(summary))


def _if_long(explanation: Explanation | None) -> Explanation | None:
    return explanation if explanation is not None and explanation.wall_ms >= MIN_WALL_MS else None


def time_lines(explanation: Explanation | None, width: int) -> list[Line]:
    """Return the bar with its legend, and the critical path; nothing without an explanation."""
    if explanation is None:
        return []
    shares = largest_shares(explanation.shares, len(explanation.shares))
    legend: list[Span] = []
    for kind, part_ms in shares:
        mark = TIME[kind]
        words = f"{describe_share(part_ms, explanation.wall_ms)} {mark.word}"
        legend += [Span("  "), Span(f"{mark.glyph} ", mark.tone), Span(words, "muted" if legend else "")]
    bar = share_bar(explanation, min(_BAR_WIDTH, max(6, width // 5)))
    head = (Span(" TIME  ", "heading"), *bar, *legend)
    parts = sorted(explanation.critical, key=lambda part: -part.ms)[:_MAX_PARTS]
    path: list[Span] = []
    for part in explanation.critical:
        if part in parts:
            path += [Span(" → ", "guide")] if path else []
            mark = TIME[part.kind]
            path += [Span(f"{mark.glyph} {describe_subject(part)}", mark.tone), Span(f" {duration(part.ms)}", "muted")]
    present = [Span(explanation.present)] if explanation.present else []
    rows = [
        head,
        *([Span(heading, "heading"), *spans] for heading, spans in ((" PATH  ", path), (" NOW   ", present)) if spans),
    ]
    return [Line(fit_spans(row, width)) for row in rows]


def share_bar(explanation: Explanation, width: int) -> list[Span]:
    """Return a bar of `width` cells, in which each kind has its share; the largest take what rounding leaves."""
    shares = largest_shares(explanation.shares, len(explanation.shares))
    cells = [floor(part_ms * width / explanation.wall_ms) for _, part_ms in shares]
    for index in range(width - sum(cells)):
        cells[index % len(cells)] += 1
    bars = zip(shares, cells, strict=True)
    return [Span(TIME[kind].glyph * count, TIME[kind].tone) for (kind, _), count in bars if count]


def largest_share(run: Run | RunSummary) -> str:
    """Return the kind that took most of the time of a finished run, such as `42 % person`; empty if unknown."""
    explanation = finished_times(run) if isinstance(run, RunSummary) else None
    if explanation is None:
        return ""
    ((kind, part_ms),) = largest_shares(explanation.shares, 1)
    return f"{describe_share(part_ms, explanation.wall_ms)} {TIME[kind].word}"
