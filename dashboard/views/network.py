"""The network as a tree of rows: structure on the left, the same columns on the right.

`network` only decides which lines there are; their cells are made when a line is drawn.
"""

from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import NamedTuple

from dashboard.views.amounts import count, duration, median
from dashboard.views.digest import Digest
from dashboard.views.filters import Filter, filter_typed
from dashboard.views.rows import EMPTY, Cell, Column, Listing, nothing
from dashboard.views.subjects import OfAgent, OfSupervisor
from dashboard.views.usage import USED, is_metered, used
from dashboard.views.work import now_of_agent, now_of_supervisor, state_of_agent, state_of_supervisor
from engine.core.queries.tree import SHALLOW, above_of, depth_of, levels, mean_ms_of
from engine.core.state import Agent, State, Supervisor

IDLE_SHOWN = 3
"""Idle agents of a supervisor that are shown where the rest is folded."""
STAYS_MS = 10_000
"""An agent that was at work stays on the screen for this long, so that lines do not jump."""
NAME_LEAST, NAME_MOST = 18, 40
_NO_TEAM = ("no team here yet", "start one with:  quarterdeck up TEAM   or look at:  quarterdeck demo")


@dataclass(frozen=True, slots=True)
class Folding:
    """Which idle agents may be folded away."""

    room: int
    """Lines on the screen; nothing is folded while the whole tree fits."""
    opened: Set[str] = frozenset()
    """Supervisors whose idle agents are to be shown."""
    active_ms: Mapping[str, int] | None = None
    """When each agent was last seen at work."""


class _Line(NamedTuple):
    lead: str
    name: str
    folded: int = 0


def network(
    state: State, counts: Digest, live: Mapping[str, str], *, now_ms: int, folding: Folding, needle: str = ""
) -> Listing:
    """Return the tree of supervisors and agents.

    Keys are the ids of both; `fold:<supervisor id>` is the line that stands for its other idle agents.
    """
    metered = is_metered(state)
    wanted = filter_typed(needle)
    fold = not wanted and len(state.agents) + len(state.supervisors) > folding.room
    lines: dict[str, _Line] = {}
    found = _Passing(state, wanted)
    for root in (root for root in state.roots if found.has(root.id)):
        _branch(state, root, ("", ""), lines, folding if fold else None, now_ms=now_ms, found=found)

    def make(key: str) -> tuple[Cell, ...]:
        line = lines[key]
        if line.folded:
            return (
                Cell(f"+{line.folded:,} idle", "muted", line.lead),
                EMPTY,
                Cell("○", "idle"),
                Cell("space shows them", "faint"),
            )
        if (agent := state.agents.get(key)) is not None:
            return _agent_cells(state, agent, line, counts, live, now_ms) + (used(agent.usage) if metered else ())
        if (supervisor := state.supervisors.get(key)) is not None:
            return _supervisor_cells(state, supervisor, line, counts) + (used(supervisor.usage) if metered else ())
        return (Cell(line.name, "muted", line.lead),)

    return Listing(
        columns=_columns(lines, metered=metered),
        keys=list(lines),
        make=make,
        empty=() if state.supervisors and not wanted else nothing(needle, "", *_NO_TEAM),
        total=len(state.agents) + len(state.supervisors),
    )


def _columns(lines: Mapping[str, _Line], *, metered: bool) -> tuple[Column, ...]:
    widest = max((len(line.lead) + len(line.name) for line in lines.values()), default=0)
    name = min(max(widest, NAME_LEAST), NAME_MOST)
    return (
        Column("AGENT", name),
        Column("", 12, drop=2),
        Column("STATE", 11),
        Column("NOW", 26 if metered else 16, grow=1, most=84, calm=True),
        Column("DONE", 7, right=True),
        Column("ERR", 5, right=True, drop=2 if metered else 1),
        Column("P50", 10, right=True, drop=4),
        *(USED if metered else ()),
    )


def _branch(
    state: State,
    supervisor: Supervisor,
    leads: tuple[str, str],
    lines: dict[str, _Line],
    folding: Folding | None,
    *,
    now_ms: int,
    found: "_Passing",
) -> None:
    """Add a supervisor with what is below it, as far as the filter leaves it."""
    own_lead, below = leads
    lines[supervisor.id] = _Line(own_lead, supervisor.name)
    shown, folded = _members(state, supervisor, folding, now_ms)
    left = [member for member in shown if found.has(member)]
    inner, end = below + "├─ ", below + "└─ "
    for place, member in enumerate(left):
        last = place == len(left) - 1 and not folded
        lead = end if last else inner
        if (lower := state.supervisors.get(member)) is not None:
            deeper = (lead, below + ("   " if last else "│  "))
            _branch(state, lower, deeper, lines, folding, now_ms=now_ms, found=found)
        else:
            lines[member] = _Line(lead, state.agents[member].name)
    if folded:
        lines[f"fold:{supervisor.id}"] = _Line(end, "", folded)


