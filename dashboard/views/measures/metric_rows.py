"""The table under the plots: supervisors and agents with their figures."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import nlargest
from itertools import chain
from types import MappingProxyType

from dashboard.views.drawing.lines import Span, join_spans
from dashboard.views.drawing.plots import meter, spark
from dashboard.views.drawing.rows import Cell, Column, Listing, empty_message
from dashboard.views.measures.activity import Activity, AttemptEnd
from dashboard.views.measures.task_times import SWAP_MARK
from dashboard.views.measures.usage import COST, TOKENS, is_metered, usage_cells
from dashboard.views.network import mode_glyph
from dashboard.views.words.amounts import count, duration, percent
from dashboard.views.words.filters import parse_partial_filter
from dashboard.views.words.subjects import SupervisorSubject, filter_agents
from engine.core.queries.team.tree import agents_of, lineage_of
from engine.core.state import State

_TIMES_WIDTH, _BUSY_WIDTH, _SHARE_WIDTH = 20, 12, 10
"""Cells of the plots of a row."""
_MAX_NEWEST = 2 * _TIMES_WIDTH
"""Tasks in the sparkline of times."""
COLUMNS = (
    Column("AGENT", 16, grow=1, max_width=28, named=True, means="an agent or a team, with its figures of that window"),
    Column("DONE", 7, right=True, means="attempts that ended well in the window of the plots, not since ever"),
    Column("FAIL", 5, right=True, means="attempts that failed in the window of the plots"),
    Column("OK", 6, right=True, drop=1),
    Column("P50", 9, right=True),
    Column("P95", 9, right=True, drop=1),
    Column("TIME A TASK", _TIMES_WIDTH, drop=4, calm=True),
    Column("BUSY, 2 MIN", _BUSY_WIDTH, drop=2, calm=True),
    Column("SHARE", _SHARE_WIDTH + 5, drop=3, calm=True),
)
_IN_ALL = (
    replace(TOKENS, means="what models read and wrote in all, also before the window"),
    replace(COST, means="what models took in all, also before the window, in US dollars; – where no price is known"),
)
"""Usage is that of all time, because a long window has only the newest attempts."""


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
    def p50_ms(self) -> int | None:
        """Median time of a task."""
        return self.times_ms[len(self.times_ms) // 2] if self.times_ms else None

    @property
    def p95_ms(self) -> int | None:
        """95th percentile of the time of a task."""
        return self.times_ms[min(len(self.times_ms) - 1, len(self.times_ms) * 95 // 100)] if self.times_ms else None


ORDERS: dict[str, Callable[[MemberFigures], float]] = {
    "done": lambda figures: -figures.done,
    "slowest": lambda figures: -(figures.p50_ms or 0),
    "p95": lambda figures: -(figures.p95_ms or 0),
    "failed": lambda figures: -figures.failed,
    "share": lambda figures: -figures.time_ms,
    "worst": lambda figures: figures.done / (figures.done + figures.failed) if figures.done + figures.failed else 2.0,
}
"""The orders of the table, in the order of the key that switches them."""
HEADS = {"DONE": "done", "FAIL": "failed", "OK": "worst", "P50": "slowest", "P95": "p95", "SHARE": "share"}
"""The order that each heading chooses."""


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
    done = [end for end in ends if end.done]
    return MemberFigures(
        failed=len(ends) - len(done),
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
    agents = filter_agents(state, state.agents.values(), row_filter)
    agents.sort(key=lambda agent: (rank(figures_of.get(agent.id, none)), agent.created_seq))
    whole = sum(figures.time_ms for key, figures in figures_of.items() if key not in state.supervisors)
    metered = is_metered(state)

    def make(key: str) -> tuple[Cell, ...]:
        agent, team = state.agents.get(key), state.supervisors.get(key)
        figures = figures_of.get(key, none)
        if agent is not None:
            shares = activity.shares(key, now_ms, samples=2 * _BUSY_WIDTH, each=20, slots=agent.max_concurrency)
            name = Cell(agent.name, "strong" if agent.running else "" if figures.done + figures.failed else "muted")
            cells = _cells(figures, shares, whole, swapped_ms=activity.swapped_ms.get(key))
            return (name, *cells, *(usage_cells(agent.usage) if metered else ()))
        if team is not None:
            name = Cell(team.name, "strong", f"{mode_glyph(team.mode)} ")
            shares = activity.shares_of(agents_of(state, key), now_ms, samples=2 * _BUSY_WIDTH, each=20)
            return (name, *_cells(figures, shares, whole), *(usage_cells(team.usage) if metered else ()))
        return (Cell("removed", "muted"),)

    columns = (replace(COLUMNS[0], title=f"AGENT, LAST {window}"), *COLUMNS[1:])
    return Listing(
        columns=(*columns, *_IN_ALL) if metered else columns,
        keys=[*(team.id for team in teams), *(agent.id for agent in agents)],
        make=make,
        empty=empty_message(needle, "agent", "no agents yet", ": add FILE  adds one"),
        total=len(several) + len(state.agents),
    )


def _cells(
    figures: MemberFigures, shares: Sequence[float], whole_ms: int, *, swapped_ms: int | None = None
) -> tuple[Cell, ...]:
    ended_count = figures.done + figures.failed
    share = figures.time_ms / whole_ms if whole_ms else 0.0
    took = _time_sparkline(figures, swapped_ms) if figures.newest else ""
    busy = spark(shares, _BUSY_WIDTH, full_value=1.0) if shares else ""
    return (
        Cell(count(figures.done), "" if figures.done else "muted"),
        Cell(count(figures.failed) if figures.failed else "·", "warn" if figures.failed else "muted"),
        Cell(percent(figures.done / ended_count) if ended_count else "", "warn" if figures.failed else "muted"),
        Cell(duration(figures.p50_ms, max_width=9) if figures.p50_ms is not None else "", ""),
        Cell(duration(figures.p95_ms, max_width=9) if figures.p95_ms is not None else "", "plot-p95"),
        Cell(took, spans=join_spans((sign, "accent" if sign == SWAP_MARK else "plot-mid") for sign in took)),
        Cell(busy, spans=(Span(busy, "busy-before" if any(shares) else "faint"),)),
        Cell(f"{share:.0%}", spans=(*meter(share, _SHARE_WIDTH), Span(f"{share:>5.0%}", "muted")))
        if figures.time_ms
        else Cell(""),
    )


def _time_sparkline(figures: MemberFigures, swapped_ms: int | None) -> str:
    """Return a sparkline of the times of the newest tasks, with a mark at the last swap."""
    sparkline = spark([took_ms for _, took_ms in figures.newest], _TIMES_WIDTH)
    after = len(figures.newest) if swapped_ms is None else sum(at_ms > swapped_ms for at_ms, _ in figures.newest)
    if after == len(figures.newest):
        return sparkline
    place = _TIMES_WIDTH - 1 - after // 2  # two tasks per cell, the newest at the right
    return sparkline[:place] + SWAP_MARK + sparkline[place + 1 :]
