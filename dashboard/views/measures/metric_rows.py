"""The supervisors and agents of a team by their figures, for the table under the plots."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import nlargest
from itertools import chain
from types import MappingProxyType

from dashboard.views.drawing.lines import Span, joined
from dashboard.views.drawing.plots import meter, spark
from dashboard.views.drawing.rows import Cell, Column, Listing, nothing
from dashboard.views.measures.activity import Activity, Ended
from dashboard.views.measures.task_times import SWAPPED
from dashboard.views.measures.usage import COST, TOKENS, is_metered, used
from dashboard.views.network import mode_glyph
from dashboard.views.words.amounts import count, duration, percent
from dashboard.views.words.filters import filter_typed
from dashboard.views.words.subjects import OfSupervisor, agents_passing
from engine.core.queries.team.tree import agents_of, lineage_of
from engine.core.state import State

_TOOK, _BUSY, _SHARE = 20, 12, 10
"""Cells of the pictures of a row."""
_NEWEST = 2 * _TOOK
"""Tasks in the picture of their times."""
COLUMNS = (
    Column("AGENT", 16, grow=1, most=28, named=True, means="an agent or a team, with its figures of that window"),
    Column("DONE", 7, right=True, means="attempts that ended well in the window of the plots, not since ever"),
    Column("FAIL", 5, right=True, means="attempts that failed in the window of the plots"),
    Column("OK", 6, right=True, drop=1),
    Column("P50", 9, right=True),
    Column("P95", 9, right=True, drop=1),
    Column("TIME A TASK", _TOOK, drop=4, calm=True),
    Column("BUSY, 2 MIN", _BUSY, drop=2, calm=True),
    Column("SHARE", _SHARE + 5, drop=3, calm=True),
)
_IN_ALL = (
    replace(TOKENS, means="what models read and wrote in all, also before the window"),
    replace(COST, means="what models took in all, also before the window, in US dollars; – where no price is known"),
)
"""Money is told whole: of a long window only the newest attempts are known."""


@dataclass(frozen=True, slots=True)
class Figures:
    """What the window says of one agent, or of all below a supervisor."""

    failed: int = 0
    time_ms: int = 0
    """Spent at work on what ended."""
    times_ms: Sequence[int] = ()
    """Of each task that was done, the shortest first."""
    newest: Sequence[tuple[int, int]] = ()
    """When the newest of them ended, the oldest first, and how long each took."""

    @property
    def done(self) -> int:
        """How many tasks were done."""
        return len(self.times_ms)

    @property
    def p50_ms(self) -> int | None:
        """Half of the tasks took less."""
        return self.times_ms[len(self.times_ms) // 2] if self.times_ms else None

    @property
    def p95_ms(self) -> int | None:
        """A twentieth of the tasks took longer."""
        return self.times_ms[min(len(self.times_ms) - 1, len(self.times_ms) * 95 // 100)] if self.times_ms else None


ORDERS: dict[str, Callable[[Figures], float]] = {
    "done": lambda one: -one.done,
    "slowest": lambda one: -(one.p50_ms or 0),
    "p95": lambda one: -(one.p95_ms or 0),
    "failed": lambda one: -one.failed,
    "share": lambda one: -one.time_ms,
    "worst": lambda one: one.done / (one.done + one.failed) if one.done + one.failed else 2.0,
}
"""The ways to sort, in the order in which a key goes through them; equal ones stay as they were declared."""
HEADS = {"DONE": "done", "FAIL": "failed", "OK": "worst", "P50": "slowest", "P95": "p95", "SHARE": "share"}
"""Which of them a heading chooses."""


def teams_of(state: State) -> Mapping[str, Sequence[str]]:
    """Return the supervisors above each agent; none where a single one is all of the team, which the plots show."""
    if len(state.supervisors) < 2:
        return {}
    above = {one.id: [each.id for each in lineage_of(state, one)] for one in state.supervisors.values()}
    return {agent.id: above.get(agent.supervisor_id, ()) for agent in state.agents.values()}


def figures(
    ends: Sequence[Ended], from_ms: int, teams: Mapping[str, Sequence[str]] = MappingProxyType({})
) -> dict[str, Figures]:
    """Return what each agent did since a moment, and what all below each of the supervisors of `teams_of` did."""
    by: dict[str, list[Ended]] = defaultdict(list)
    for end in ends:
        if end.at_ms >= from_ms:
            by[end.agent_id].append(end)
    found = {agent_id: _of_agent(own) for agent_id, own in by.items()}
    below: dict[str, list[Figures]] = defaultdict(list)
    for agent_id, one in found.items():
        for team_id in teams.get(agent_id, ()):
            below[team_id].append(one)
    return found | {team_id: _of_all(members) for team_id, members in below.items()}


def _of_agent(ends: Sequence[Ended]) -> Figures:
    done = [end for end in ends if end.done]
    return Figures(
        failed=len(ends) - len(done),
        time_ms=sum([end.at_work_ms for end in ends]),
        times_ms=sorted([end.at_work_ms for end in done]),
        newest=[(end.at_ms, end.at_work_ms) for end in done[-_NEWEST:]],
    )


def _of_all(members: Sequence[Figures]) -> Figures:
    return Figures(
        failed=sum(one.failed for one in members),
        time_ms=sum(one.time_ms for one in members),
        times_ms=sorted(chain.from_iterable(one.times_ms for one in members)),  # what is sorted already is merged
        newest=nlargest(_NEWEST, chain.from_iterable(one.newest for one in members))[::-1],
    )


def metric_rows(
    state: State,
    found: Mapping[str, Figures],
    activity: Activity,
    *,
    now_ms: int,
    order: str,
    needle: str = "",
    window: str = "1 m",
) -> Listing:
    """Return every supervisor, where there are several, then every agent, with their figures; keys are their ids.

    Args:
        window: Of what time the figures are; the heading says so, as other tables have those of all time.
    """
    wanted = filter_typed(needle)
    rank, none = ORDERS[order], Figures()
    several = [*state.supervisors.values()] if len(state.supervisors) > 1 else []
    teams = wanted.of(several, lambda one: OfSupervisor(state, one))
    teams.sort(key=lambda one: rank(found.get(one.id, none)))
    agents = agents_passing(state, state.agents.values(), wanted)
    agents.sort(key=lambda agent: (rank(found.get(agent.id, none)), agent.created_seq))
    whole = sum(one.time_ms for key, one in found.items() if key not in state.supervisors)
    metered = is_metered(state)

    def make(key: str) -> tuple[Cell, ...]:
        agent, team = state.agents.get(key), state.supervisors.get(key)
        one = found.get(key, none)
        if agent is not None:
            shares = activity.shares(key, now_ms, samples=2 * _BUSY, each=20, slots=agent.max_concurrency)
            name = Cell(agent.name, "strong" if agent.running else "" if one.done + one.failed else "muted")
            cells = _cells(one, shares, whole, swapped_ms=activity.swapped_ms.get(key))
            return (name, *cells, *(used(agent.usage) if metered else ()))
        if team is not None:
            name = Cell(team.name, "strong", f"{mode_glyph(team.mode)} ")
            shares = activity.shares_of(agents_of(state, key), now_ms, samples=2 * _BUSY, each=20)
            return (name, *_cells(one, shares, whole), *(used(team.usage) if metered else ()))
        return (Cell("removed", "muted"),)

    columns = (replace(COLUMNS[0], title=f"AGENT, LAST {window}"), *COLUMNS[1:])
    return Listing(
        columns=(*columns, *_IN_ALL) if metered else columns,
        keys=[*(team.id for team in teams), *(agent.id for agent in agents)],
        make=make,
        empty=nothing(needle, "agent", "no agents yet", ": add FILE  adds one"),
        total=len(several) + len(state.agents),
    )


def _cells(one: Figures, shares: Sequence[float], whole_ms: int, *, swapped_ms: int | None = None) -> tuple[Cell, ...]:
    ended = one.done + one.failed
    share = one.time_ms / whole_ms if whole_ms else 0.0
    took = _took(one, swapped_ms) if one.newest else ""
    busy = spark(shares, _BUSY, most=1.0) if shares else ""
    return (
        Cell(count(one.done), "" if one.done else "muted"),
        Cell(count(one.failed) if one.failed else "·", "warn" if one.failed else "muted"),
        Cell(percent(one.done / ended) if ended else "", "warn" if one.failed else "muted"),
        Cell(duration(one.p50_ms, most=9) if one.p50_ms is not None else "", ""),
        Cell(duration(one.p95_ms, most=9) if one.p95_ms is not None else "", "plot-p95"),
        Cell(took, spans=joined((sign, "accent" if sign == SWAPPED else "plot-mid") for sign in took)),
        Cell(busy, spans=(Span(busy, "busy-before" if any(shares) else "faint"),)),
        Cell(f"{share:.0%}", spans=(*meter(share, _SHARE), Span(f"{share:>5.0%}", "muted")))
        if one.time_ms
        else Cell(""),
    )


def _took(one: Figures, swapped_ms: int | None) -> str:
    """Return how long the newest tasks took, with a mark where the agent was swapped between two of them."""
    drawn = spark([took_ms for _, took_ms in one.newest], _TOOK)
    after = len(one.newest) if swapped_ms is None else sum(at_ms > swapped_ms for at_ms, _ in one.newest)
    if after == len(one.newest):
        return drawn
    place = _TOOK - 1 - after // 2  # two tasks take a cell, the newest at the right
    return drawn[:place] + SWAPPED + drawn[place + 1 :]
