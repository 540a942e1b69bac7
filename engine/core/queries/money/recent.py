"""Figures of the last 5 minutes and of the last hour, by agent, capability, category, model or supervisor."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, NamedTuple, TypeAlias

from engine.core.discovery.candidate import category_stem
from engine.core.discovery.words import phrase_key
from engine.core.queries.team.figures import success_share
from engine.core.queries.team.tree import subtree_of
from engine.core.state import COARSE_SLOTS, DURATION_KEYS, MAX_SLOTS, SLOT_MS, State, Window

Scope: TypeAlias = Literal["agent", "capability", "category", "model", "supervisor"]
_ERROR = "error "
_MIN_SPAN_MS = 10_000
"""Shortest span that a mean of a minute is taken over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentFigures:
    """Figures of work that ended in a span of time; for a model: of its calls."""

    span_s: int
    """Length of the span, in seconds: for a team that is younger, since its first run; at least 10."""
    tasks: int
    """Attempts that ended: done, failed and cancelled."""
    done: int
    failed: int
    success_rate: float
    """Share of done and failed attempts that were done, 0 to 1; NaN below 10."""
    errors: dict[str, int]
    """Failures by kind of error."""
    p50_ms: float
    """Median time at work of done attempts, in milliseconds, from counts by powers of two; NaN without one."""
    p95_ms: float
    """The time at work that 95 % of them do not exceed, likewise."""
    wait_ms: float
    """Mean time from ready to begun, in milliseconds; NaN without an attempt."""
    retries: int
    tokens_in: int
    tokens_out: int
    cost_usd: Decimal

    @property
    def cost_per_min_usd(self) -> Decimal:
        """Mean cost of a minute of the span, in USD."""
        return self.cost_usd * 60 / self.span_s


@dataclass(frozen=True, slots=True)
class Recent:
    """Figures of the last minutes."""

    last_5m: RecentFigures
    last_1h: RecentFigures


def recent_of(state: State, scope: Scope, key: str, now_ms: int) -> Recent:
    """Return the figures of an agent or supervisor (by id), or of a capability, category or model (by name).

    A supervisor's include all teams below it, and agents that have left. Everything is 0 or NaN if the key is unknown.
    """
    return _figures(list(_windows_of(state, scope, key)), state, now_ms)


