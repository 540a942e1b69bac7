"""The network as a tree of rows: structure on the left, the same columns on the right.

`network` only decides which rows exist; their cells are made when they are drawn.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

from rich.cells import cell_len

from dashboard.views import agents
from dashboard.views.drawing.lines import Span
from dashboard.views.drawing.plots import meter
from dashboard.views.drawing.rows import (
    EMPTY,
    Cell,
    Column,
    Listing,
    Order,
    empty_message,
    fit_columns,
    make_cells,
    visible_columns,
)
from dashboard.views.drawing.sorting import Sorting, orders_of
from dashboard.views.facts.agent import MIN_SHOWN_MS, SWAPPED_MS, state_of_agent, swap_mark
from dashboard.views.facts.member_states import bar_of_kinds
from dashboard.views.facts.now import now_of_agent, silent_since_ms
from dashboard.views.facts.supervisor import now_of_supervisor, state_of_supervisor, urgent_words
from dashboard.views.measures.activity import Activity
from dashboard.views.measures.digest import Digest
from dashboard.views.measures.meters import METER, Meters, lane_heading
from dashboard.views.measures.progress import Progress
from dashboard.views.measures.usage import is_metered, tokens_cell
from dashboard.views.words.amounts import count, duration, money
from dashboard.views.words.filters import Filter, parse_partial_filter
from dashboard.views.words.glyphs import ACTIVITY
from dashboard.views.words.help import COST_MEANING, P50_MEANING, STATE_MEANING, TOKENS_MEANING
from dashboard.views.words.roles import name_with_role
from dashboard.views.words.subjects import SupervisorSubject, filter_agents
from engine.core.queries.team.figures import median
from engine.core.queries.team.recipes import makers
from engine.core.queries.team.tree import MAX_UNWARNED_DEPTH, depth_of, levels_of, lineage_of, mean_ms_of
from engine.core.state import Agent, State, Supervisor

GAP = 1
"""Cells between two columns."""
FOLDED = "+"
"""Sign before the name of a team that is folded to one row."""
MIN_BAR_WIDTH, MAX_BAR_WIDTH, GAP_BEHIND_BAR = 5, 24, 2
"""Cells of the bar of its members' states, and of the gap behind it."""
MAX_IDLE_SHOWN = 3
"""Idle agents of a supervisor that stay visible when the others are folded."""
NARROW = 76
"""Width below which NOW is narrower, so that the meter of the last minute stays."""
MIN_NAME_WIDTH, MAX_NAME_WIDTH = 14, 40
EXTRA_NAME_WIDTH = 6
"""Cells that long names take from NOW beyond their share, because cut names look alike."""
MIN_NOW_WIDTH, LANE_NOW_WIDTH, METER_MIN_WIDTH = 10, 48, 62
"""Minimum width of NOW, and beside lanes; the minimum width of a tree with the meter of the last minute beside it."""
NAMES_FIRST = 99
"""Share of the surplus width for names, until none is cut; that of NOW is 1."""
LANE, WIDE_LANE = 24, 40
"""Cells of a lane."""
_MAX_NOW_WIDTH, TOKENS_MIN_WIDTH, FAIL_MIN_WIDTH = 84, 90, 90
"""Maximum width of NOW, and the minimum widths of a tree with tokens, and with failures, beside the cost."""
_NO_TEAM = ("no team here yet", "start one with:  quarterdeck up TEAM   or look at:  quarterdeck demo")
_MIN_PROGRESS_WIDTH = 9
"""Cells of the progress of a supervisor beside what is urgent below it."""
_MODES = {"sequential": "→", "parallel": "⇉", "map": "⇉", "delegate": "↳", "iterative": "⇄", "hierarchical": "⇄"}
DECLARED = Sorting("declared")


@dataclass(frozen=True, slots=True)
class Folding:
    """Which teams are one row, and which idle agents may be folded away."""

    room: int
    """Available lines; no idle agents are folded while the whole tree fits."""
    opened: Set[str] = frozenset()
    """Supervisors whose idle agents stay visible."""
    active_ms: Mapping[str, int] | None = None
    """Time of each agent's last work, in UTC milliseconds."""
    teams: Set[str] = frozenset()
    """Supervisors of which only their own row is shown."""


