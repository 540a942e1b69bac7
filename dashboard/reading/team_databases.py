"""Summaries of the databases of this machine, each read again when it has changed.

Blocks while states are folded; call it in a thread. Every file is closed again.
"""

from collections.abc import Mapping
from contextlib import suppress

from dashboard.reading.databases import DatabaseInfo, find_databases
from dashboard.reading.feed import entries_of
from dashboard.views.changes.team_summary import team_summary
from dashboard.views.drawing.lines import Line
from dashboard.views.header import engine_time_ms
from dashboard.views.measures.digest import make_digest
from dashboard.views.tail import TailLine, newest_lines
from dashboard.views.teams import NO_FIGURES, TeamDatabase, TeamFigures
from dashboard.views.words.names import Names
from engine.core.errors import CoreError
from engine.platform import folders
from engine.reading.folding import fold_from
from store import Reader, StoreError

LAST_EVENTS = 60
"""Events of each database that are read for the pane below the table."""


def find_teams(own_database: DatabaseInfo, known_teams: Mapping[str, TeamDatabase], wall_ms: int) -> list[TeamDatabase]:
    """Return the teams of all databases found, including the open one, as of `wall_ms`."""
    try:
        databases = find_databases(folders.data_folder())
    except folders.NoHome:
        databases = []
    own = [] if own_database.path in [database.path for database in databases] else [own_database]
    return [
        team_of(database, known_teams.get(str(database.path)), wall_ms, is_shown=database.path == own_database.path)
        for database in (*own, *databases)
    ]


def home() -> str:
    """Return the home folder of the user; empty for none."""
    try:
        return str(folders.home_folder())
    except folders.NoHome:
        return ""


def team_of(database: DatabaseInfo, known_team: TeamDatabase | None, wall_ms: int, *, is_shown: bool) -> TeamDatabase:
    """Read the row of a database; its name is that of the first root supervisor.

    The state is folded only if it has changed since `known_team`, or an agent at work may be stuck meanwhile; never for
    the open database.
    """
    name, newest_ms, error = database.path.stem, None, database.error
    holds, last, names, seq, size_bytes, figures = list[Line](), list[TailLine](), Names(), -1, 0, NO_FIGURES
    try:
        with Reader(database.path) as reader:
            newest_ms, size_bytes = reader.newest_ms() or None, reader.size_bytes()
            now = (reader.last_seq(), newest_ms, database.alive)
            is_unchanged = known_team is not None and now == (known_team.seq, known_team.newest_ms, known_team.alive)
            if known_team is not None and is_unchanged and not known_team.figures.busy:
                name, holds, last, seq = known_team.name, [*known_team.holds], [*known_team.last], known_team.seq
                figures = known_team.figures
            elif not is_shown:
                state = fold_from(reader)
                name = state.roots[0].name if state.roots else name
                holds = team_summary(state, working=database.alive)
                names.learn_state(state)
                records = reader.records_before(state.seq + 1, LAST_EVENTS)
                last = newest_lines(reversed(entries_of(reader, records, names)), names, LAST_EVENTS, joins=False)
                now_ms = engine_time_ms(state.at_ms, database.engine, wall_ms)
                counts = make_digest(state, working=database.alive, live=reader.live(), now_ms=now_ms)
                seq, figures = state.seq, TeamFigures.of(state, counts)
    except (StoreError, CoreError) as failure:
        error = error or str(failure)
        with suppress(OSError):
            size_bytes = database.path.stat().st_size
    return TeamDatabase(
        str(database.path),
        name,
        database.state,
        database.alive,
        newest_ms,
        size_bytes,
        error,
        holds,
        last,
        seq,
        figures,
    )
