"""Who changed what: every command as the command line that does the same, with its outcome."""

from collections.abc import Sequence

from dashboard.views.amounts import moment
from dashboard.views.command_line import command_line, in_words
from dashboard.views.event_log import Entry
from dashboard.views.rows import Cell, Column, Listing, matches, nothing
from engine.core.events import CommandApplied, CommandRefused, CommandUndone

KINDS = ("command_applied", "command_refused", "command_undone")
_COLUMNS = (
    Column("SEQ", 9, right=True, drop=2),
    Column("AT", 16, drop=1),
    Column("WHO", 18, most=30, grow=1),
    Column("ROLE", 8, drop=3),
    Column("COMMAND", 30, grow=4),
    Column("OUTCOME", 20, grow=3),
)


def audit(entries: Sequence[Entry], *, now_ms: int, needle: str = "", looked: bool = True) -> Listing:
    """Return commands with who sent them and what became of them, in the order given."""
    undone = {one.event.command_id for one in entries if isinstance(one.event, CommandUndone)}
    rows = {str(one.seq): one for one in entries if isinstance(one.event, CommandApplied | CommandRefused)}
    shown = {key: one for key, one in rows.items() if not needle or matches(needle, *_texts(one), **_values(one))}
    none = ("nobody has changed anything yet", "what people and programs change is kept here")
    empty = nothing(needle, "command", *none)
    return Listing(
        columns=_COLUMNS,
        keys=list(shown),
        make=lambda key: _cells(shown[key], undone, now_ms) if key in shown else (),
        empty=empty if looked else ("reading …",),
        total=len(rows),
    )


def line_of(entry: Entry) -> str:
    """Return the command line that does the same as the command of an entry; empty where there is none."""
    event = entry.event
    return command_line(event.command, event.args) if isinstance(event, CommandApplied) else ""


def _texts(entry: Entry) -> tuple[str, ...]:
    event = entry.event
    if isinstance(event, CommandApplied):
        return event.sender, event.role, command_line(event.command, event.args), event.summary, "applied"
    if isinstance(event, CommandRefused):
        return event.sender, event.role, event.command, event.reason, "refused"
    return ()


def _values(entry: Entry) -> dict[str, str]:
    """Return what stands under the keys of filters."""
    event = entry.event
    if not isinstance(event, CommandApplied | CommandRefused):
        return {}
    return {"kind": event.command, "status": "applied" if isinstance(event, CommandApplied) else "refused"}


def _cells(entry: Entry, undone: set[str], now_ms: int) -> tuple[Cell, ...]:
    event = entry.event
    at = Cell(moment(entry.at_ms, now_ms), "muted", rank=entry.at_ms)
    seq = Cell(f"{entry.seq:,}", "faint")
    if isinstance(event, CommandApplied):
        taken_back = event.command_id in undone
        outcome = Cell(f"↶ undone: {event.summary}", "paused") if taken_back else Cell(f"✓ {event.summary}", "done")
        return seq, at, Cell(event.sender), Cell(event.role, "muted"), Cell(_short(event), "strong"), outcome
    if isinstance(event, CommandRefused):
        what = Cell(event.command.replace("_", " "), "muted")
        return seq, at, Cell(event.sender), Cell(event.role, "muted"), what, Cell(f"✕ {event.reason}", "error")
    return ()


def _short(event: CommandApplied) -> str:
    return command_line(event.command, event.args).removeprefix("quarterdeck ") or in_words(event.command, event.args)


__all__ = ["KINDS", "audit", "line_of"]
