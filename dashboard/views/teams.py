"""The teams of this machine: one database each, with the engine that works on it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, NamedTuple

from dashboard.views.drawing.lines import BLANK, Line, hairline
from dashboard.views.drawing.row_pane import RowDetails, indent_lines, labelled_paragraphs
from dashboard.views.drawing.rows import Cell, Column, Listing, empty_message, labelled_cell, make_cells, matches
from dashboard.views.measures.digest import Digest
from dashboard.views.tail import TailLine, draw_tail
from dashboard.views.words.amounts import ago, moment, money, size
from engine.core.records.values import Usage
from engine.core.state import State

_MIN_LAST_ROWS = 4
"""Minimum free rows for the last events."""


class TeamFigures(NamedTuple):
    """What a team is at, for its row."""

    needs: int = 0
    """How many things wait for a person."""
    busy: int = 0
    """Agents with an attempt that holds a slot; none without an engine."""
    agents: int = 0
    usage: Usage | None = None

    @classmethod
    def of(cls, state: State, counts: Digest) -> "TeamFigures":
        """Count for a state and the moment of its counters."""
        busy, agents = (sum(numbers[root.id] for root in state.roots) for numbers in (counts.busy_of, counts.agents_of))
        return cls(len(counts.needs_person), busy if counts.working else 0, agents, state.usage)


NO_FIGURES = TeamFigures()
"""Of a database that was not read."""


@dataclass(frozen=True, slots=True)
class TeamDatabase:
    """The row of a database."""

    path: str
    name: str
    """Name of its first supervisor, else of the file."""
    engine: str
    """Its engine, in a few words."""
    alive: bool
    newest_ms: int | None
    size_bytes: int
    error: str | None = None
    """Why it cannot be used; None if it can."""
    holds: Sequence[Line] = ()
    """Its contents, from `team_summary`."""
    last: Sequence[TailLine] = ()
    """Its last events, the newest last."""
    seq: int = -1
    """Seq of the state that `holds` and `last` were read from; -1 if they were not read."""
    figures: TeamFigures = NO_FIGURES


class TeamRow(NamedTuple):
    """A database, with what its cells are made from."""

    database: TeamDatabase
    is_shown: bool
    home: str
    now_ms: int


def _engine_cell(row: TeamRow) -> Cell:
    database = row.database
    glyph, tone = ("✕", "error") if database.error is not None else ("●", "busy") if database.alive else ("○", "idle")
    return Cell(f"{glyph} {database.error or database.engine}", tone)


def _needs_cell(row: TeamRow) -> Cell:
    needs = row.database.figures.needs
    return Cell(f"⚑ {needs:,}" if needs else "", "attention", rank=needs)


def _busy_cell(row: TeamRow) -> Cell:
    figures = row.database.figures
    return Cell(f"{figures.busy:,} of {figures.agents:,}", "busy" if figures.busy else "muted", rank=figures.busy)


def _cost_cell(row: TeamRow) -> Cell:
    usage = row.database.figures.usage
    return Cell(money(usage), rank=float(usage.cost_usd or 0) if usage is not None else None)


def _newest_cell(row: TeamRow) -> Cell:
    newest_ms = row.database.newest_ms
    return Cell(moment(newest_ms, row.now_ms) if newest_ms else "", "muted", rank=newest_ms)


def _path_cell(row: TeamRow) -> Cell:
    path = PurePath(row.database.path)
    return Cell(f"{path.name}  in {from_home(str(path.parent), row.home)}", "muted")


COLUMNS: tuple[Column[TeamRow, Any], ...] = (
    Column("TEAM", 14, grow=1, max_width=30, meaning="its first supervisor",
           cell=lambda row: Cell(row.database.name + " (shown)" * row.is_shown, "strong" if row.is_shown else "")),
    Column("ENGINE", 22, meaning="who works on the team now", cell=_engine_cell),
    Column("NEEDS YOU", 9, right=True, meaning="how much waits for a person", cell=_needs_cell),
    Column("BUSY", 11, right=True, drop=3, meaning="how many of its agents are at work", cell=_busy_cell),
    Column("COST", 9, right=True, drop=4, meaning="what the team has spent, in US dollars", cell=_cost_cell),
    Column("NEWEST EVENT", 16, drop=1, meaning="when something last happened in the team", cell=_newest_cell),
    Column("SIZE", 8, right=True, drop=2, meaning="of the file",
           cell=lambda row: Cell(size(row.database.size_bytes), "muted", rank=row.database.size_bytes)),
    Column("DATABASE", 20, grow=3, meaning="the file of the team", cell=_path_cell),
)  # fmt: skip


def teams(
    databases: Sequence[TeamDatabase],
    *,
    shown_path: str,
    now_ms: int,
    home: str = "",
    needle: str = "",
    is_loaded: bool = True,
) -> Listing:
    """Return teams, those with an engine first; keys are paths.

    Args:
        shown_path: Path of the open database.
        home: The home folder of the user, which is written `~`.
        is_loaded: False until the first search is complete.
    """
    ordered = sorted(
        databases, key=lambda database: (not database.alive, database.error is not None, -(database.newest_ms or 0))
    )
    visible: Mapping[str, TeamDatabase] = {
        database.path: database
        for database in ordered
        if matches(
            needle,
            database.name,
            database.engine,
            database.path,
            database.error,
            status="at work" if database.alive else "stopped",
        )
    }
    empty = empty_message(
        needle, "team", "no team was found", "quarterdeck init writes one; quarterdeck demo shows one"
    )

    def make(key: str) -> tuple[Cell, ...]:
        if key not in visible:
            return ()
        return make_cells(COLUMNS, TeamRow(visible[key], key == shown_path, home, now_ms))

    return Listing(
        columns=COLUMNS,
        keys=list(visible),
        make=make,
        empty=empty if is_loaded else ("looking …",),
        total=len(databases),
    )


def describe_team(
    databases: Sequence[TeamDatabase],
    key: str,
    *,
    shown_path: str,
    home: str = "",
    now_ms: int,
    width: int,
    height: int,
) -> RowDetails | None:
    """Describe a team: its contents, its last events if they fit, and what enter does."""
    database = next((database for database in databases if database.path == key), None)
    if database is None:
        return None
    cells = [
        Cell(database.name, "strong"),
        labelled_cell("database", f"{from_home(database.path, home)}, {size(database.size_bytes)}"),
        labelled_cell(
            "engine", database.error or database.engine, "error" if database.error else "busy" if database.alive else ""
        ),
    ]
    if database.newest_ms:
        cells.append(
            labelled_cell(
                "newest", f"an event {ago(now_ms - database.newest_ms)}, {moment(database.newest_ms, now_ms)}"
            )
        )
    enter = (
        "enter goes to its network" if database.path == shown_path else "enter switches to it; the team here goes on"
    )
    lines = [*labelled_paragraphs(cells, width), BLANK, *indent_lines(database.holds)]
    room = height - len(lines) - 1
    if room >= _MIN_LAST_ROWS and database.last:
        lines += [hairline("LAST EVENTS", width), *indent_lines(draw_tail(database.last[-room:], width - 2, 0))]
    return RowDetails("TEAM", lines, enter)


def from_home(path: str, home: str) -> str:
    """Return a path with `~` for the home folder."""
    return f"~{path.removeprefix(home)}" if home and f"{path}/".startswith(f"{home}/") else path
