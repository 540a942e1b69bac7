"""All agents in one list, to compare and to sort."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from operator import attrgetter
from typing import NamedTuple, TypeAlias

from rich.cells import cell_len

from dashboard.views.drawing.rows import Cell, Column, Listing, Order, empty_message, make_cells, visible_columns
from dashboard.views.drawing.sorting import heads_of, orders_of
from dashboard.views.facts.agent import state_of_agent
from dashboard.views.facts.now import now_of_agent
from dashboard.views.measures.digest import Digest
from dashboard.views.measures.usage import USAGE_TITLES, cost_cell, cost_rank, is_metered, tokens_cell, tokens_rank
from dashboard.views.words.amounts import count, duration, percent
from dashboard.views.words.filters import parse_partial_filter
from dashboard.views.words.help import COST_MEANING, P50_MEANING, STATE_MEANING, TOKENS_MEANING
from dashboard.views.words.subjects import filter_agents
from engine.core.activities import RANKS
from engine.core.queries.targets import name_of
from engine.core.queries.team.figures import median, success_share
from engine.core.state import Agent, State

MIN_NAME_WIDTH, MAX_NAME_WIDTH = 12, 20
"""Cells of a name."""
_UNDER_WIDTH = 10


class AgentRow(NamedTuple):
    """An agent, with what its cells are made from."""

    state: State
    agent: Agent
    counts: Digest
    live: Mapping[str, str]
    now_ms: int


AgentRank: TypeAlias = Callable[[Agent, Digest], float | str]


def _by_ok(agent: Agent, counts: Digest) -> float:
    share = success_share(agent.done, agent.failed)
    return 2.0 if share is None else share


def _specialties(row: AgentRow) -> Cell:
    spec = row.state.specs.get(row.agent.spec)
    return Cell(", ".join(spec.specialties) if spec is not None else "", "muted")


def _queue(row: AgentRow) -> Cell:
    waiting = row.counts.waiting_of[row.agent.id]
    return Cell(count(waiting or None, none="·"), "" if waiting else "muted")


DECLARED: Order[AgentRank] = Order("declared", lambda agent, counts: 0, step=0)
"""Equal rows stay in this order."""
COLUMNS: tuple[Column[AgentRow, AgentRank], ...] = (
    Column("AGENT", MIN_NAME_WIDTH, named=True, meaning="an agent by its name",
           cell=lambda row: Cell(row.agent.name),
           order=Order("name", lambda agent, counts: agent.name.casefold(), step=6)),
    Column("UNDER", _UNDER_WIDTH, drop=4, grow=9, max_width=_UNDER_WIDTH, meaning="its supervisor",
           cell=lambda row: Cell(name_of(row.state, row.agent.supervisor_id), "muted"),
           order=Order("team", lambda agent, counts: agent.supervisor_id, step=7)),
    Column("GEN", 4, drop=6, meaning="generation of an agent: each swap adds one",
           cell=lambda row: Cell(f"g{row.agent.generation}", "muted"),
           order=Order("generation", lambda agent, counts: -agent.generation, step=8)),
    Column("STATE", 11, meaning=STATE_MEANING,
           cell=lambda row: state_of_agent(row.agent, row.counts),
           order=Order("state", lambda agent, counts: RANKS[counts.kind_of(agent)], step=2)),
    Column("NOW", 18, grow=2, max_width=70, calm=True, shell_rank=9, meaning="what it works on, or what it waits for",
           cell=lambda row: now_of_agent(row.agent, row.counts, row.now_ms, beside_state=True)),
    Column("CAN", 14, grow=1, drop=7, shell_rank=0, meaning="its specialties: what work asks for", cell=_specialties),
    Column("ORIGIN", 10, grow=1, max_width=30, drop=8, shell_rank=0,
           meaning="where it was found: an id of the catalogue, a document",
           cell=lambda row: Cell(row.agent.origin.id if row.agent.origin is not None else "", "muted")),
    Column("QUEUE", 6, right=True, drop=3, meaning="tasks that could begin and wait for this agent", cell=_queue,
           order=Order("queue", lambda agent, counts: -counts.waiting_of[agent.id], step=4)),
    Column("DONE", 7, right=True, meaning="attempts that ended well",
           cell=lambda row: Cell(count(row.agent.done), "" if row.agent.done else "muted"),
           order=Order("done", lambda agent, counts: -agent.done, step=9)),
    Column("FAIL", 5, right=True, drop=1, meaning="attempts that failed",
           cell=lambda row: Cell(count(row.agent.failed or None, none="·"), "warn" if row.agent.failed else "muted"),
           order=Order("failures", lambda agent, counts: -agent.failed, step=3)),
    Column("OK", 5, right=True, drop=5, meaning="share of the attempts that ended well",
           cell=lambda row: Cell(percent(success_share(row.agent.done, row.agent.failed)), "muted"),
           order=Order("worst", _by_ok, step=10)),
    Column("P50", 10, right=True, drop=2, meaning=P50_MEANING,
           cell=lambda row: Cell(duration(median(row.agent.at_work_ms), max_width=10), "muted"),
           order=Order("slowest", lambda agent, counts: -(median(agent.at_work_ms) or 0.0), step=1)),
    Column("TOKENS", 9, right=True, drop=3, meaning=TOKENS_MEANING,
           cell=lambda row: tokens_cell(row.agent.usage),
           order=Order("tokens", lambda agent, counts: tokens_rank(agent.usage), step=11)),
    Column("COST", 8, right=True, drop=1, shell_rank=0, meaning=COST_MEANING,
           cell=lambda row: cost_cell(row.agent.usage),
           order=Order("cost", lambda agent, counts: cost_rank(agent.usage), step=5)),
)  # fmt: skip
ORDERS, HEADS = orders_of(COLUMNS, DECLARED), heads_of(COLUMNS)


def agents(
    state: State, counts: Digest, live: Mapping[str, str], *, now_ms: int, order: str = "declared", needle: str = ""
) -> Listing:
    """Return every agent as a row; keys are their ids."""
    rank = ORDERS[order]
    row_filter = parse_partial_filter(needle)
    matching_agents = filter_agents(state, state.agents.values(), row_filter, counts)
    matching_agents.sort(key=attrgetter("created_seq"))
    if order != DECLARED.name:
        matching_agents.sort(key=lambda agent: rank(agent, counts))  # a stable sort

    def make(key: str) -> tuple[Cell, ...]:
        agent = state.agents.get(key)
        if agent is None:
            return (Cell("removed", "muted"),)
        return make_cells(columns, AgentRow(state, agent, counts, live, now_ms))

    widest = max(MIN_NAME_WIDTH, min(widest_name(state), MAX_NAME_WIDTH))  # the rest of the width goes to NOW
    longest = max((len(supervisor.name) for supervisor in state.supervisors.values()), default=0)
    under_width = max(_UNDER_WIDTH, min(longest, MAX_NAME_WIDTH))
    columns = visible_columns(
        COLUMNS,
        {"AGENT": (widest, widest), "UNDER": (_UNDER_WIDTH, under_width)},
        without=_without(state),
    )
    return Listing(
        columns=columns,
        keys=[agent.id for agent in matching_agents],
        make=make,
        empty=empty_message(needle, "agent", "no agents yet", ": add FILE  adds one"),
        total=len(state.agents),
    )


def _without(state: State) -> tuple[str, ...]:
    """Return the titles of the columns that would be empty."""
    origin = () if any(agent.origin is not None for agent in state.agents.values()) else ("ORIGIN",)
    return (*origin, *(() if is_metered(state) else USAGE_TITLES))


def widest_name(state: State) -> int:
    """Return the cells of the longest name of an agent."""
    return _measure_widest(tuple([agent.name for agent in state.agents.values()]))


@lru_cache(4)  # a thousand names at each key press
def _measure_widest(names: tuple[str, ...]) -> int:
    return max(map(cell_len, names), default=0)
