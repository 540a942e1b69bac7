"""All agents in one list, to compare and to sort."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from operator import attrgetter

from rich.cells import cell_len

from dashboard.views.drawing.rows import Cell, Column, Listing, empty_message
from dashboard.views.facts.agent import now_in_brief, state_of_agent
from dashboard.views.measures.digest import Digest
from dashboard.views.measures.usage import USAGE_COLUMNS, is_metered, usage_cells
from dashboard.views.words.amounts import count, duration, median, percent
from dashboard.views.words.filters import parse_partial_filter
from dashboard.views.words.subjects import filter_agents
from engine.core.state import Agent, AgentStatus, State

MIN_NAME_WIDTH, MAX_NAME_WIDTH = 12, 20
"""Cells of a name."""
COLUMNS = (
    Column("AGENT", MIN_NAME_WIDTH, named=True),
    Column("UNDER", 10, drop=4, grow=9, max_width=10),
    Column("GEN", 4, drop=6),
    Column("STATE", 11),
    Column("NOW", 18, grow=2, max_width=70, calm=True),
    Column("CAN", 14, grow=1, drop=7),
    Column("QUEUE", 6, right=True, drop=3),
    Column("DONE", 7, right=True),
    Column("FAIL", 5, right=True, drop=1),
    Column("OK", 5, right=True, drop=5),
    Column("P50", 10, right=True, drop=2),
)
_URGENT_FIRST = [
    AgentStatus.ERROR,
    AgentStatus.DRAINING,
    AgentStatus.BUSY,
    AgentStatus.PAUSED,
    AgentStatus.IDLE,
    AgentStatus.STOPPED,
]
DECLARED = "declared"
ORDERS: dict[str, Callable[[Agent, Digest], float | str]] = {
    DECLARED: lambda agent, counts: 0,
    "slowest": lambda agent, counts: -(median(agent.at_work_ms) or 0.0),
    "state": lambda agent, counts: _URGENT_FIRST.index(agent.status),
    "failures": lambda agent, counts: -agent.failed,
    "queue": lambda agent, counts: -counts.waiting_of[agent.id],
    "cost": lambda agent, counts: -float(agent.usage.cost_usd or 0),
    "name": lambda agent, counts: agent.name.casefold(),
    "team": lambda agent, counts: agent.supervisor_id,
    "generation": lambda agent, counts: -agent.generation,
    "done": lambda agent, counts: -agent.done,
    "worst": lambda agent, counts: agent.done / (agent.done + agent.failed) if agent.done + agent.failed else 2.0,
    "tokens": lambda agent, counts: -((agent.usage.tokens_in or 0) + (agent.usage.tokens_out or 0)),
}
"""The orders of the table, in the order of the key that switches them; equal rows stay in declared order."""
HEADS = {
    "AGENT": "name",
    "UNDER": "team",
    "GEN": "generation",
    "STATE": "state",
    "QUEUE": "queue",
    "DONE": "done",
    "FAIL": "failures",
    "OK": "worst",
    "P50": "slowest",
    "TOKENS": "tokens",
    "COST": "cost",
}
"""The order that each heading chooses."""


def agents(
    state: State, counts: Digest, live: Mapping[str, str], *, now_ms: int, order: str = "declared", needle: str = ""
) -> Listing:
    """Return every agent as a row; keys are their ids."""
    rank = ORDERS[order]
    row_filter = parse_partial_filter(needle)
    matching_agents = filter_agents(state, state.agents.values(), row_filter)
    matching_agents.sort(key=attrgetter("created_seq"))
    if order != DECLARED:
        matching_agents.sort(key=lambda agent: rank(agent, counts))  # a stable sort

    metered = is_metered(state)

    def make(key: str) -> tuple[Cell, ...]:
        agent = state.agents.get(key)
        if agent is None:
            return (Cell("removed", "muted"),)
        return _cells(state, agent, counts, live, now_ms) + (usage_cells(agent.usage) if metered else ())

    empty = empty_message(needle, "agent", "no agents yet", ": add FILE  adds one")
    widest = max(MIN_NAME_WIDTH, min(widest_name(state), MAX_NAME_WIDTH))  # the rest of the width goes to NOW
    name = Column("AGENT", widest, named=True)
    longest = max((len(supervisor.name) for supervisor in state.supervisors.values()), default=0)
    under = replace(COLUMNS[1], max_width=max(COLUMNS[1].width, min(longest, MAX_NAME_WIDTH)))
    columns = (name, under, *COLUMNS[2:], *(USAGE_COLUMNS if metered else ()))
    return Listing(
        columns=columns, keys=[agent.id for agent in matching_agents], make=make, empty=empty, total=len(state.agents)
    )


def widest_name(state: State) -> int:
    """Return the cells of the longest name of an agent."""
    return _widest(tuple([agent.name for agent in state.agents.values()]))


@lru_cache(4)  # a thousand names at each key press
def _widest(names: tuple[str, ...]) -> int:
    return max(map(cell_len, names), default=0)


def _cells(state: State, agent: Agent, counts: Digest, live: Mapping[str, str], now_ms: int) -> tuple[Cell, ...]:
    spec, supervisor = state.specs.get(agent.spec), state.supervisors.get(agent.supervisor_id)
    ended_count = agent.done + agent.failed
    return (
        Cell(agent.name),
        Cell(supervisor.name if supervisor is not None else "", "muted"),
        Cell(f"g{agent.generation}", "muted"),
        state_of_agent(state, agent, working=counts.working),
        now_in_brief(state, agent, counts, live, now_ms),
        Cell(", ".join(spec.specialties) if spec is not None else "", "muted"),
        Cell(count(counts.waiting_of[agent.id] or None, none="·"), "" if counts.waiting_of[agent.id] else "muted"),
        Cell(count(agent.done), "" if agent.done else "muted"),
        Cell(count(agent.failed or None, none="·"), "warn" if agent.failed else "muted"),
        Cell(percent(agent.done / ended_count if ended_count else None), "muted"),
        Cell(duration(median(agent.at_work_ms), max_width=10), "muted"),
    )
