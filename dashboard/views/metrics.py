"""How a team does over time: throughput, time a task, queue, agents at work, failures, tokens; and each agent beside.

Everything is made of the ends of attempts, which say how long each took, what it cost and whether it failed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil

from dashboard.views.activity import Activity, Ended
from dashboard.views.amounts import count, duration
from dashboard.views.amounts import left as left_of
from dashboard.views.lines import BLANK, Line, Span, cells, hairline, spread
from dashboard.views.plots import axis_top, plot
from engine.core.state import State

WINDOWS_MS: Mapping[str, int] = {"1 m": 60_000, "5 m": 300_000, "1 h": 3_600_000, "24 h": 86_400_000}
LABELS = 7
"""Cells of the labels of an axis."""
TABLE_FROM = 24
"""Lines of the body from which on there is a table under the plots."""
_LOW, _MID, _HIGH = "plot-low", "plot-mid", "plot-high"
_BUSY = ("busy-before", "busy-before", "busy")
_MOST_IN_BUCKET = 400
"""Durations of a sample that count for its percentiles."""


@dataclass(slots=True)
class Series:
    """Samples of a window, the oldest first; each is a whole span of the clock."""

    each_ms: int
    running: int
    """Attempts at work at its end."""
    done: list[int] = field(default_factory=list)
    failed: list[int] = field(default_factory=list)
    p50_ms: list[float] = field(default_factory=list)
    p95_ms: list[float] = field(default_factory=list)
    busy: list[float] = field(default_factory=list)
    """Attempts at work, on the mean."""
    tokens: list[int] = field(default_factory=list)
    cost_usd: list[float] = field(default_factory=list)


def series(
    ends: Iterable[Ended], *, now_ms: int, window_ms: int, samples: int, running_ms: Sequence[int] = ()
) -> Series:
    """Return what happened in a window.

    Args:
        ends: Ends of attempts, in any order; older ones than the window are left out.
        now_ms: End of the window.
        window_ms: Its length.
        samples: How many samples it has.
        running_ms: Since when each attempt under way is at work.
    """
    samples = max(1, samples)
    each_ms = max(250, ceil(window_ms / samples))
    first = now_ms // each_ms - samples + 1
    out = Series(
        each_ms, len(running_ms), [0] * samples, [0] * samples, [], [], [0.0] * samples, [0] * samples, [0.0] * samples
    )
    took: list[list[int]] = [[] for _ in range(samples)]
    spans = [(since_ms, now_ms) for since_ms in running_ms]
    for end in ends:
        place = end.at_ms // each_ms - first
        if place < 0 or place >= samples:
            continue
        spans.append((end.at_ms - end.duration_ms, end.at_ms))
        (out.done if end.done else out.failed)[place] += 1
        out.tokens[place] += end.tokens
        out.cost_usd[place] += end.cost_usd
        if end.done and len(took[place]) < _MOST_IN_BUCKET:
            took[place].append(end.duration_ms)
    _work(out.busy, spans, first * each_ms, each_ms)
    over_ms = now_ms % each_ms
    if over_ms:
        out.busy[-1] *= each_ms / over_ms  # the newest sample is not over yet
    _percentiles(out, took)
    return out


def _work(busy: list[float], spans: Iterable[tuple[int, int]], start_ms: int, each_ms: int) -> None:
    """Add how much of each sample spans cover; whole samples by their differences, so that long spans cost no more."""
    change = [0.0] * (len(busy) + 1)
    for begin_ms, end_ms in spans:
        begin, end = max(0, begin_ms - start_ms), min(len(busy) * each_ms, end_ms - start_ms)
        if end <= begin:
            continue
        low, high = begin // each_ms, (end - 1) // each_ms
        if low == high:
            busy[low] += (end - begin) / each_ms
            continue
        busy[low] += ((low + 1) * each_ms - begin) / each_ms
        busy[high] += (end - high * each_ms) / each_ms
        change[low + 1] += 1
        change[high] -= 1
    level = 0.0
    for place in range(len(busy)):
        level += change[place]
        busy[place] += level


def _percentiles(out: Series, took: list[list[int]]) -> None:
    """Percentiles of each sample and those before it, a twentieth of the window: single samples say little."""
    back = max(1, len(took) // 20)
    for place in range(len(took)):
        near = sorted(one for bucket in took[max(0, place - back + 1) : place + 1] for one in bucket)
        out.p50_ms.append(near[len(near) // 2] if near else 0.0)
        out.p95_ms.append(near[min(len(near) - 1, len(near) * 95 // 100)] if near else 0.0)


@dataclass(frozen=True, slots=True)
class _Plot:
    title: str
    value: str
    values: Sequence[float]
    labels: tuple[str, str, str]
    top: float
    below: str
    tones: tuple[str, ...]
    over: Sequence[float] = ()


def grid(width: int, height: int) -> tuple[int, int]:
    """Return how many plots stand side by side and below each other."""
    return (3 if width >= 160 else 2 if width >= 70 else 1), (2 if height >= 12 else 1)


def plots(
    found: Series, activity: Activity, state: State, *, now_ms: int, width: int, height: int, large: int | None = None
) -> list[Line]:
    """Return the plots in a grid of the size.

    Args:
        found: The samples.
        activity: Lengths of queues as they were looked at.
        state: The team.
        now_ms: The time.
        width: In cells.
        height: In lines.
        large: The place of the one plot that is shown alone; None shows as many as fit.
    """
    across, down = grid(width, height)
    drawn = _plots(found, activity, state, now_ms)
    if large is not None:
        drawn, across, down = [drawn[large % len(drawn)]], 1, 1
    lines: list[Line] = []
    for row in range(down):
        tall = height * (row + 1) // down - height * row // down
        here = drawn[row * across : (row + 1) * across]
        wide = [width * (place + 1) // across - width * place // across for place in range(across)]
        lines += _side_by_side([_one(one, wide[place] - 1, tall, found) for place, one in enumerate(here)])
    return lines


def plot_count() -> int:
    """Return how many plots there are."""
    return 6


def _plots(found: Series, activity: Activity, state: State, now_ms: int) -> list[_Plot]:
    seconds = found.each_ms / 1000
    done = [one / seconds for one in found.done]
    failed = [one / seconds for one in found.failed]
    tokens = [one / seconds for one in found.tokens]
    queue = _queue(activity, found, now_ms)
    agents = len(state.agents)
    costs = sum(found.cost_usd)
    now = -2 if len(found.done) > 1 else -1
    time_top = axis_top(max(found.p95_ms, default=0) or 1_000)
    return [
        _flat("THROUGHPUT", f"{done[now]:.1f}/s", done, "tasks done a second", _BUSY),
        _Plot(
            "TIME A TASK",
            f"p50 {duration(found.p50_ms[-1] or None)}  p95 {duration(found.p95_ms[-1] or None)}",
            found.p50_ms,
            (duration(time_top), duration(time_top / 2), "0"),
            time_top,
            "p50 filled, p95 line",
            (_LOW, _MID, _HIGH),
            found.p95_ms,
        ),
        _flat("QUEUE", count(int(queue[-1]) if queue else 0), queue, "tasks waiting", ("guide", "idle", "waiting")),
        _flat(
            "AT WORK",
            f"{found.running:,}",
            found.busy,
            f"attempts, of {agents:,} agents",
            (_LOW, "busy-before", "busy"),
        ),
        _flat("FAILED", f"{failed[now]:.2f}/s", failed, "attempts failed a second", ("error",)),
        _flat("TOKENS", f"{tokens[now]:,.0f}/s", tokens, f"a second; ${costs:,.2f} in the window", (_LOW, _MID, _HIGH)),
    ]


def _flat(title: str, value: str, values: Sequence[float], below: str, tones: tuple[str, ...]) -> _Plot:
    top = axis_top(max(values, default=0) or 1)
    half = top / 2
    middle = f"{half:,.0f}" if half == round(half) else f"{half:,.1f}"
    return _Plot(title, value, values, (f"{top:,.0f}" if top >= 1 else f"{top:g}", middle, "0"), top, below, tones)


def _queue(activity: Activity, found: Series, now_ms: int) -> list[float]:
    """Lengths of all queues by sample, as far as they were looked at."""
    samples, each_ms = len(found.done), found.each_ms
    first = now_ms // each_ms - samples + 1
    lengths = [0.0] * samples
    for at_ms, waiting in activity.queued:
        place = at_ms // each_ms - first
        if 0 <= place < samples:
            lengths[place:] = [float(waiting)] * (samples - place)
    return lengths


def _one(one: _Plot, width: int, height: int, found: Series) -> list[Line]:
    """Return one plot with its title and what its axes mean."""
    lines = [hairline(one.title, width, right=one.value)]
    room = height - 2
    labels = [f"{label:>{LABELS}}" for label in one.labels]
    if room > 0:
        lines += plot(one.values, width, room, top=one.top, labels=labels, tones=one.tones, over=one.over)
    wide = LABELS + 2
    left = [Span(" " * wide), Span(f"−{left_of(found.each_ms * len(found.done))}", "faint")]
    middle = Span(one.below, "faint")
    gap = max(1, (width - wide - 5 - cells(left[1:]) - cells([middle])) // 2)
    lines.append(spread([*left, Span(" " * gap), middle], [Span("now ", "faint")], width))
    return lines


def _side_by_side(blocks: Sequence[Sequence[Line]]) -> list[Line]:
    lines = []
    for row in range(max((len(block) for block in blocks), default=0)):
        spans: list[Span] = []
        for place, block in enumerate(blocks):
            spans += (block[row] if row < len(block) else BLANK).spans
            if place < len(blocks) - 1:
                spans.append(Span("┬" if row == 0 else "│", "line"))
        lines.append(Line(tuple(spans)))
    return lines