@dataclass(frozen=True, slots=True)
class Measures:
    """Data of rows beside the state, and the geometry of the tree."""

    width: int = 80
    lane: int = 0
    """Cells of a lane of the last minute; 0 draws a meter."""
    meters: Meters | None = None
    activity: Activity | None = None
    progress: Mapping[str, Progress] = field(default_factory=dict)
    sorting: Sorting = DECLARED
    middle: bool = False
    """Whether the median time of a task has a column even without lanes."""


class _Line(NamedTuple):
    lead: str
    name: str
    folded: int = 0
    """Folded idle agents, of which this is the row."""
    is_folded_team: bool = False


class _RowContext(NamedTuple):
    """The data for the cells of a row."""

    state: State
    counts: Digest
    live: Mapping[str, str]
    now_ms: int
    measures: Measures
    now_width: int


class MemberRow(NamedTuple):
    """A member with the data of its tree, which its cells are made from."""

    tree: _RowContext
    member: Agent | Supervisor
    line: _Line


def _name_cell(row: MemberRow) -> Cell:
    agent = row.member
    if isinstance(agent, Supervisor):
        return Cell(agent.name, "strong", row.line.lead)
    resting = row.tree.counts.kind_of(agent) == "idle"
    return Cell(row.line.name, "muted" if resting else "", row.line.lead)


def _tag_cell(row: MemberRow) -> Cell:
    """Return the strategy of a supervisor, or the generation of an agent or the instances of a pool; marked if new."""
    member, activity, now_ms = row.member, row.tree.measures.activity, row.tree.now_ms
    if isinstance(member, Supervisor):
        switched_ms = activity.switched_ms.get(member.id) if activity is not None else None
        fresh = switched_ms is not None and now_ms - switched_ms < SWAPPED_MS
        return Cell(("◇" if fresh else "") + mode_glyph(member.mode), "accent" if fresh else "muted")
    if mark := swap_mark(member, activity, now_ms):
        return Cell(mark, "accent")
    pool = row.tree.state.spec_of(member).pool
    if pool is not None:
        return Cell(f"{member.size}/{pool.max}", "accent" if member.size > pool.min else "faint")
    return Cell(f"g{member.generation}" if member.generation > 1 else "", "muted")


def _progress_of(row: MemberRow) -> Progress:
    return row.tree.measures.progress.get(row.member.id, Progress())


def _state_cell(row: MemberRow) -> Cell:
    tree, member = row.tree, row.member
    if isinstance(member, Agent):
        return state_of_agent(member, tree.counts)
    cell, progress = state_of_supervisor(member, tree.counts), _progress_of(row)
    if cell.tone == "idle" and progress.total and progress.ended_count == progress.total:
        return Cell("✕ failed", "error") if progress.failed == progress.total else Cell("✓ done", "done")
    return cell


def _now_cell(row: MemberRow) -> Cell:
    """Return the work of an agent, fitted into the width of NOW; of a supervisor its progress, or its problem."""
    tree, member = row.tree, row.member
    if isinstance(member, Supervisor):
        now = _folded_team_now if row.line.is_folded_team else _supervisor_now
        return now(tree, member, _progress_of(row))
    return now_of_agent(member, tree.counts, tree.now_ms, width=tree.now_width, beside_state=True)


def _supervisor_now(tree: _RowContext, supervisor: Supervisor, progress: Progress) -> Cell:
    cell = now_of_supervisor(tree.state, supervisor, tree.counts)
    if (cell.tone != "muted" and not tree.counts.busy_of[supervisor.id]) or not progress.total:
        return cell
    urgent = urgent_words(tree.counts.kinds_of(supervisor.id), tree.now_width - _MIN_PROGRESS_WIDTH)
    tone = "done" if progress.ended_count == progress.total else "busy"
    percent = f" {progress.percent_text:>4}"
    room = tree.now_width - len(percent)
    mode = f"  {supervisor.mode}" if tree.measures.lane and room - len(supervisor.mode) - 2 >= 8 else ""
    more = Span(mode, "muted") if urgent is None else Span(f"  {urgent[0]}", urgent[1])
    bar = meter(progress.share, max(3, min(24, room - cell_len(more.text))), tone=tone)
    return Cell(progress.percent_text, spans=(*bar, Span(percent, "strong"), more))


