"""The network as a tree of rows: structure on the left, the same columns on the right.

`network` only decides which rows exist; their cells are made when they are drawn.
"""

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from rich.cells import cell_len

from dashboard.views import agents
from dashboard.views.drawing.lines import Span, cut_path
from dashboard.views.drawing.plots import meter
from dashboard.views.drawing.rows import EMPTY, Cell, Column, Listing, empty_message, fit_columns
from dashboard.views.drawing.sorting import Sorting
from dashboard.views.facts.agent import now_in_brief, state_of_agent
from dashboard.views.facts.supervisor import now_of_supervisor, state_of_supervisor
from dashboard.views.measures.activity import Activity
from dashboard.views.measures.digest import Digest
from dashboard.views.measures.meters import METER, Meters, lane_heading
from dashboard.views.measures.progress import Progress
from dashboard.views.measures.usage import is_metered
from dashboard.views.words.amounts import count, duration, median, money, tokens
from dashboard.views.words.filters import Filter, parse_partial_filter
from dashboard.views.words.help import COLUMNS
from dashboard.views.words.subjects import SupervisorSubject, filter_agents
from engine.core.queries.team.tree import MAX_UNWARNED_DEPTH, depth_of, levels_of, lineage_of, mean_ms_of
from engine.core.state import Agent, AgentStatus, State, Supervisor

GAP = 1
"""Cells between two columns."""
MAX_IDLE_SHOWN = 3
"""Idle agents of a supervisor that stay visible when the others are folded."""
MIN_SHOWN_MS = 10_000
"""Time for which an agent stays visible after its work, so that lines do not jump, in milliseconds."""
NARROW = 76
"""Width below which NOW is narrower, so that the meter of the last minute stays."""
SWAPPED_MS = 60_000
"""Time for which a swap or strategy switch is marked, in milliseconds."""
MIN_NAME_WIDTH, MAX_NAME_WIDTH = 14, 40
EXTRA_NAME_WIDTH = 6
"""Cells that long names take from NOW beyond their share, because cut names look alike."""
MIN_NOW_WIDTH, METER_MIN_WIDTH = 10, 62
"""Minimum width of NOW, and the minimum width of a tree with the meter of the last minute beside it."""
NAMES_FIRST = 99
"""Share of the surplus width for names, until none is cut; that of NOW is 1."""
LANE, WIDE_LANE = 24, 40
"""Cells of a lane."""
_NO_TEAM = ("no team here yet", "start one with:  quarterdeck up TEAM   or look at:  quarterdeck demo")
_MIN_PIECE_WIDTH = 8
"""Minimum cells for a part of NOW, including its gap."""
_MODES = {"sequential": "→", "parallel": "⇉", "map": "⇉", "delegate": "↳", "iterative": "⇄", "hierarchical": "⇄"}
_AGENT = (
    "├ └ under which supervisor; beside the name → ⇉ ↳ ⇄ a strategy, ▸ one of your own, g2 a generation, 2/4 a pool"
)
_P50 = (
    f"{COLUMNS['P50']}. Of a team under another: how long, on average, a request took on its way down and its output "
    "on its way up, without the work; from the fourth level on with the level"
)
_HEADS = ("AGENT", "STATE", "QUEUE", "DONE", "FAIL", "P50", "TOKENS", "COST")
ORDERS = {"declared": agents.ORDERS["declared"], **{head: agents.ORDERS[agents.HEADS[head]] for head in _HEADS}}
"""The orders of the members of a supervisor, by the heading that chooses them."""
HEADS = {order: order for order in ORDERS}
DECLARED = Sorting("declared")


@dataclass(frozen=True, slots=True)
class Folding:
    """Which idle agents may be folded away."""

    room: int
    """Available lines; nothing is folded while the whole tree fits."""
    opened: Set[str] = frozenset()
    """Supervisors whose idle agents stay visible."""
    active_ms: Mapping[str, int] | None = None
    """Time of each agent's last work, in UTC milliseconds."""


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


