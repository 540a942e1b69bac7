"""The audit log: every command with its sender, the equivalent command line, and its outcome."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from rich.cells import cell_len

from dashboard.views.drawing.lines import Line, Span, hairline
from dashboard.views.drawing.row_pane import RowDetails, indent_lines, labelled_paragraphs
from dashboard.views.drawing.rows import Cell, Column, Listing, empty_message, labelled, matches
from dashboard.views.event_log import Entry
from dashboard.views.tail import draw_tail, to_tail_line
from dashboard.views.words.amounts import moment
from dashboard.views.words.command_line import command_line, describe_command, describe_omissions
from dashboard.views.words.keyed import fill_keys
from dashboard.views.words.names import Names, short_id
from engine.core.events import CommandApplied, CommandRefused, CommandUndone
from engine.core.state import MAX_UNDOABLE, State

KINDS = ("command_applied", "command_refused", "command_undone")
_COLUMNS = (
    Column("SEQ", 9, right=True, drop=2),
    Column("AT", 16, drop=1),
    Column("WHO", 13, max_width=40, grow=4),
    Column("ROLE", 8, drop=3),
    Column("COMMAND", 22, grow=4),
    Column("OUTCOME", 20, grow=4),
)


def audit(entries: Sequence[Entry], *, now_ms: int, needle: str = "", is_loaded: bool = True) -> Listing:
    """Return commands with their senders and outcomes, in the order of `entries`."""
    undone = {entry.event.command_id for entry in entries if isinstance(entry.event, CommandUndone)}
    rows = {str(entry.seq): entry for entry in entries if isinstance(entry.event, CommandApplied | CommandRefused)}
    matching_entries = {
        key: entry for key, entry in rows.items() if not needle or matches(needle, *_texts(entry), **_values(entry))
    }
    none = ("no change has been made yet", "changes by people and programs appear here")
    empty = empty_message(needle, "command", *none)
    oldest_ms = min((entry.at_ms for entry in rows.values()), default=now_ms)
    at = Column("AT", len(moment(oldest_ms, now_ms)), drop=1)  # wide enough for a date only if there is one
    changes = (entry.event for entry in rows.values() if isinstance(entry.event, CommandApplied | CommandRefused))
    widest = max((cell_len(change.sender) for change in changes), default=0)
    sender_column = replace(_COLUMNS[2], max_width=max(_COLUMNS[2].width, min(widest, _COLUMNS[2].max_width)))
    return Listing(
        columns=(_COLUMNS[0], at, sender_column, *_COLUMNS[3:]),
        keys=list(matching_entries),
        make=lambda key: _cells(matching_entries[key], undone, now_ms) if key in matching_entries else (),
        empty=empty if is_loaded else ("reading …",),
        total=len(rows),
    )


def line_of(entry: Entry) -> tuple[str, str]:
    """Return the command line equivalent to the command of an entry, or why there is none."""
    event = entry.event
    if not isinstance(event, CommandApplied):
        return "", "choose a command that was applied"
    line = command_line(event.command, event.args)
    lacks = describe_omissions(event.command, event.args) if line else "only a program sends it"
    return "" if lacks else line, lacks


class RelatedEvents(NamedTuple):
    """The events of a command, and the events after it."""

    caused: Sequence[Entry] = ()
    """Events of the same step as the command."""
    later: Sequence[Entry] = ()


def describe_change(
    entry: Entry,
    entries: Sequence[Entry],
    beside: RelatedEvents | None,
    state: State,
    names: Names,
    *,
    width: int,
    height: int,
    now_ms: int,
) -> RowDetails:
    """Return a command in full: its line, its outcome, whether it can be undone, and the events with and after it.

    Args:
        entries: All entries that were read, including undos.
        beside: The related events; None while they are read.
        names: Names for the events.
    """
    event = entry.event
    assert isinstance(event, CommandApplied | CommandRefused)
    when = f"{moment(entry.at_ms, now_ms)}, seq {entry.seq:,}"
    cells = [labelled("sent", f"by {event.sender or 'an unknown sender'}, {event.role}, at {when}")]
    if isinstance(event, CommandApplied):
        command_text = command_line(event.command, event.args) or describe_command(event.command, event.args)
        lacks = describe_omissions(event.command, event.args)
        cells += [labelled("not in it", lacks, "warn")] if lacks else []
        cells += [labelled("outcome", f"✓ {event.summary}", "done"), _undo_cell(event, entries, state)]
    else:
        command_text = event.command.replace("_", " ")
        cells += [labelled("outcome", f"✕ refused: {event.reason}", "error"), labelled("undo", "it changed nothing")]
    lines = [*labelled_paragraphs([Cell(command_text, "strong")], width), *labelled_paragraphs(cells, width)]
    lines.append(hairline("EVENTS WITH IT", width))
    # In the past, hide events after the moment shown, which may include events of the command itself.
    caused, later = ([entry for entry in each if entry.seq <= state.seq] for each in beside or RelatedEvents())
    if not caused:
        lines.append(Line((Span(" reading …" if beside is None else " none", "faint"),)))
    lines += _event_lines(caused, names, width, height - len(lines))
    if later and height - len(lines) > 1:
        lines.append(hairline("WHAT CAME NEXT", width, right=fill_keys("<events:6> has all events")))
        lines += _event_lines(later, names, width, height - len(lines))
    does = "Y copies its line · " if line_of(entry)[0] else ""
    return RowDetails("COMMAND", lines, f"{does}enter opens it")


def _event_lines(entries: Sequence[Entry], names: Names, width: int, max_lines: int) -> list[Line]:
    return indent_lines(draw_tail([to_tail_line(entry, names) for entry in entries[: max(0, max_lines)]], width - 2, 0))


def _undo_cell(event: CommandApplied, entries: Sequence[Entry], state: State) -> Cell:
    """Return whether a command can be undone, and how."""
    from engine.core.queries.people.undoing import as_command, current_value_of  # needed only for details

    undo_entry = None
    for entry in entries:
        if isinstance(entry.event, CommandUndone) and entry.event.command_id == event.command_id:
            undo_entry = entry
            break
    undoable = state.undoable.get(event.command_id)
    if undo_entry is not None:
        return labelled("undo", f"↶ undone at seq {undo_entry.seq:,}", "paused")
    if event.inverse is None:
        return labelled("undo", "no command can undo it", "muted")
    if undoable is None:
        return labelled("undo", f"it is not among the last {MAX_UNDOABLE:,} changes that can be undone", "muted")
    if current_value_of(state, as_command(undoable.inverse)) != undoable.left:
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
    """Return the values for the keys of filters."""
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
        return seq, at, Cell(event.sender), Cell(event.role, "muted"), Cell(_short_line(event), "strong"), outcome
    if isinstance(event, CommandRefused):
        command_cell = Cell(event.command.replace("_", " "), "muted")
        return seq, at, Cell(event.sender), Cell(event.role, "muted"), command_cell, Cell(f"✕ {event.reason}", "error")
    return ()


def _short_line(event: CommandApplied) -> str:
    line = command_line(event.command, event.args).removeprefix("quarterdeck ")
    return line or describe_command(event.command, event.args)
