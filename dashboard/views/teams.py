"""The teams of this machine: one database each, with the engine that works on it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from dashboard.views.drawing.lines import BLANK, Line, hairline
from dashboard.views.drawing.row_pane import RowDetails, indent_lines, labelled_paragraphs
from dashboard.views.drawing.rows import Cell, Column, Listing, empty_message, labelled, matches
from dashboard.views.tail import TailLine, draw_tail
from dashboard.views.words.amounts import ago, moment, size

_COLUMNS = (
    Column("TEAM", 14, grow=1, max_width=30),
    Column("ENGINE", 22),
    Column("NEWEST EVENT", 16, drop=1),
    Column("SIZE", 8, right=True, drop=2),
    Column("DATABASE", 20, grow=3),
)
_MIN_LAST_ROWS = 4
"""Minimum free rows for the last events."""


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
    """Its contents, from `holdings`."""
    last: Sequence[TailLine] = ()
    """Its last events, the newest last."""
    seq: int = -1
    """Seq of the state that `holds` and `last` were read from; -1 if they were not read."""


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
    return Listing(
        columns=_COLUMNS,
        keys=list(visible),
        make=lambda key: _cells(visible[key], shown_path, home, now_ms) if key in visible else (),
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
        labelled("database", f"{from_home(database.path, home)}, {size(database.size_bytes)}"),
        labelled(
            "engine", database.error or database.engine, "error" if database.error else "busy" if database.alive else ""
        ),
    ]
    if database.newest_ms:
        cells.append(
            labelled("newest", f"an event {ago(now_ms - database.newest_ms)}, {moment(database.newest_ms, now_ms)}")
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


def _cells(database: TeamDatabase, shown_path: str, home: str, now_ms: int) -> tuple[Cell, ...]:
    is_here = database.path == shown_path
    glyph, tone = ("✕", "error") if database.error is not None else ("●", "busy") if database.alive else ("○", "idle")
    return (
        Cell(database.name + (" (shown)" if is_here else ""), "strong" if is_here else ""),
        Cell(f"{glyph} {database.error or database.engine}", tone),
        Cell(moment(database.newest_ms, now_ms) if database.newest_ms else "", "muted", rank=database.newest_ms),
        Cell(size(database.size_bytes), "muted", rank=database.size_bytes),
        Cell(f"{PurePath(database.path).name}  in {from_home(str(PurePath(database.path).parent), home)}", "muted"),
    )