class _RowContext(NamedTuple):
    """The data for the cells of a row."""

    state: State
    counts: Digest
    live: Mapping[str, str]
    now_ms: int
    measures: Measures
    metered: bool
    now_width: int


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
    fold = not row_filter and len(state.agents) + len(state.supervisors) > folding.room
    lines: dict[str, _Line] = {}
    build = _TreeBuilder(
        state, counts, lines, folding if fold else None, now_ms, measures.sorting, _FilteredMembers(state, row_filter)
    )
    roots = state.roots if root is None else [state.supervisors[root]] if root in state.supervisors else []
    for root_id in build.passing.select([root.id for root in roots]):
        _add_branch(build, state.supervisors[root_id], ("", ""))
    if root is not None:
        lines.pop(root, None)
    done = sum(root.done for root in roots)
    max_waiting = max(counts.waiting_of.values(), default=0)
    shape = partial(_columns, lines, measures, metered=metered, working=counts.working, done=done, waiting=max_waiting)
    columns, rooms = _fit(shape(_widest_tag(state)), measures)
    if rooms["AGENT"] < columns[0].max_width:  # drop the column of generations if that leaves every name whole
        bare = _fit(shape(0), measures)
        columns, rooms = bare if bare[1]["AGENT"] == bare[0][0].max_width else (columns, rooms)
    rows = _RowContext(state, counts, live, now_ms, measures, metered, rooms["NOW"])

    def make(key: str) -> tuple[Cell, ...]:
        line = lines[key]
        if line.folded:
            return _folded_cells(rows, line)
        if (agent := state.agents.get(key)) is not None:
            return _agent_cells(rows, agent, line)
        if (supervisor := state.supervisors.get(key)) is not None:
            return _supervisor_cells(rows, supervisor, line)
        return (Cell(line.name, "muted", line.lead),)

    return Listing(
        columns=columns,
        keys=list(lines),
        make=make,
        empty=() if state.supervisors and not row_filter else empty_message(needle, "", *_NO_TEAM),
        total=len(state.agents) + len(state.supervisors),
        first=next((key for key in lines if key in build.passing.own), None),
    )


def _fit(columns: tuple[Column, ...], measures: Measures) -> tuple[tuple[Column, ...], dict[str, int]]:
    return columns, {columns[place].title: room for place, room in fit_columns(columns, measures.width - 2, GAP)}


def lane_cells(state: State, width: int) -> int:
    """Return the cells of a lane in a tree of `width`; fewer beside columns of usage."""
    return WIDE_LANE if width >= (180 if is_metered(state) else 120) else LANE