def _folded_team_now(tree: _RowContext, supervisor: Supervisor, progress: Progress) -> Cell:
    """Return a bar of the members' states, and the most urgent of them, else the progress."""
    kinds, members = tree.counts.kinds_of(supervisor.id), tree.counts.agents_of[supervisor.id]
    least = min(members, MIN_BAR_WIDTH)
    width = tree.now_width - least - GAP_BEHIND_BAR
    cell = now_of_supervisor(tree.state, supervisor, tree.counts)
    text, tone = urgent_words(kinds, width) or ((cell.text, cell.tone) if cell.tone != "muted" else ("", ""))
    if not text and progress.total:
        text, tone = progress.percent_text, "strong"
    room = tree.now_width - len(text) - GAP_BEHIND_BAR
    bar = bar_of_kinds(kinds, max(least, min(members, MAX_BAR_WIDTH, room)))
    return Cell(text, tone, spans=(*bar, Span(" " * GAP_BEHIND_BAR), Span(text, tone)))


def _queue_cell(row: MemberRow) -> Cell:
    waiting = row.tree.counts.waiting_of[row.member.id]
    return Cell(f"+{waiting:,}" if waiting else "", "waiting")


def _load_cell(row: MemberRow) -> Cell:
    meters, member = row.tree.measures.meters, row.member
    if meters is None:
        return EMPTY
    silent_ms = silent_since_ms(member, row.tree.counts) if isinstance(member, Agent) else None
    return Cell("", spans=meters.spans_of(member.id, silent_since_ms=silent_ms))


def _time_cell(row: MemberRow) -> Cell:
    """Return the median time of an agent, or the mean hand-over time of a sub-supervisor, a warning in a deep team."""
    member = row.member
    if isinstance(member, Agent):
        return Cell(duration(median(member.at_work_ms), max_width=8), "muted")
    depth, took_ms = depth_of(row.tree.state, member), mean_ms_of(member)
    took = "" if took_ms is None else duration(took_ms)
    if depth > MAX_UNWARNED_DEPTH:
        return Cell(f"L{depth} {took}".rstrip(), "warn")
    return Cell(took, "muted") if took and depth > 1 else EMPTY


def _order_of(title: str) -> Order[agents.AgentRank]:
    """Return the order of agents that a heading of their list chooses, named by that heading."""
    return Order(title, agents.ORDERS[agents.HEADS[title]])


COLUMNS: tuple[Column[MemberRow, agents.AgentRank], ...] = (
    Column("AGENT", MIN_NAME_WIDTH, grow=NAMES_FIRST, named=True, cell=_name_cell, order=_order_of("AGENT"),
           meaning="├ └ under which supervisor, + a team folded to one row; beside the name → ⇉ ↳ ⇄ a strategy, "
                   "▸ one of your own, g2 a generation, 2/4 a pool"),
    Column("", 1, right=True, drop=6, cell=_tag_cell),
    Column("STATE", 11, calm=True, meaning=STATE_MEANING, cell=_state_cell, order=_order_of("STATE")),
    Column("LAST 60 s", METER, drop=4, calm=True, cell=_load_cell,
           meaning="how busy it was in the last minute; ◆ swap, ◇ strategy, ✕ failure, ‖ pause, ⚑ question"),
    Column("NOW", MIN_NOW_WIDTH, grow=1, max_width=_MAX_NOW_WIDTH, calm=True, cell=_now_cell,
           meaning="what it works on, or how much of its run is done; a dash where more tasks may come"),
    Column("QUEUE", 5, right=True, drop=9, cell=_queue_cell, order=_order_of("QUEUE"),  # the pane and NOW have it, too
           meaning="tasks that could begin and wait for this agent"),
    Column("DONE", 5, right=True, meaning="attempts that ended well", order=_order_of("DONE"),
           cell=lambda row: Cell(count(row.member.done), "" if row.member.done else "faint")),
    Column("FAIL", 4, right=True, drop=5, meaning="attempts that failed", order=_order_of("FAIL"),
           cell=lambda row: Cell(count(row.member.failed or None, "·"), "error" if row.member.failed else "faint")),
    Column("P50", 8, right=True, drop=7, cell=_time_cell, order=_order_of("P50"),
           meaning=f"{P50_MEANING}. Of a team under another: how long, on average, a request took on its way down and "
                   "its output on its way up, without the work; from the fourth level on with the level"),
    Column("TOKENS", 9, right=True, drop=8, meaning=TOKENS_MEANING, order=_order_of("TOKENS"),
           cell=lambda row: tokens_cell(row.member.usage)),
    Column("COST", 8, right=True, drop=1, meaning=COST_MEANING, order=_order_of("COST"),
           cell=lambda row: Cell(money(row.member.usage), "" if isinstance(row.member, Supervisor) else "muted")),
)  # fmt: skip
ORDERS = orders_of(COLUMNS, agents.DECLARED)
"""The orders of the members of a supervisor, by the heading that chooses them."""
HEADS = {order: order for order in ORDERS}


