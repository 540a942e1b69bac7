"""The table under the plots: supervisors and agents with their figures."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import nlargest
from itertools import chain
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from dashboard.views.drawing.lines import Span, join_spans
from dashboard.views.drawing.plots import meter, spark
from dashboard.views.drawing.rows import (
    EMPTY,
    Cell,
    Column,
    Listing,
    Order,
    empty_message,
    make_cells,
    matches,
    visible_columns,
)
from dashboard.views.drawing.sorting import heads_of, orders_of
from dashboard.views.measures.activity import Activity, AttemptEnd
from dashboard.views.measures.digest import Digest
from dashboard.views.measures.task_times import SWAP_MARK
from dashboard.views.measures.usage import USAGE_TITLES, cost_cell, cost_rank, is_metered, tokens_cell
from dashboard.views.network import mode_glyph
from dashboard.views.words.amounts import count, duration, is_known, p95, percent
from dashboard.views.words.filters import parse_partial_filter
from dashboard.views.words.help import P50_MEANING
from dashboard.views.words.subjects import SupervisorSubject, filter_agents
from engine.core.queries.team.figures import median, success_share
from engine.core.queries.team.tree import agents_of, lineage_of
from engine.core.records.values import Usage
from engine.core.state import Spending, State

_TIMES_WIDTH, _BUSY_WIDTH, _SHARE_WIDTH = 20, 12, 10
"""Cells of the plots of a row."""
_MAX_NEWEST = 2 * _TIMES_WIDTH
"""Tasks in the sparkline of times."""


@dataclass(frozen=True, slots=True)
class MemberFigures:
    """The figures of one agent, or of all agents below a supervisor, in a window."""

    failed: int = 0
    time_ms: int = 0
    """Time at work of the ended attempts."""
    times_ms: Sequence[int] = ()
    """Time of each done task, the shortest first."""
    newest: Sequence[tuple[int, int]] = ()
    """End and time of the newest done tasks, the oldest first."""

    @property
    def done(self) -> int:
        """Number of done tasks."""
        return len(self.times_ms)

    @property
    def p50_ms(self) -> float | None:
        """Median time of a task."""
        return median(self.times_ms)

    @property
    def p95_ms(self) -> int | None:
        """95th percentile of the time of a task."""
        return p95(self.times_ms)


class MetricRow(NamedTuple):
    """An agent or a team, with what its cells are made from."""

    name: Cell
    figures: MemberFigures
    shares: Sequence[float]
    """Parts of its slots at work in the last two minutes."""
    whole_ms: int
    """Time at work of all agents in the window."""
    usage: Usage
    swapped_ms: int | None = None


MetricRank: TypeAlias = Callable[[MemberFigures], float]


def _ok_cell(row: MetricRow) -> Cell:
    share = success_share(row.figures.done, row.figures.failed)
    return Cell("" if share is None else percent(share), "warn" if row.figures.failed else "muted")


def _time_cell(took_ms: float | None, tone: str = "") -> Cell:
    return Cell(duration(took_ms, max_width=9) if took_ms is not None else "", tone)


def _times_cell(row: MetricRow) -> Cell:
    took = _time_sparkline(row.figures, row.swapped_ms) if row.figures.newest else ""
    return Cell(took, spans=join_spans((sign, "accent" if sign == SWAP_MARK else "plot-mid") for sign in took))


def _busy_cell(row: MetricRow) -> Cell:
    busy = spark(row.shares, _BUSY_WIDTH, full_value=1.0) if row.shares else ""
    return Cell(busy, spans=(Span(busy, "busy-before" if any(row.shares) else "faint"),))


def _share_cell(row: MetricRow) -> Cell:
    if not row.figures.time_ms:
        return EMPTY
    share = row.figures.time_ms / row.whole_ms if row.whole_ms else 0.0
    text = percent(share)
    return Cell(text, spans=(*meter(share, _SHARE_WIDTH), Span(f"{text:>5}", "muted")))


def _by_ok(figures: MemberFigures) -> float:
    share = success_share(figures.done, figures.failed)
    return 2.0 if share is None else share


COLUMNS: tuple[Column[MetricRow, MetricRank], ...] = (
    Column("AGENT", 16, grow=1, max_width=28, named=True, cell=lambda row: row.name,
           meaning="an agent or a team, with its figures of that window"),
    Column("DONE", 7, right=True, meaning="attempts that ended well in the window of the plots, not since ever",
           cell=lambda row: Cell(count(row.figures.done), "" if row.figures.done else "muted"),
           order=Order("done", lambda figures: -figures.done, step=0)),
    Column("FAIL", 5, right=True, meaning="attempts that failed in the window of the plots",
           cell=lambda row: Cell(count(row.figures.failed or None, "·"), "warn" if row.figures.failed else "muted"),
           order=Order("failed", lambda figures: -figures.failed, step=3)),
    Column("OK", 6, right=True, drop=1, meaning="share of the attempts that ended well", cell=_ok_cell,
           order=Order("worst", _by_ok, step=5)),
    Column("P50", 9, right=True, meaning=P50_MEANING, cell=lambda row: _time_cell(row.figures.p50_ms),
           order=Order("slowest", lambda figures: -(figures.p50_ms or 0), step=1)),
    Column("P95", 9, right=True, drop=1, meaning="of a window: on 95 of 100 tasks it worked less",
           cell=lambda row: _time_cell(row.figures.p95_ms, "plot-p95"),
           order=Order("p95", lambda figures: -(figures.p95_ms or 0), step=2)),
    Column("TIME A TASK", _TIMES_WIDTH, drop=4, calm=True, cell=_times_cell,
           meaning="how long it worked on its last tasks, the newest at the right; ◆ is a swap"),
    Column("BUSY, 2 MIN", _BUSY_WIDTH, drop=2, calm=True, cell=_busy_cell,
           meaning="its share of the slot at work in the last two minutes, the newest at the right"),
    Column("SHARE", _SHARE_WIDTH + 5, drop=3, calm=True, cell=_share_cell,
           meaning="its part of the time at work of all agents in the window",
           order=Order("share", lambda figures: -figures.time_ms, step=4)),
    Column("TOKENS", 9, right=True, drop=3, cell=lambda row: tokens_cell(row.usage),
           meaning="what models read and wrote in all, also before the window"),
    Column("COST", 8, right=True, drop=1, cell=lambda row: cost_cell(row.usage),
           meaning="what models took in all, also before the window, in US dollars; – where no price is known"),
)  # fmt: skip
"""Usage is that of all time, because a long window has only the newest attempts."""
ORDERS, HEADS = orders_of(COLUMNS), heads_of(COLUMNS)


def teams_of(state: State) -> Mapping[str, Sequence[str]]:
    """Return the supervisors above each agent; empty for a single supervisor, whose figures the plots show."""
    if len(state.supervisors) < 2:
        return {}
    ancestor_ids = {
        supervisor.id: [each.id for each in lineage_of(state, supervisor)] for supervisor in state.supervisors.values()
    }
    return {agent.id: ancestor_ids.get(agent.supervisor_id, ()) for agent in state.agents.values()}


def count_figures(
    ends: Sequence[AttemptEnd], from_ms: int, teams: Mapping[str, Sequence[str]] = MappingProxyType({})
) -> dict[str, MemberFigures]:
    """Return the figures since a moment of each agent, and of each supervisor in `teams`."""
    by: dict[str, list[AttemptEnd]] = defaultdict(list)
    for end in ends:
        if end.at_ms >= from_ms:
            by[end.agent_id].append(end)
    agent_figures = {agent_id: _agent_figures(own) for agent_id, own in by.items()}
    below: dict[str, list[MemberFigures]] = defaultdict(list)
    for agent_id, figures in agent_figures.items():
        for team_id in teams.get(agent_id, ()):
            below[team_id].append(figures)
    return agent_figures | {team_id: _merge_figures(members) for team_id, members in below.items()}


def _agent_figures(ends: Sequence[AttemptEnd]) -> MemberFigures:
    done = [end for end in ends if end.outcome == "done"]
    return MemberFigures(
        failed=sum(end.outcome == "failed" for end in ends),
        time_ms=sum([end.at_work_ms for end in ends]),
        times_ms=sorted([end.at_work_ms for end in done]),
        newest=[(end.at_ms, end.at_work_ms) for end in done[-_MAX_NEWEST:]],
    )


def _merge_figures(members: Sequence[MemberFigures]) -> MemberFigures:
    # Sorted runs are merged in linear time.
    return MemberFigures(
        failed=sum(member.failed for member in members),
        time_ms=sum(member.time_ms for member in members),
        times_ms=sorted(chain.from_iterable(member.times_ms for member in members)),
        newest=nlargest(_MAX_NEWEST, chain.from_iterable(member.newest for member in members))[::-1],
    )


def metric_rows(
    state: State,
    figures_of: Mapping[str, MemberFigures],
    activity: Activity,
    *,
    now_ms: int,
    counts: Digest,
    order: str,
    needle: str = "",
    window: str = "1 m",
) -> Listing:
    """Return the supervisors, if there are several, then the agents, with their figures; keys are their ids.

    Args:
        window: Name of the window for the heading, because other tables have figures of all time.
    """
    row_filter = parse_partial_filter(needle)
    rank, none = ORDERS[order], MemberFigures()
    several = [*state.supervisors.values()] if len(state.supervisors) > 1 else []
    teams = row_filter.apply(several, lambda supervisor: SupervisorSubject(state, supervisor))
    teams.sort(key=lambda supervisor: rank(figures_of.get(supervisor.id, none)))
    agents = filter_agents(state, state.agents.values(), row_filter, counts)
    agents.sort(key=lambda agent: (rank(figures_of.get(agent.id, none)), agent.created_seq))
    whole = sum(figures.time_ms for key, figures in figures_of.items() if key not in state.supervisors)

    def make(key: str) -> tuple[Cell, ...]:
        agent, team = state.agents.get(key), state.supervisors.get(key)
        figures = figures_of.get(key, none)
        if agent is not None:
            shares = activity.shares(key, now_ms, samples=2 * _BUSY_WIDTH, each=20, slots=agent.max_concurrency)
            name = Cell(agent.name, "strong" if agent.running else "" if figures.done + figures.failed else "muted")
            swapped_ms = activity.swapped_ms.get(key)
            return make_cells(columns, MetricRow(name, figures, shares, whole, agent.usage, swapped_ms))
        if team is not None:
            name = Cell(team.name, "strong", f"{mode_glyph(team.mode)} ")
            shares = activity.shares_of(agents_of(state, key), now_ms, samples=2 * _BUSY_WIDTH, each=20)
            return make_cells(columns, MetricRow(name, figures, shares, whole, team.usage))
        if key in former:
            name = Cell(f"{former[key].name} (left)", "muted")
            return make_cells(columns, MetricRow(name, figures, (), whole, former[key].usage or Usage()))
        return (Cell("removed", "muted"),)

    metered = is_metered(state)
    former = _former_spenders(state, needle) if metered else {}
    first, *others = visible_columns(COLUMNS, without=() if metered else USAGE_TITLES)
    if metered:  # what a team of models spends comes first, and stays in a narrow window
        usage = [column for column in others if column.title in USAGE_TITLES]
        spent = [replace(column, drop=0, heading=f"ALL {column.title}", width=column.width + 2) for column in usage]
        others = [*spent, *(column for column in others if column.title not in USAGE_TITLES)]
    columns = (replace(first, title=f"{first.title}, LAST {window}"), *others)
    return Listing(
        columns=columns,
        keys=[*(team.id for team in teams), *(agent.id for agent in agents), *former],
        make=make,
        empty=empty_message(needle, "agent", "no agents yet", ": add FILE  adds one"),
        total=len(several) + len(state.agents) + len(former),
    )


def _former_spenders(state: State, needle: str) -> dict[str, Spending]:
    """Return agents that have left and have spent something, the most first."""
    spenders = [spending for spending in state.spending.values() if is_known(spending.usage)]
    spenders.sort(key=lambda spending: cost_rank(spending.usage))
    return {spending.id: spending for spending in spenders if matches(needle, spending.name, status="left")}


def _time_sparkline(figures: MemberFigures, swapped_ms: int | None) -> str:
    """Return a sparkline of the times of the newest tasks, with a mark at the last swap."""
    sparkline = spark([took_ms for _, took_ms in figures.newest], _TIMES_WIDTH)
    after = len(figures.newest) if swapped_ms is None else sum(at_ms > swapped_ms for at_ms, _ in figures.newest)
    if after == len(figures.newest):
        return sparkline
    place = _TIMES_WIDTH - 1 - after // 2  # two tasks per cell, the newest at the right
    return sparkline[:place] + SWAP_MARK + sparkline[place + 1 :]