def _columns(
    lines: Mapping[str, _Line], measures: Measures, tag: int, *, metered: bool, working: bool, done: int, waiting: int
) -> tuple[Column, ...]:
    widest = max((len(line.lead) + len(line.name) for line in lines.values()), default=0)
    lane = measures.lane
    last = Column(lane_heading(lane), lane, calm=True) if lane else Column("LAST 60 s", METER, drop=4, calm=True)
    least = 12 if measures.width < NARROW else 14 if metered else 18  # not at the cost of the meter
    least -= not working  # STATE is wider
    share, gives = (
        max(MIN_NAME_WIDTH, measures.width // 4),
        EXTRA_NAME_WIDTH if measures.width < METER_MIN_WIDTH else least - MIN_NOW_WIDTH,
    )
    named = max(MAX_NAME_WIDTH, share)
    name = min(max(widest, MIN_NAME_WIDTH), MAX_NAME_WIDTH, share + min(EXTRA_NAME_WIDTH, gives))
    now = Column("NOW", max(MIN_NOW_WIDTH, least - max(0, name - share)), grow=1, max_width=84, calm=True)
    queue = Column("QUEUE", max(5, 1 + len(count(waiting))), right=True, drop=9)  # the pane and NOW have it, too
    state = Column("STATE", 10 if working else 11, calm=True)
    return (
        Column("AGENT", name, grow=NAMES_FIRST, max_width=max(name, min(widest, named)), named=True, means=_AGENT),
        Column("", tag, right=True, drop=6),
        *((state, now, queue, last) if lane else (state, last, now, queue)),
        Column("DONE", max(5, len(count(done))), right=True),
        Column("FAIL", 4, right=True, drop=2 if metered else 1),
        *((Column("P50", 8, right=True, drop=7, means=_P50),) if lane or measures.middle else ()),
        *((Column("TOKENS", 9, right=True, drop=8),) if metered and measures.width >= 90 else ()),
        *((Column("COST", 8, right=True, drop=1),) if metered else ()),
    )


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
    now_ms: int
    sorting: Sorting
    passing: "_FilteredMembers"


def _add_branch(build: _TreeBuilder, supervisor: Supervisor, leads: tuple[str, str]) -> None:
    """Add a supervisor and everything below it that passes the filter."""
    state, lines = build.state, build.lines
    own_lead, below = leads
    lines[supervisor.id] = _Line(own_lead, supervisor.name)
    members, folded = _members(state, supervisor, build.folding, build.now_ms)
    left = build.passing.select(members)
    inner, end = below + "├ ", below + "└ "
    for place, member in enumerate(_sort_members(build, left)):
        last = place == len(left) - 1 and not folded
        lead = end if last else inner
        if (lower := state.supervisors.get(member)) is not None:
            _add_branch(build, lower, (lead, below + ("  " if last else "│ ")))
        else:
            lines[member] = _Line(lead, state.agents[member].name)
    if folded:
        lines[f"fold:{supervisor.id}"] = _Line(end, "", folded)


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

    def __init__(self, state: State, row_filter: Filter) -> None:
        self._all = not row_filter
        own = filter_agents(state, state.agents.values(), row_filter) if row_filter else []
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


def _members(state: State, supervisor: Supervisor, folding: Folding | None, now_ms: int) -> tuple[list[str], int]:
    """Return the visible members, in declared order, and the number of folded ones."""
    members = [member for member in supervisor.members if member in state.agents or member in state.supervisors]
    if folding is None or supervisor.id in folding.opened:
        return members, 0
    active = folding.active_ms or {}
    visible, quiet = [], 0
    for member in members:
        agent = state.agents.get(member)
        at_rest = agent is not None and agent.status is AgentStatus.IDLE
        if at_rest and now_ms - active.get(member, -MIN_SHOWN_MS) >= MIN_SHOWN_MS:
            quiet += 1
            if quiet > MAX_IDLE_SHOWN:
                continue
        visible.append(member)
    folded = len(members) - len(visible)
    return (members, 0) if folded == 1 else (visible, folded)


def _folded_cells(rows: _RowContext, line: _Line) -> tuple[Cell, ...]:
    name = Cell(f"+{line.folded:,} idle", "muted", line.lead)
    now = Cell(". shows them" if rows.now_width >= len(". shows them") else ". shows", "faint")
    return (name, EMPTY, Cell("○ idle", "idle"), *((now,) if rows.measures.lane else (EMPTY, now)))


def _agent_cells(rows: _RowContext, agent: Agent, line: _Line) -> tuple[Cell, ...]:
    waiting = rows.counts.waiting_of[agent.id]
    resting = agent.status is AgentStatus.IDLE and not waiting
    now, state = _now(rows, agent), state_of_agent(rows.state, agent, working=rows.counts.working)
    return _cells(
        rows,
        agent.id,
        (Cell(agent.name, "muted" if resting else "", line.lead), _generation(rows, agent), state),
        now,
        Cell(f"+{waiting:,}" if waiting else "", "waiting"),
        (
            Cell(count(agent.done), "" if agent.done else "faint"),
            Cell(count(agent.failed) if agent.failed else "·", "error" if agent.failed else "faint"),
        ),
        Cell(duration(median(agent.at_work_ms), max_width=8), "muted"),
        (Cell(tokens(agent.usage), "muted"), Cell(money(agent.usage), "muted")),
    )


def _cells(
    rows: _RowContext,
    key: str,
    begin: tuple[Cell, ...],
    now: Cell,
    queue: Cell,
    sums: tuple[Cell, ...],
    middle: Cell,
    used: tuple[Cell, Cell],
) -> tuple[Cell, ...]:
    """Put the cells of a row in the order of its columns."""
    measures = rows.measures
    spans = measures.meters.spans_of(key) if measures.meters is not None else ()
    last = Cell("", spans=spans)
    spent = (used if measures.width >= 90 else used[1:]) if rows.metered else ()
    if measures.lane:
        return (*begin, now, queue, last, *sums, middle, *spent)
    return (*begin, last, now, queue, *sums, *((middle,) if measures.middle else ()), *spent)


def _now(rows: _RowContext, agent: Agent) -> Cell:
    """Return the current work of an agent, fitted into the width of NOW."""
    cell = now_in_brief(rows.state, agent, rows.counts, rows.live, rows.now_ms)
    if not agent.running or agent.error is not None:
        return cell
    text, width = cell.text, rows.now_width
    while cell_len(text) > width and width - cell_len(head := text.rpartition("  ")[0]) < _MIN_PIECE_WIDTH and head:
        text = head  # a part of two letters is useless
    return Cell(text if "  " in text else cut_path(text, width), cell.tone)


def _generation(rows: _RowContext, agent: Agent) -> Cell:
    """Return the generation of an agent, marked after a swap, or the instances of a pool."""
    activity = rows.measures.activity
    swapped = activity.swapped_ms.get(agent.id) if activity is not None else None
    if swapped is not None and rows.now_ms - swapped < SWAPPED_MS:
        return Cell(f"◆g{agent.generation}", "accent")
    pool = rows.state.spec_of(agent).pool
    if pool is not None:
        return Cell(f"{agent.size}/{pool.max}", "accent" if agent.size > pool.min else "faint")
    return Cell(f"g{agent.generation}" if agent.generation > 1 else "", "muted")


def _supervisor_cells(rows: _RowContext, supervisor: Supervisor, line: _Line) -> tuple[Cell, ...]:
    counts, state = rows.counts, rows.state
    done, failed = supervisor.done, supervisor.failed
    waiting = counts.waiting_of[supervisor.id]
    progress = rows.measures.progress.get(supervisor.id, Progress())
    return _cells(
        rows,
        supervisor.id,
        (Cell(supervisor.name, "strong", line.lead), _mode(rows, supervisor), _state_of(rows, supervisor, progress)),
        _progress(rows, supervisor, progress),
        Cell(f"+{waiting:,}" if waiting else "", "waiting"),
        (
            Cell(count(done), "" if done else "faint"),
            Cell(count(failed) if failed else "·", "error" if failed else "faint"),
        ),
        _hand_over(state, supervisor),
        (Cell(tokens(supervisor.usage), "muted"), Cell(money(supervisor.usage))),
    )


def mode_glyph(mode: str) -> str:
    """Return the sign of a strategy."""
    return next((glyph for name, glyph in _MODES.items() if mode.startswith(name)), "▸")


def _mode(rows: _RowContext, supervisor: Supervisor) -> Cell:
    activity = rows.measures.activity
    switched = activity.switched_ms.get(supervisor.id) if activity is not None else None
    fresh = switched is not None and rows.now_ms - switched < SWAPPED_MS
    return Cell(("◇" if fresh else "") + mode_glyph(supervisor.mode), "accent" if fresh else "muted")


def _state_of(rows: _RowContext, supervisor: Supervisor, progress: Progress) -> Cell:
    cell = state_of_supervisor(supervisor, rows.counts)
    if cell.tone == "idle" and progress.total and progress.ended_count == progress.total:
        return Cell("✕ failed", "error") if progress.failed == progress.total else Cell("✓ done", "done")
    return cell


def _progress(rows: _RowContext, supervisor: Supervisor, progress: Progress) -> Cell:
    """Return the progress of a supervisor's open work as a meter, or its problem."""
    cell = now_of_supervisor(rows.state, supervisor, rows.counts)
    if cell.tone in ("error", "paused") or not progress.total:
        return cell
    tone = "done" if progress.ended_count == progress.total else "busy"
    percent = f" {progress.percent_text:>4}"
    room = rows.now_width - len(percent)
    mode = f"  {supervisor.mode}" if rows.measures.lane and room - len(supervisor.mode) - 2 >= 8 else ""
    bar = meter(progress.share, max(3, min(24, room - len(mode))), tone=tone)
    return Cell(progress.percent_text, spans=(*bar, Span(percent, "strong"), Span(mode, "muted")))


def _hand_over(state: State, supervisor: Supervisor) -> Cell:
    """Return the mean hand-over time of a sub-supervisor, with a warning in a deep team."""
    depth, took_ms = depth_of(state, supervisor), mean_ms_of(supervisor)
    took = "" if took_ms is None else duration(took_ms)
    if depth > MAX_UNWARNED_DEPTH:
        return Cell(f"L{depth} {took}".rstrip(), "warn")
    return Cell(took, "muted") if took and depth > 1 else EMPTY


def depth_facts(state: State) -> list[Cell]:
    """Return a warning with the levels of a deep team and their hand-over times; none for a flat team."""
    team_levels = levels_of(state)
    if len(team_levels) <= MAX_UNWARNED_DEPTH:
        return []
    measured = [level for level in team_levels if level.depth > 1 and level.mean_ms is not None]
    costs = " · ".join(f"L{level.depth} {duration(level.mean_ms)}" for level in measured)
    return [Cell(f"{len(team_levels)} levels, each hands over: {costs or 'not measured yet'}", "warn")]