def network(
    state: State,
    counts: Digest,
    live: Mapping[str, str],
    *,
    now_ms: int,
    folding: Folding,
    needle: str = "",
    root: str | None = None,
    measures: Measures = Measures(),
) -> Listing:
    """Return the tree of supervisors and agents, or the part below one supervisor, `root`.

    Keys are their ids; `fold:<supervisor id>` is the row of a supervisor's folded agents.
    """
    metered = is_metered(state)
    row_filter = parse_partial_filter(needle)
    fits = len(state.agents) + len(state.supervisors) <= folding.room
    lines: dict[str, _Line] = {}
    build = _TreeBuilder(
        state,
        counts,
        lines,
        None if fits or row_filter else folding,
        frozenset() if row_filter else folding.teams - {root},
        now_ms,
        measures.sorting,
        _FilteredMembers(state, row_filter, counts),
        makers(state) if measures.sorting == DECLARED else {},
    )
    roots = state.roots if root is None else [state.supervisors[root]] if root in state.supervisors else []
    for root_id in build.passing.select([root.id for root in roots]):
        _add_branch(build, state.supervisors[root_id], ("", ""))
    if root is not None:
        lines.pop(root, None)
    done = sum(root.done for root in roots)
    max_waiting = max(counts.waiting_of.values(), default=0)
    shape = partial(_columns, lines, measures, metered=metered, done=done, waiting=max_waiting)
    columns, rooms = _fit(shape(_widest_tag(state)), measures)
    if rooms["AGENT"] < columns[0].max_width:  # drop the column of generations if that leaves every name whole
        bare = _fit(shape(0), measures)
        columns, rooms = bare if bare[1]["AGENT"] == bare[0][0].max_width else (columns, rooms)
    rows = _RowContext(state, counts, live, now_ms, measures, rooms["NOW"])

    def make(key: str) -> tuple[Cell, ...]:
        line, member = lines[key], state.agents.get(key) or state.supervisors.get(key)
        if member is not None:
            return make_cells(columns, MemberRow(rows, member, line))
        if not line.folded:
            return (Cell(line.name, "muted", line.lead),)
        hint = ". shows them" if rows.now_width >= len(". shows them") else ". shows"
        cells = {"AGENT": Cell(f"+{line.folded:,} idle", "muted", line.lead)}
        cells |= {"STATE": Cell(ACTIVITY["idle"].text, "idle"), "NOW": Cell(hint, "faint")}
        return tuple(cells.get(column.title, EMPTY) for column in columns)

    return Listing(
        columns=columns,
        keys=list(lines),
        make=make,
        empty=() if state.supervisors and not row_filter else empty_message(needle, "", *_NO_TEAM),
        total=len(state.agents) + len(state.supervisors),
        first=next((key for key in lines if key in build.passing.own), None),
    )


def _fit(
    columns: tuple[Column[MemberRow, agents.AgentRank], ...], measures: Measures
) -> tuple[tuple[Column[MemberRow, agents.AgentRank], ...], dict[str, int]]:
    return columns, {columns[place].title: room for place, room in fit_columns(columns, measures.width - 2, GAP)}


