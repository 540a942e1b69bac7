"""Plots of a team over time: cost, tokens, money spent, throughput, time per task, attempts at work, queue, failures.

If the team uses no tokens, the first three are left out. The data are the ends of attempts; of tokens and money, the
windows of the state.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from heapq import nlargest
from itertools import accumulate, chain
from math import ceil
from typing import NamedTuple

from rich.cells import cell_len

from dashboard.views.drawing.lines import BLANK, Line, Span, cell_width, hairline, spread
from dashboard.views.drawing.plots import axis_top, plot
from dashboard.views.measures.activity import Activity, AttemptEnd
from dashboard.views.measures.attempts import parts_of
from dashboard.views.measures.queues import lengths_by_sample
from dashboard.views.measures.strip import RATE_S
from dashboard.views.measures.usage import is_metered
from dashboard.views.words.amounts import cost_text, count, duration, p95, pluralize, short_money
from dashboard.views.words.amounts import countdown as left_of
from engine.core.queries.money.recent import Scope, cost_since, spent_by_slot
from engine.core.queries.money.spending import cost_budget, cost_budget_of, name_of_spender
from engine.core.queries.team.figures import median
from engine.core.queries.team.tree import agents_of
from engine.core.state import COARSE_SLOTS, SLOT_MS, State

WINDOWS_MS: Mapping[str, int] = {"1 m": 60_000, "5 m": 300_000, "1 h": 3_600_000}
FINE_WINDOW_MS = 300_000
"""Longest window for which the state has what was spent by slots of 5 s; it has slots of a minute for an hour."""
STACK_TONES = ("busy", "accent", "plot-p95", "paused")
"""Tones of the agents that spent most, in the plot of cost; the others share one."""
LABEL_WIDTH = 7
"""Cells of the labels of an axis."""
TITLE_MARGIN = 7
"""Cells of a title line beside its title and its value."""
LATEST = "latest "
"""Prefix of figures of the newest sample, if there is room: the table below has those of the whole window."""
TABLE_MIN_LINES = 24
"""Minimum lines of the body for a table under the plots."""
_LOW, _MID, _HIGH = "plot-low", "plot-mid", "plot-high"
_BUSY = ("busy-before", "busy-before", "busy")
_MAX_TIMES = 400
"""Maximum times of a sample that are used for percentiles."""


@dataclass(slots=True)
class Series:
    """Samples of a window, the oldest first, aligned to the clock."""

    each_ms: int
    running: int
    """Attempts at work at the end of the window."""
    done: list[int] = field(default_factory=list)
    failed: list[int] = field(default_factory=list)
    p50_ms: list[float] = field(default_factory=list)
    p95_ms: list[float] = field(default_factory=list)
    busy: list[float] = field(default_factory=list)
    """Mean number of attempts at work."""


@dataclass(slots=True)
class _Bucket:
    """Attempts that ended in one sample; `busy_ms` includes attempts that ended later."""

    done: int = 0
    failed: int = 0
    busy_ms: int = 0
    took_ms: list[int] = field(default_factory=list)


class Window:
    """Ends of attempts by sample; each is counted once, when it is added."""

    def __init__(self, window_ms: int, samples: int, now_ms: int) -> None:
        """Create a window that ends now."""
        self._samples = max(1, samples)
        self._each_ms = max(250, ceil(window_ms / self._samples))
        self._first = now_ms // self._each_ms - self._samples + 1
        self._buckets: dict[int, _Bucket] = {}
        self._ranked: dict[int, tuple[float, int]] = {}
        """Cached percentiles by sample."""
        self._changed: set[int] = set()
        """Samples with new times, whose percentiles are stale."""

    def add(self, ends: Iterable[AttemptEnd]) -> None:
        """Count ends of attempts, in any order; ends before the window are left out."""
        each_ms, first = self._each_ms, self._first
        for end in ends:
            place = end.at_ms // each_ms
            if place < first:
                continue
            bucket = self._bucket(place)
            if end.outcome == "failed":
                bucket.failed += 1
            elif end.outcome == "done":
                bucket.done += 1
                if len(bucket.took_ms) < _MAX_TIMES:
                    bucket.took_ms.append(end.at_work_ms)
                    self._changed.add(place)
            # After a change of the clock, the end and the time at work may be years ahead, so that both are bounded.
            # The end does not say when the attempt was parked; its work counts as the time right before the end.
            begin_ms = max(end.at_ms - min(end.at_work_ms, each_ms * self._samples), first * each_ms)
            for slot, part_ms in parts_of(begin_ms, end.at_ms, each_ms):
                self._bucket(slot).busy_ms += part_ms

    def _bucket(self, place: int) -> _Bucket:
        bucket = self._buckets.get(place)
        if bucket is None:
            bucket = self._buckets[place] = _Bucket()
        return bucket

    def series(self, now_ms: int, running_ms: Sequence[int] = ()) -> Series:
        """Return the samples up to now; `running_ms` are the starts of open attempts."""
        each_ms, samples = self._each_ms, self._samples
        self._first = first = now_ms // each_ms - samples + 1
        self._buckets = {place: bucket for place, bucket in self._buckets.items() if place >= first}
        buckets = [self._buckets.get(first + place) or _Bucket() for place in range(samples)]
        out = Series(
            each_ms,
            len(running_ms),
            [bucket.done for bucket in buckets],
            [bucket.failed for bucket in buckets],
            [],
            [],
            [bucket.busy_ms / each_ms for bucket in buckets],
        )
        begin_ms = first * each_ms
        _add_open_attempts(out.busy, [since_ms - begin_ms for since_ms in running_ms], now_ms - begin_ms, each_ms)
        over_ms = now_ms % each_ms
        if over_ms:
            out.busy[-1] *= each_ms / over_ms  # the newest sample is incomplete
        self._rank(out, [bucket.took_ms for bucket in buckets])
        return out

    def _rank(self, out: Series, took: list[list[int]]) -> None:
        """Add percentiles over a moving twentieth of the window, because single samples have too few tasks.

        Percentiles are cached while no task has ended in their part of the window.
        """
        back, first = max(1, len(took) // 20), self._first
        changed = {place + later for place in self._changed for later in range(back)}
        pairs = {place: pair for place, pair in self._ranked.items() if place - back >= first and place not in changed}
        for place in range(len(took)):
            pair = pairs.get(first + place)
            if pair is None:
                near = sorted(chain.from_iterable(took[max(0, place - back + 1) : place + 1]))
                pair = median(near) or 0, p95(near) or 0
                pairs[first + place] = pair
            out.p50_ms.append(pair[0])
            out.p95_ms.append(pair[1])
        self._ranked = pairs
        self._changed.clear()


def _add_open_attempts(busy: list[float], since_ms: Sequence[int], until_ms: int, each_ms: int) -> None:
    """Add open attempts by their start, relative to the window, up to `until_ms`."""
    begun = [0] * len(busy)
    for since in since_ms:
        place, over_ms = divmod(max(0, since), each_ms)
        if since < until_ms:
            begun[place] += 1
            busy[place] -= over_ms / each_ms
    level = 0
    for place, count_of_sample in enumerate(begun):
        level += count_of_sample
        busy[place] += level * min(1.0, (until_ms - place * each_ms) / each_ms)


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
    stack: Sequence[tuple[str, Sequence[float]]] = ()
    prefix: str = ""
    """Before the value, if there is room."""
    legend: tuple[Span, ...] = ()
    """In place of `below`: the names of the parts of the stack."""


def plot_count(state: State) -> int:
    """Return the number of plots: a team that uses models has three more."""
    return 9 if is_metered(state) else 6


def grid(width: int, height: int) -> tuple[int, int]:
    """Return the columns and rows of the grid of plots."""
    return (3 if width >= 160 else 2 if width >= 70 else 1), (2 if height >= 12 else 1)


def draw_plots(
    series: Series,
    activity: Activity,
    state: State,
    *,
    now_ms: int,
    width: int,
    height: int,
    large: int | None = None,
    member: str | None = None,
    agents: int | None = None,
    waiting: int | None = None,
    end: str = "now",
) -> list[Line]:
    """Return the plots in a grid.

    Args:
        activity: Has the samples of queue lengths.
        member: The agent or supervisor whose queue is plotted; None means all.
        agents: Number of agents in the plot of work; by default all of the team.
        waiting: Number of waiting tasks at the end; by default that of the last sample.
        end: Label of the end of the window.
        large: Index of the only plot to show; None shows as many as fit.
    """
    across, down = grid(width, height)
    samples = activity.queued if member is None else activity.queues.samples_of(member)
    queue = lengths_by_sample(samples, now_ms, series.each_ms, len(series.done))
    waiting = max(0, queue[-1]) if waiting is None else waiting
    plots = [
        *(_cost_plots(series, state, member, now_ms) if is_metered(state) else ()),
        *_plots(series, queue, waiting, len(state.agents) if agents is None else agents),
    ]
    if large is not None:
        plots, across, down = [plots[large % len(plots)]], 1, 1
    lines: list[Line] = []
    for row in range(down):
        tall = height * (row + 1) // down - height * row // down
        row_plots = plots[row * across : (row + 1) * across]
        wide = [width * (place + 1) // across - width * place // across for place in range(across)]
        lines += _side_by_side(
            [_draw_plot(plot, wide[place] - 1, tall, series, end) for place, plot in enumerate(row_plots)]
        )
    return lines


def _slots_of(series: Series) -> tuple[int, bool]:
    """Return the length of the slots of spending, in milliseconds, and whether they are the fine ones."""
    is_fine = series.each_ms * len(series.done) < 2 * FINE_WINDOW_MS  # samples are rounded up
    return (SLOT_MS if is_fine else SLOT_MS * COARSE_SLOTS), is_fine


class _Spends(NamedTuple):
    """What was spent in the samples of a window."""

    tokens: list[float]
    cost_usd: list[float]


def _sample_spends(series: Series, state: State, key: str, now_ms: int) -> _Spends:
    """Return what an agent, a supervisor or (empty key) the team has spent, spread evenly over each slot."""
    samples = len(series.done)
    slot_ms, is_fine = _slots_of(series)
    scope: Scope = "supervisor" if not key or key in state.supervisors else "agent"
    first = now_ms // series.each_ms - samples + 1
    spends = _Spends([0.0] * samples, [0.0] * samples)
    for subject_id in [key] if key else [root.id for root in state.roots]:
        for slot, spent in spent_by_slot(state, scope, subject_id, now_ms, is_fine=is_fine).items():
            begin_ms, end_ms = slot * slot_ms, min((slot + 1) * slot_ms, now_ms + 1)
            for place, part_ms in parts_of(begin_ms, end_ms, series.each_ms):
                if 0 <= place - first < samples:
                    spends.tokens[place - first] += spent.tokens * part_ms / (end_ms - begin_ms)
                    spends.cost_usd[place - first] += spent.cost_usd * part_ms / (end_ms - begin_ms)
    return spends


def _stack_costs(
    series: Series, state: State, member_id: str | None, total: Sequence[float], now_ms: int
) -> tuple[list[tuple[str, Sequence[float]]], tuple[Span, ...]]:
    """Return the cost a minute of the agents that spent most, of the others in one, and their names with amounts."""
    below = None if member_id is None else {agent.id for agent in agents_of(state, member_id)}
    slot_ms, is_fine = _slots_of(series)
    oldest = (now_ms - series.each_ms * len(series.done)) // slot_ms
    spent = {
        agent_id: cost_since([window], oldest, is_fine=is_fine)
        for agent_id, window in (state.windows.agents if state.windows else {}).items()
        if below is None or agent_id in below
    }
    costs = {
        agent_id: _sample_spends(series, state, agent_id, now_ms).cost_usd
        for agent_id in nlargest(len(STACK_TONES), spent, key=spent.__getitem__)
        if spent[agent_id]
    }
    parts = [
        (tone, name_of_spender(state, agent_id) or agent_id, costs[agent_id])
        for tone, agent_id in zip(STACK_TONES, costs, strict=False)
    ]
    rest = [max(0.0, whole - sum(part)) for whole, *part in zip(total, *costs.values(), strict=True)]
    if sum(rest) > 1e-6:
        parts.append(("muted", "others", rest))
    scale = 60_000 / series.each_ms
    legend = [Span(f"{name} {short_money(_decimal(sum(cost)))}  ", tone) for tone, name, cost in parts]
    return [(tone, [each * scale for each in cost]) for tone, _, cost in parts], tuple(legend)


def _cost_plots(series: Series, state: State, member_id: str | None, now_ms: int) -> list[_Plot]:
    """Return cost a minute by agent, tokens a second, and the money spent, with the budget as a line."""
    seconds = series.each_ms / 1000
    spends = _sample_spends(series, state, member_id or "", now_ms)
    costs = [cost * 60 / seconds for cost in spends.cost_usd]
    tokens = [number / seconds for number in spends.tokens]
    stack, legend = _stack_costs(series, state, member_id, spends.cost_usd, now_ms)
    member = state.agents.get(member_id or "") or state.supervisors.get(member_id or "")
    usage = state.usage if member is None else member.usage
    budget = cost_budget(state) if member is None else cost_budget_of(state, member)
    rate, whole = short_money(_decimal(_recent_mean(costs, series.each_ms))), float(usage.cost_usd or 0)
    spent = [max(0.0, whole - later) for later in reversed([*accumulate(reversed(spends.cost_usd[1:]), initial=0.0)])]
    if budget is not None and budget.spent != (usage.cost_usd or 0):
        budget = None  # that of open runs does not cover what others have spent
    limit = float(budget.limit) if budget is not None else 0.0
    in_window = short_money(_decimal(sum(spends.cost_usd)))
    of_limit = f"{cost_text(usage)} of {short_money(budget.limit)}" if budget is not None else cost_text(usage)
    return [
        replace(
            _money_plot("COST", f"{rate}/min", costs, "a minute"),
            prefix=f"{in_window} in the window, ",
            stack=stack,
            legend=legend,
        ),
        _plain_plot(
            "TOKENS",
            f"{_recent_mean(tokens, series.each_ms):,.0f}/s",
            tokens,
            f"a second; {sum(spends.tokens):,.0f} in the window",
            (_LOW, _MID, _HIGH),
        ),
        _money_plot("SPENT", of_limit, spent, "the line is the budget" if limit else "added up", limit),
    ]


def _money_plot(title: str, value: str, values: Sequence[float], below: str, limit: float = 0.0) -> _Plot:
    top = axis_top(max(*values, limit) or 0.01)
    labels = (short_money(_decimal(top)), short_money(_decimal(top / 2)), "0")
    over = [limit] * len(values) if limit else ()
    return _Plot(title, value, values, labels, top, below, (_LOW, _MID, _HIGH), over)


def _decimal(number: float) -> Decimal:
    return Decimal(str(number))


def _plots(series: Series, queue: Sequence[float], waiting: int, agents: int) -> list[_Plot]:
    seconds = series.each_ms / 1000
    done = [number / seconds for number in series.done]
    failed = [number / seconds for number in series.failed]
    time_top = axis_top(max(series.p95_ms, default=0) or 1_000)
    return [
        _plain_plot("THROUGHPUT", f"{_recent_mean(done, series.each_ms):.1f}/s", done, "done a second", _BUSY),
        _Plot(
            "TIME A TASK",
            f"p50 {duration(series.p50_ms[-1] or None)}  p95 {duration(series.p95_ms[-1] or None)}",
            series.p50_ms,
            (duration(time_top), duration(time_top / 2), "0"),
            time_top,
            "the line is p95",
            (_LOW, _MID, _HIGH),
            series.p95_ms,
            prefix=LATEST,
        ),
        _plain_plot("QUEUE", count(waiting), queue, "tasks waiting", ("guide", "idle", "waiting")),
        _plain_plot(
            "AT WORK",
            f"{series.running:,}",
            series.busy,
            f"attempts, of {pluralize(agents, 'agent')}",
            _BUSY,
        ),
        _plain_plot("FAILED", f"{_recent_mean(failed, series.each_ms):.2f}/s", failed, "failed a second", ("error",)),
        _plain_plot("DONE", count(sum(series.done)), [*accumulate(series.done)], "added up", (_LOW, _MID, _HIGH)),
    ]


def _recent_mean(rates: Sequence[float], each_ms: int) -> float:
    """Return the mean of the last complete samples, over the same period as the health strip."""
    over = rates[:-1][-max(1, round(RATE_S * 1000 / each_ms)) :] or rates
    return sum(over) / len(over)


def _plain_plot(title: str, value: str, values: Sequence[float], below: str, tones: tuple[str, ...]) -> _Plot:
    top = axis_top(max(values, default=0) or 1)
    upper, middle = (f"{tick:,.0f}" if tick == round(tick) else f"{tick:g}" for tick in (top, top / 2))
    return _Plot(title, value, values, (upper, middle, "0"), top, below, tones)


def _draw_plot(spec: _Plot, width: int, height: int, series: Series, end: str) -> list[Line]:
    """Return one plot with its title and the labels of its axes."""
    value = spec.prefix + spec.value
    has_room = cell_len(spec.title) + cell_len(value) + TITLE_MARGIN <= width
    lines = [hairline(spec.title, width, right=value if has_room else spec.value, tone="strong")]
    room = height - 2
    labels = [f"{label:>{LABEL_WIDTH}}" for label in spec.labels]
    if room > 0:
        lines += plot(
            spec.values, width, room, top=spec.top, labels=labels, tones=spec.tones, over=spec.over, stack=spec.stack
        )
    wide = LABEL_WIDTH + 2
    # Rounding of samples to whole milliseconds makes the window slightly longer.
    window_ms = series.each_ms * len(series.done) // 1000 * 1000
    left = [Span(" " * wide), Span(f"−{left_of(window_ms)}", "faint")]
    middle = _fit_legend(spec.legend, width - wide - len(end) - cell_width(left[1:]) - 3) or [Span(spec.below, "faint")]
    free = width - wide - len(end) - cell_width(left[1:]) - cell_width(middle)
    last = f"{end} " if free > 2 else end
    lines.append(spread([*left, Span(" " * max(1, (free - 2) // 2)), *middle], [Span(last, "faint")], width))
    return lines


def _fit_legend(legend: Sequence[Span], max_width: int) -> list[Span]:
    """Return the first names that fit."""
    widths = accumulate(cell_len(span.text) for span in legend)
    return [span for span, width in zip(legend, widths, strict=True) if width <= max_width]


def _side_by_side(blocks: Sequence[Sequence[Line]]) -> list[Line]:
    lines = []
    for row in range(max((len(block) for block in blocks), default=0)):
        spans: list[Span] = []
        for index, block in enumerate(blocks):
            spans += (block[row] if row < len(block) else BLANK).spans
            if index < len(blocks) - 1:
                spans.append(Span("┬" if row == 0 else "│", "line"))
        lines.append(Line(tuple(spans)))
    return lines