def usd_per_min(state: State, scope: Scope, key: str, now_ms: int, span_s: int) -> Decimal:
    """Return the mean cost of a minute in the last five, in USD: as `recent_of` does, but faster.

    Args:
        span_s: How much of the five minutes is covered: `covered_s` of 300.
    """
    cost_usd = cost_since(_windows_of(state, scope, key), now_ms // SLOT_MS - MAX_SLOTS + 1, is_fine=True)
    return cost_usd * 60 / span_s


def covered_s(state: State, now_ms: int, span_s: int) -> int:
    """Return how much of a span there were runs to spend in, in seconds."""
    starts_ms = [run.started_ms for run in state.runs.values()] + [run.started_ms for run in state.finished]
    began_ms = min(starts_ms, default=now_ms)
    return min(span_s, max(_MIN_SPAN_MS, now_ms - began_ms) // 1_000)


def cost_since(windows: Iterable[Window], slot: int, *, is_fine: bool) -> Decimal:
    """Return the cost of windows from a slot of 5 s on, or else of a minute, in USD."""
    cost_nano, slot_size = 0, 1 if is_fine else COARSE_SLOTS
    for window in windows:
        slots = window.fine if is_fine else window.coarse
        cost_nano += sum([amounts.get("cost_nano", 0) for number, amounts in slots.items() if number >= slot])
        if window.slot // slot_size >= slot:
            cost_nano += window.open.get("cost_nano", 0)
    return Decimal(cost_nano) / 10**9


class Spent(NamedTuple):
    """What was spent in a slot of time."""

    tokens: int
    """Input and output tokens."""
    cost_usd: float


_NOTHING = Spent(0, 0.0)


def spent_by_slot(state: State, scope: Scope, key: str, now_ms: int, *, is_fine: bool) -> dict[int, Spent]:
    """Return what was spent in the last 60 slots of 5 s, or else of a minute, by number of the slot."""
    spent: dict[int, Spent] = {}
    for number, amounts in _slots(_windows_of(state, scope, key), now_ms // SLOT_MS, is_fine=is_fine):
        tokens, cost_usd = spent.get(number, _NOTHING)
        tokens += amounts.get("tokens_in", 0) + amounts.get("tokens_out", 0)
        spent[number] = Spent(tokens, cost_usd + amounts.get("cost_nano", 0) / 1e9)
    return spent


def model_figures(state: State, name: str, now_ms: int | None = None) -> Recent:
    """Return the figures of a model's calls: durations, successes, kinds of errors, tokens, cost.

    Args:
        state: The state.
        name: The team's name for the model.
        now_ms: The end of the spans; None is the time of the last event.
    """
    return recent_of(state, "model", name, state.at_ms if now_ms is None else now_ms)


def _windows_of(state: State, scope: Scope, key: str) -> Iterator[Window]:
    windows = state.windows
    if windows is None:
        return
    if scope == "agent":
        keyed: dict[str, Window] = windows.agents
    elif scope == "model":
        keyed = windows.models
    elif scope == "category":
        keyed = windows.categories
    else:
        keyed = {}
    if key in keyed:
        yield keyed[key]
    if scope == "supervisor" and key in state.supervisors:
        below = {supervisor.id for supervisor in subtree_of(state, state.supervisors[key])}
        yield from (windows.supervisors[each] for each in below if each in windows.supervisors)
        for agent_id, window in windows.agents.items():
            agent = state.agents.get(agent_id)
            if (window.open or window.times_ms) and agent is not None and agent.supervisor_id in below:
                yield Window(
                    slot=window.slot, open=window.open, times_ms=window.times_ms, wait_ms=window.wait_ms
                )  # its closed slots are in those of the supervisor
    elif scope == "capability":
        stems = {phrase_key(key), category_stem(key)}
        for agent_id, window in windows.agents.items():
            if not stems.isdisjoint(_stems_of(state, agent_id)):
                yield window


def _stems_of(state: State, agent_id: str) -> set[str]:
    agent, spending = state.agents.get(agent_id), state.spending.get(agent_id)
    if agent is not None:
        spec = state.spec_of(agent)
        labels = [*spec.specialties, *([spec.category] if spec.category else ())]
    else:
        labels = spending.specialties if spending is not None else []
    return {*map(phrase_key, labels), *map(category_stem, labels)}


def _figures(windows: list[Window], state: State, now_ms: int) -> Recent:
    newest = now_ms // SLOT_MS
    fine, coarse = _sum(windows, newest, is_fine=True), _sum(windows, newest, is_fine=False)
    return Recent(
        _figures_of(fine, covered_s(state, now_ms, 300)), _figures_of(coarse, covered_s(state, now_ms, 3_600))
    )


def _sum(windows: Iterable[Window], newest: int, *, is_fine: bool) -> dict[str, int]:
    """Return the amounts of all slots of the span that ends with fine slot `newest`."""
    total: dict[str, int] = {}
    for _, amounts in _slots(windows, newest, is_fine=is_fine):
        for key, amount in amounts.items():
            total[key] = total.get(key, 0) + amount
    return total


def _slots(windows: Iterable[Window], newest: int, *, is_fine: bool) -> Iterator[tuple[int, dict[str, int]]]:
    """Yield the numbers and the amounts of the slots of a span, a number perhaps several times."""
    slot_size = 1 if is_fine else COARSE_SLOTS
    oldest = newest // slot_size - MAX_SLOTS
    for window in windows:
        for number, amounts in (window.fine if is_fine else window.coarse).items():
            if number > oldest:
                yield number, amounts
        if window.slot // slot_size > oldest:
            yield window.slot // slot_size, window.in_progress()


def _figures_of(amounts: dict[str, int], span_s: int) -> RecentFigures:
    durations = [amounts.get(key, 0) for key in DURATION_KEYS]
    done, failed, cancelled = sum(durations), amounts.get("failed", 0), amounts.get("cancelled", 0)
    tasks = done + failed + cancelled
    share = success_share(done, failed)
    return RecentFigures(
        span_s=span_s,
        tasks=tasks,
        done=done,
        failed=failed,
        success_rate=math.nan if share is None else share,
        errors={key.removeprefix(_ERROR): amount for key, amount in amounts.items() if key.startswith(_ERROR)},
        p50_ms=_quantile_ms(durations, 0.5),
        p95_ms=_quantile_ms(durations, 0.95),
        wait_ms=amounts.get("wait_ms", 0) / tasks if tasks else math.nan,
        retries=amounts.get("retries", 0),
        tokens_in=amounts.get("tokens_in", 0),
        tokens_out=amounts.get("tokens_out", 0),
        cost_usd=Decimal(amounts.get("cost_nano", 0)) / 10**9,
    )


def _quantile_ms(counts: list[int], share: float) -> float:
    """Return a quantile of durations that are counted by their number of bits, in milliseconds.

    Within a count the durations are taken as spread evenly over the logarithm, so that the result is at most a factor
    of two off.
    """
    rank = share * sum(counts)
    for bits, count in enumerate(counts):
        if count and rank <= count:
            return 0.0 if bits == 0 else 2.0 ** (bits - 1 + rank / count)
        rank -= count
    return math.nan
