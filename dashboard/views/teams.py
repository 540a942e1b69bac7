"""The teams of this machine: one database each, with the engine that works on it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from dashboard.views.drawing.lines import BLANK, Line, hairline
from dashboard.views.drawing.row_pane import More, under, worded
from dashboard.views.drawing.rows import Cell, Column, Listing, labelled, matches, nothing
from dashboard.views.tail import Told, tail
from dashboard.views.words.amounts import ago, moment, size

_COLUMNS = (
    Column("TEAM", 14, grow=1, most=30),
    Column("ENGINE", 22),
    Column("NEWEST EVENT", 16, drop=1),
    Column("SIZE", 8, right=True, drop=2),
    Column("DATABASE", 20, grow=3),
)
_LAST_LEAST = 4
"""Rows below all else from which on the last events are shown."""


@dataclass(frozen=True, slots=True)
class TeamFound:
    """A database that is at hand."""

    path: str
    name: str
    """Of its first supervisor, else of the file."""
    engine: str
    """Who works on it, in a few words."""
    alive: bool
    newest_ms: int | None
    size_bytes: int
    error: str | None = None
    """Why it cannot be used."""
    holds: Sequence[Line] = ()
    """What is in it, as `holdings` tells it."""
    last: Sequence[Told] = ()
    """Its last events, the newest last."""
    seq: int = -1
    """The newest event of the state that they were read from; -1 where they were not."""


def teams(
    found: Sequence[TeamFound], *, here: str, now_ms: int, home: str = "", needle: str = "", looked: bool = True
) -> Listing:
    """Return teams, those at work first; keys are paths.

    Args:
        here: Path of the database that is shown now.
        home: The folder of the user, which is written `~`.
        looked: False until they have been looked for.
    """
    ordered = sorted(found, key=lambda one: (not one.alive, one.error is not None, -(one.newest_ms or 0)))
    shown: Mapping[str, TeamFound] = {
        one.path: one
        for one in ordered
        if matches(needle, one.name, one.engine, one.path, one.error, status="at work" if one.alive else "stopped")
    }
    empty = nothing(needle, "team", "no team was found", "quarterdeck init writes one; quarterdeck demo shows one")
    return Listing(
        columns=_COLUMNS,
        keys=list(shown),
        make=lambda key: _cells(shown[key], here, home, now_ms) if key in shown else (),
        empty=empty if looked else ("looking …",),
        total=len(found),
    )


def of_team(
    found: Sequence[TeamFound], key: str, *, here: str, home: str = "", now_ms: int, width: int, height: int
) -> More | None:
    """Return what runs in a team, its last events where there is room, and what enter does with it."""
    one = next((one for one in found if one.path == key), None)
    if one is None:
        return None
    told = [
        Cell(one.name, "strong"),
        labelled("database", f"{from_home(one.path, home)}, {size(one.size_bytes)}"),
        labelled("engine", one.error or one.engine, "error" if one.error else "busy" if one.alive else ""),
    ]
    if one.newest_ms:
        told.append(labelled("newest", f"an event {ago(now_ms - one.newest_ms)}, {moment(one.newest_ms, now_ms)}"))
    enter = "enter goes to its network" if one.path == here else "enter switches to it; the team here goes on"
    lines = [*worded(told, width), BLANK, *under(one.holds)]
    room = height - len(lines) - 1
    if room >= _LAST_LEAST and one.last:
        lines += [hairline("LAST EVENTS", width), *under(tail(one.last[-room:], width - 2, 0))]
    return More("TEAM", lines, enter)


def from_home(path: str, home: str) -> str:
    """Return a path as a shell takes it, from the home folder where it lies in that."""
    return f"~{path.removeprefix(home)}" if home and f"{path}/".startswith(f"{home}/") else path


def _cells(one: TeamFound, here: str, home: str, now_ms: int) -> tuple[Cell, ...]:
    is_here = one.path == here
    glyph, tone = ("✕", "error") if one.error is not None else ("●", "busy") if one.alive else ("○", "idle")
    return (
        Cell(one.name + (" (shown)" if is_here else ""), "strong" if is_here else ""),
        Cell(f"{glyph} {one.error or one.engine}", tone),
        Cell(moment(one.newest_ms, now_ms) if one.newest_ms else "", "muted", rank=one.newest_ms),
        Cell(size(one.size_bytes), "muted", rank=one.size_bytes),
        Cell(f"{PurePath(one.path).name}  in {from_home(str(PurePath(one.path).parent), home)}", "muted"),
    )