class _Passing:
    """Which members a filter leaves: those that pass it, and each supervisor above one that does."""

    def __init__(self, state: State, wanted: Filter) -> None:
        self._all = not wanted
        agents = wanted.of(state.agents.values(), lambda agent: OfAgent(state, agent)) if wanted else []
        supervisors = wanted.of(state.supervisors.values(), lambda one: OfSupervisor(state, one)) if wanted else []
        self._ids = {agent.id for agent in agents} | {supervisor.id for supervisor in supervisors}
        for above in {agent.supervisor_id for agent in agents} | {one.id for one in supervisors}:
            self._ids.update(one.id for one in above_of(state, state.supervisors[above]))

    def has(self, member: str) -> bool:
        return self._all or member in self._ids


def _members(state: State, supervisor: Supervisor, folding: Folding | None, now_ms: int) -> tuple[list[str], int]:
    """Return the members to show, in declared order, and how many idle ones are folded away."""
    members = [member for member in supervisor.members if member in state.agents or member in state.supervisors]
    if folding is None or supervisor.id in folding.opened:
        return members, 0
    active = folding.active_ms or {}
    shown, quiet = [], 0
    for member in members:
        agent = state.agents.get(member)
        at_rest = agent is not None and not (agent.running or agent.parked or agent.error or agent.paused)
        if at_rest and now_ms - active.get(member, -STAYS_MS) >= STAYS_MS:
            quiet += 1
            if quiet > IDLE_SHOWN:
                continue
        shown.append(member)
    folded = len(members) - len(shown)
    return (members, 0) if folded == 1 else (shown, folded)


def _agent_cells(
    state: State, agent: Agent, line: _Line, counts: Digest, live: Mapping[str, str], now_ms: int
) -> tuple[Cell, ...]:
    return (
        Cell(agent.name, "", line.lead),
        _generation(state, agent),
        state_of_agent(agent, working=counts.working),
        now_of_agent(state, agent, counts, live, now_ms),
        Cell(count(agent.done), "" if agent.done else "muted"),
        Cell(count(agent.failed), "warn" if agent.failed else "muted"),
        Cell(duration(median(agent.durations_ms)), "muted"),
    )


def _generation(state: State, agent: Agent) -> Cell:
    """Its generation, and of a pool how many instances it has of how many it may have."""
    pool = state.spec_of(agent).pool
    size = f" {agent.size} of {pool.min}..{pool.max}" if pool is not None else ""
    return Cell(f"g{agent.generation}{size}", "accent" if pool is not None and agent.size > pool.min else "muted")


def _supervisor_cells(state: State, supervisor: Supervisor, line: _Line, counts: Digest) -> tuple[Cell, ...]:
    failed = counts.failed_of[supervisor.id]
    return (
        Cell(supervisor.name, "strong", line.lead),
        Cell(supervisor.mode, "muted"),
        state_of_supervisor(supervisor, counts),
        now_of_supervisor(state, supervisor, counts),
        Cell(count(counts.done_of[supervisor.id]), "muted"),
        Cell(count(failed), "warn" if failed else "muted"),
        _hand_over(state, supervisor),
    )


def _hand_over(state: State, supervisor: Supervisor) -> Cell:
    """What a request through a sub-supervisor takes besides the work below it; loud where the team is deep."""
    depth, took_ms = depth_of(state, supervisor), mean_ms_of(supervisor)
    took = "" if took_ms is None else duration(took_ms)
    if depth > SHALLOW:
        return Cell(f"L{depth} {took}".rstrip(), "warn")
    return Cell(took, "muted") if took and depth > 1 else EMPTY


def depth_facts(state: State) -> list[Cell]:
    """How many levels a team has and what each costs a request, where that is more than is good."""
    found = levels(state)
    if len(found) <= SHALLOW:
        return []
    measured = [level for level in found if level.depth > 1 and level.mean_ms is not None]
    costs = " · ".join(f"L{level.depth} {duration(level.mean_ms)}" for level in measured)
    return [Cell(f"{len(found)} levels, each hands over: {costs or 'not measured yet'}", "warn")]
