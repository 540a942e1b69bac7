"""The health strip under the header: load, rates, queue, cost, errors and latency."""

from collections.abc import Sequence
from typing import NamedTuple

from dashboard.views.drawing.lines import Line, Span, cell_width, fit_spans
from dashboard.views.drawing.plots import meter, spark
from dashboard.views.measures.activity import SLOT_MS, SLOTS_PER_SAMPLE, Activity
from dashboard.views.measures.digest import Digest
from dashboard.views.measures.queues import lengths_by_sample
from dashboard.views.measures.usage import budget_spans, is_metered
from dashboard.views.words.amounts import UNKNOWN, duration, p95
from engine.core.queries.team.figures import is_busy, success_share
from engine.core.state import State

WINDOW_MS = 60_000
RATE_S = 5
"""Period of a rate, in seconds."""
_METER, _MAX_SPARK_WIDTH = 14, 12
_MIN_GAP = 3
"""Minimum cells between two parts, including the line."""


class _Part(NamedTuple):
    label: str
    picture: tuple[Span, ...]
    value: tuple[Span, ...]
    drop: int
    """Parts are dropped in a narrow window, the highest first; 0 is never dropped."""

    @property
    def spans(self) -> tuple[Span, ...]:
        gap = (Span(" "),) if self.picture else ()
        return (Span(f"{self.label} ", "muted"), *self.picture, *gap, *self.value)


def strip(state: State, counts: Digest, activity: Activity, *, now_ms: int, width: int) -> Line:
    """Return the strip, with its parts spread evenly; some are dropped in a narrow window."""
    wide = max(4, min(_MAX_SPARK_WIDTH, (width - 70) // 8))
    parts = _parts(state, counts, activity, now_ms, wide)
    while len(parts) > 1 and sum(cell_width(part.spans) + _MIN_GAP for part in parts) - _MIN_GAP > width - 2:
        victim = max(parts, key=lambda part: part.drop)
        if victim.drop == 0:
            break
        parts.remove(victim)
    return _spread([part.spans for part in parts], width)


def _parts(state: State, counts: Digest, activity: Activity, now_ms: int, wide: int) -> list[_Part]:
    agents = list(state.agents.values())
    busy = sum(map(is_busy, agents)) if counts.working else 0
    total = f"{len(agents):,}"
    seconds = wide * 2
    events = activity.events.sums(now_ms, seconds, SLOTS_PER_SAMPLE)
    done = activity.attempts.team.done.sums(now_ms, seconds, SLOTS_PER_SAMPLE)
    metered = is_metered(state)
    tokens = activity.tokens.sums(now_ms, seconds, SLOTS_PER_SAMPLE) if metered else done
    lengths = lengths_by_sample(activity.queued, now_ms, SLOTS_PER_SAMPLE * SLOT_MS, seconds)
    waiting = [length for length in lengths if length >= 0]
    errors, share = _errors(activity, now_ms, seconds)
    failing = "error" if share else "muted"
    error_rate = UNKNOWN if share is None else f"{share:.1%}"
    return [
        _Part(
            "busy",
            meter(busy / len(agents) if agents else 0.0, min(_METER, wide)),
            (Span(f"{busy:>{len(total)},}", "strong"), Span(f" of {total}", "muted")),
            1,
        ),
        _Part("ev/s", (Span(spark(events, wide), "plot-high"),), (Span(f"{_rate(events):>5,.0f}", "strong"),), 5),
        _Part("queue", (Span(spark(waiting, wide), "waiting"),), (Span(f"{counts.waiting:>6,}", "strong"),), 2),
        _Part(
            "tok/s" if metered else "done/s",
            (Span(spark(tokens, wide), "done"),),
            (Span(f"{_rate(tokens):>5,.0f}" if metered else f"{_rate(done):>5.1f}", "strong"),),
            3,
        ),
        *([_Part("cost", (), spent, 0)] if (spent := budget_spans(state, 8)) else []),
        _Part(
            "err",
            (Span(spark(errors, wide), failing),),
            (Span(f"{error_rate:>5}", failing),),
            0,
        ),
        _Part("p95", (), (Span(f"{_p95(activity, now_ms):>8}", "strong"),), 4),
    ]


def _rate(samples: Sequence[int]) -> float:
    """Return the rate per second over the last complete samples."""
    over = samples[-RATE_S - 1 : -1]
    return sum(over) / (len(over) * SLOTS_PER_SAMPLE * SLOT_MS / 1000) if over else 0.0


def _errors(activity: Activity, now_ms: int, seconds: int) -> tuple[list[int], float | None]:
    """Return failures per second, and the failed share of the attempts of the last minute; None for too few."""
    failed = activity.attempts.team.failed.sums(now_ms, 60, SLOTS_PER_SAMPLE)
    done = activity.attempts.team.done.sums(now_ms, 60, SLOTS_PER_SAMPLE)
    share = success_share(sum(done), sum(failed))
    return failed[-seconds:], None if share is None else 1 - share


def _p95(activity: Activity, now_ms: int) -> str:
    near = (end for end in activity.ends if end.outcome == "done" and now_ms - end.at_ms <= WINDOW_MS)
    return duration(p95([end.at_work_ms for end in near]))


def _spread(parts: Sequence[tuple[Span, ...]], width: int) -> Line:
    room = width - 2 - sum(map(cell_width, parts))
    gaps = len(parts) - 1
    out: list[Span] = [Span(" ")]
    for index, part in enumerate(parts):
        out += part
        if index < gaps:
            gap = max(_MIN_GAP, room * (index + 1) // gaps - room * index // gaps)
            out += [Span(" " * ((gap - 1) // 2)), Span("│", "line"), Span(" " * (gap - 1 - (gap - 1) // 2))]
    return Line(fit_spans(out, width))
