"""Who changed what: every command as the command line that does the same, with its outcome."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from rich.cells import cell_len

from dashboard.views.drawing.lines import Line, Span, hairline
from dashboard.views.drawing.row_pane import More, under, worded
from dashboard.views.drawing.rows import Cell, Column, Listing, labelled, matches, nothing
from dashboard.views.event_log import Entry
from dashboard.views.tail import tail, tell
from dashboard.views.words.amounts import moment
from dashboard.views.words.command_line import command_line, in_words, left_out
from dashboard.views.words.keyed import keyed
from dashboard.views.words.names import Names, short_id
from engine.core.events import CommandApplied, CommandRefused, CommandUndone
from engine.core.state import UNDOABLE, State

KINDS = ("command_applied", "command_refused", "command_undone")
_COLUMNS = (
    Column("SEQ", 9, right=True, drop=2),
    Column("AT", 16, drop=1),
    Column("WHO", 13, most=40, grow=4),
    Column("ROLE", 8, drop=3),
    Column("COMMAND", 22, grow=4),
    Column("OUTCOME", 20, grow=4),
)


def audit(entries: Sequence[Entry], *, now_ms: int, needle: str = "", looked: bool = True) -> Listing:
    """Return commands with who sent them and what became of them, in the order given."""
    undone = {one.event.command_id for one in entries if isinstance(one.event, CommandUndone)}
    rows = {str(one.seq): one for one in entries if isinstance(one.event, CommandApplied | CommandRefused)}
    shown = {key: one for key, one in rows.items() if not needle or matches(needle, *_texts(one), **_values(one))}
    none = ("no change has been made yet", "changes by people and programs appear here")
    empty = nothing(needle, "command", *none)
    oldest_ms = min((one.at_ms for one in rows.values()), default=now_ms)
    at = Column("AT", len(moment(oldest_ms, now_ms)), drop=1)  # the date takes room only where there is one
    changes = (one.event for one in rows.values() if isinstance(one.event, CommandApplied | CommandRefused))
    widest = max((cell_len(change.sender) for change in changes), default=0)
    who = replace(_COLUMNS[2], most=max(_COLUMNS[2].width, min(widest, _COLUMNS[2].most)))
    return Listing(
        columns=(_COLUMNS[0], at, who, *_COLUMNS[3:]),
        keys=list(shown),
        make=lambda key: _cells(shown[key], undone, now_ms) if key in shown else (),
        empty=empty if looked else ("reading …",),
        total=len(rows),
    )


def line_of(entry: Entry) -> tuple[str, str]:
    """Return the command line that does the same as the command of an entry, or why there is none."""
    event = entry.event
    if not isinstance(event, CommandApplied):
        return "", "choose a command that was applied"
    line = command_line(event.command, event.args)
    lacks = left_out(event.command, event.args) if line else "only a program sends it"
    return "" if lacks else line, lacks


class Beside(NamedTuple):
    """What happened with a command, and after it."""

    caused: Sequence[Entry] = ()
    """The events that carried it out, and those that followed from it in the same step."""
    later: Sequence[Entry] = ()


def of_change(
    entry: Entry,
    entries: Sequence[Entry],
    beside: Beside | None,
    state: State,
    names: Names,
    *,
    width: int,
    height: int,
    now_ms: int,
) -> More:
    """Return a command whole: its line, its outcome, whether it can be taken back, what came with it and after it.

    Args:
        entries: All that were read; among them those that say what was undone.
        beside: None while it is being read.
        names: Of what the events are about.
    """
    event = entry.event
    assert isinstance(event, CommandApplied | CommandRefused)
    when = f"{moment(entry.at_ms, now_ms)}, seq {entry.seq:,}"
    told = [labelled("sent", f"by {event.sender or 'an unknown sender'}, {event.role}, at {when}")]
    if isinstance(event, CommandApplied):
        said = command_line(event.command, event.args) or in_words(event.command, event.args)
        lacks = left_out(event.command, event.args)
        told += [labelled("not in it", lacks, "warn")] if lacks else []
        told += [labelled("outcome", f"✓ {event.summary}", "done"), _undo(event, entries, state)]
    else:
        said = event.command.replace("_", " ")
        told += [labelled("outcome", f"✕ refused: {event.reason}", "error"), labelled("undo", "it changed nothing")]
    lines = [*worded([Cell(said, "strong")], width), *worded(told, width)]
    lines.append(hairline("EVENTS WITH IT", width))
    # Of a past moment not what came after it, which may be some of its own events.
    caused, later = ([one for one in each if one.seq <= state.seq] for each in beside or Beside())
    if not caused:
        lines.append(Line((Span(" reading …" if beside is None else " none", "faint"),)))
    lines += _told(caused, names, width, height - len(lines))
    if later and height - len(lines) > 1:
        lines.append(hairline("WHAT CAME NEXT", width, right=keyed("<events:6> has all events")))
        lines += _told(later, names, width, height - len(lines))
    does = "Y copies its line · " if line_of(entry)[0] else ""
    return More("COMMAND", lines, f"{does}enter opens it")


def _told(entries: Sequence[Entry], names: Names, width: int, most: int) -> list[Line]:
    return under(tail([tell(one, names) for one in entries[: max(0, most)]], width - 2, 0))


def _undo(event: CommandApplied, entries: Sequence[Entry], state: State) -> Cell:
    """Return whether a command can be taken back, and how."""
    # Imported when a change is first looked at.
    from engine.core.queries.people.undoing import as_command, current_value_of

    back = (one for one in entries if isinstance(one.event, CommandUndone) and one.event.command_id == event.command_id)
    taken = next(back, None)
    known = state.undoable.get(event.command_id)
    if taken is not None:
        return labelled("undo", f"↶ undone at seq {taken.seq:,}", "paused")
    if event.inverse is None:
        return labelled("undo", "no command can undo it", "muted")
    if known is None:
        return labelled("undo", f"it is not among the last {UNDOABLE:,} changes that can be undone", "muted")
    if current_value_of(state, as_command(known.inverse)) != known.left:
        return labelled("undo", "what it changed has changed since: change it by hand", "warn")
    return labelled("undo", f":undo {short_id(event.command_id)} undoes it", "accent")


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