def lane_cells(state: State, width: int) -> int:
    """Return the cells of a lane in a tree of `width`; fewer beside columns of usage."""
    return WIDE_LANE if width >= (180 if is_metered(state) else 120) else LANE


def _columns(
    lines: Mapping[str, _Line], measures: Measures, tag: int, *, metered: bool, done: int, waiting: int
) -> tuple[Column[MemberRow, agents.AgentRank], ...]:
    widest = max((len(line.lead) + len(line.name) for line in lines.values()), default=0)
    lane, width = measures.lane, measures.width
    least = 14 if width < NARROW else 18  # not at the cost of the meter
    share, gives = (
        max(MIN_NAME_WIDTH, width // 4),
        EXTRA_NAME_WIDTH if width < METER_MIN_WIDTH else least - MIN_NOW_WIDTH,
    )
    named = max(MAX_NAME_WIDTH, share)
    name = min(max(widest, MIN_NAME_WIDTH), MAX_NAME_WIDTH, share + min(EXTRA_NAME_WIDTH, gives))
    least_width = {"": tag, "LAST 60 s": lane or METER}
    least_width |= {"QUEUE": max(5, 1 + len(count(waiting))), "DONE": max(5, len(count(done)))}
    now_width = LANE_NOW_WIDTH if lane else max(MIN_NOW_WIDTH, least - max(0, name - share))
    widths = {title: (cells, cells) for title, cells in least_width.items()}
    widths |= {"AGENT": (name, max(name, min(widest, named))), "NOW": (now_width, _MAX_NOW_WIDTH)}
    is_shown = {
        "FAIL": not metered or width >= FAIL_MIN_WIDTH,
        "P50": lane or measures.middle,
        "TOKENS": metered and width >= TOKENS_MIN_WIDTH,
        "COST": metered,
    }
    columns = visible_columns(COLUMNS, widths, without={title for title, shown in is_shown.items() if not shown})
    if not lane:
        return columns
    place = [column.title for column in columns].index("LAST 60 s")  # a lane stands behind NOW and QUEUE
    meter_column, now, queue = columns[place : place + 3]
    lane_column = replace(meter_column, heading=lane_heading(lane), drop=0)
    return (*columns[:place], now, queue, lane_column, *columns[place + 3 :])


def _widest_tag(state: State) -> int:
    """Return the cells of the longest tag, such as `◆g9` or `2/4`, whether `◆` is shown or not."""
    pools = (pool.max for agent_id in state.pools if (pool := state.spec_of(state.agents[agent_id]).pool) is not None)
    generation = max([agent.generation for agent in state.agents.values()], default=0)
    return max(2 + len(str(generation)), 1 + 2 * len(str(max(pools, default=0))))


class _TreeBuilder(NamedTuple):
    state: State
    counts: Digest
    lines: dict[str, _Line]
    folding: Folding | None
    teams: Set[str]
    """Folded teams."""
    now_ms: int
    sorting: Sorting
    passing: "_FilteredMembers"
    makers: Mapping[str, str]
    """The maker of each made agent, below which it stands; empty if agents are sorted."""


def _add_branch(build: _TreeBuilder, supervisor: Supervisor, leads: tuple[str, str]) -> None:
    """Add a supervisor and everything below it that passes the filter."""
    state, lines = build.state, build.lines
    own_lead, below = leads
    if supervisor.id in build.teams and supervisor.members:
        lines[supervisor.id] = _Line(f"{own_lead[:-1]}{FOLDED}", supervisor.name, is_folded_team=True)
        return
    lines[supervisor.id] = _Line(own_lead, supervisor.name)
    members, folded = _members(state, supervisor, build.folding, build.counts, build.now_ms)
    left = build.passing.select(members)
    shown_makers = {*left} & {*build.makers.values()}
    made_by: dict[str, list[str]] = {}
    for member in _sort_members(build, left):
        maker_id = build.makers.get(member)
        made_by.setdefault(maker_id if maker_id is not None and maker_id in shown_makers else supervisor.id, []).append(
            member
        )
    _add_members(build, supervisor.id, made_by, below, has_more=bool(folded))
    if folded:
        lines[f"fold:{supervisor.id}"] = _Line(below + "└ ", "", folded)


def _add_members(
    build: _TreeBuilder, above: str, made_by: Mapping[str, Sequence[str]], below: str, *, has_more: bool = False
) -> None:
    """Add the members below a supervisor, or the agents that an agent made, each with those that it made."""
    state, members = build.state, made_by.get(above, ())
    for index, member in enumerate(members):
        is_last = index == len(members) - 1 and not has_more
        lead, deeper = below + ("└ " if is_last else "├ "), below + ("  " if is_last else "│ ")
        if (lower := state.supervisors.get(member)) is not None:
            _add_branch(build, lower, (lead, deeper))
        else:
            build.lines[member] = _Line(lead, name_with_role(state, state.agents[member]))
            _add_members(build, member, made_by, deeper)


def _sort_members(build: _TreeBuilder, members: list[str]) -> list[str]:
    """Return members in the chosen order: teams first, as declared, then agents, sorted."""
    order, is_turned = build.sorting
    if order == "declared":
        return members
    agents_by_id, rank = build.state.agents, ORDERS[order]
    own = [member_id for member_id in members if member_id in agents_by_id]
    own.sort(key=lambda member_id: rank(agents_by_id[member_id], build.counts), reverse=is_turned)
    return [*(member_id for member_id in members if member_id not in agents_by_id), *own]


class _FilteredMembers:
    """The members that pass a filter, with all supervisors above them."""

    def __init__(self, state: State, row_filter: Filter, counts: Digest) -> None:
        self._all = not row_filter
        own = filter_agents(state, state.agents.values(), row_filter, counts) if row_filter else []
        supervisors: list[Supervisor] = []
        if row_filter:
            every = state.supervisors.values()
            supervisors = row_filter.apply(every, lambda supervisor: SupervisorSubject(state, supervisor))
        self.own = {agent.id for agent in own} | {supervisor.id for supervisor in supervisors}
        """Members that pass the filter themselves."""
        self._ids = set(self.own)
        for supervisor_id in {agent.supervisor_id for agent in own} | {supervisor.id for supervisor in supervisors}:
            self._ids.update(ancestor.id for ancestor in lineage_of(state, state.supervisors[supervisor_id]))

    def select(self, members: list[str]) -> list[str]:
        return members if self._all else [member for member in members if member in self._ids]


def _members(
    state: State, supervisor: Supervisor, folding: Folding | None, counts: Digest, now_ms: int
) -> tuple[list[str], int]:
    """Return the visible members, in declared order, and the number of folded ones."""
    members = [member for member in supervisor.members if member in state.agents or member in state.supervisors]
    if folding is None or supervisor.id in folding.opened:
        return members, 0
    active = folding.active_ms or {}
    visible, quiet = [], 0
    for member in members:
        agent = state.agents.get(member)
        at_rest = agent is not None and counts.kind_of(agent) == "idle"
        if at_rest and now_ms - active.get(member, -MIN_SHOWN_MS) >= MIN_SHOWN_MS:
            quiet += 1
            if quiet > MAX_IDLE_SHOWN:
                continue
        visible.append(member)
    folded = len(members) - len(visible)
    return (members, 0) if folded == 1 else (visible, folded)


def mode_glyph(mode: str) -> str:
    """Return the sign of a strategy."""
    return next((glyph for name, glyph in _MODES.items() if mode.startswith(name)), "▸")


def depth_facts(state: State) -> list[Cell]:
    """Return a warning with the levels of a deep team and their hand-over times; none for a flat team."""
    team_levels = levels_of(state)
    if len(team_levels) <= MAX_UNWARNED_DEPTH:
        return []
    measured = [level for level in team_levels if level.depth > 1 and level.mean_ms is not None]
    costs = " · ".join(f"L{level.depth} {duration(level.mean_ms)}" for level in measured)
    return [Cell(f"{len(team_levels)} levels, each hands over: {costs or 'not measured yet'}", "warn")]
