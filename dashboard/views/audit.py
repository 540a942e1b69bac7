"""The audit log: every command with its sender, the equivalent command line, and its outcome."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from rich.cells import cell_len

from dashboard.views.drawing.lines import Line, Span, hairline
from dashboard.views.drawing.row_pane import RowDetails, indent_lines, labelled_paragraphs
from dashboard.views.drawing.rows import (
    Cell,
    Column,
    Listing,
    empty_message,
    labelled_cell,
    make_cells,
    matches,
    visible_columns,
)
from dashboard.views.event_log import Entry
from dashboard.views.tail import draw_tail, to_tail_line
from dashboard.views.words.amounts import moment
from dashboard.views.words.help import AT_MEANING, SEQ_MEANING
from dashboard.views.words.keyed import fill_keys
from dashboard.views.words.names import Names, short_id
from dashboard.views.words.shell_line import describe_command, describe_omissions, shell_line
from engine.core.events import CommandApplied, CommandRefused, CommandUndone
from engine.core.queries.people.inverses import as_command, current_value_of
from engine.core.state import MAX_UNDOABLE, State

KINDS = ("command_applied", "command_refused", "command_undone")
_MIN_SENDER_WIDTH, _MAX_SENDER_WIDTH = 13, 40


class ChangeRow(NamedTuple):
    """A command that was applied or refused, with what its cells are made from."""

    entry: Entry
    event: CommandApplied | CommandRefused
    is_undone: bool
    now_ms: int


def _command_cell(row: ChangeRow) -> Cell:
    event = row.event
    if isinstance(event, CommandRefused):
        return Cell(event.command.replace("_", " "), "muted")
    line = shell_line(event.command, event.args).removeprefix("quarterdeck ")
    return Cell(line or describe_command(event.command, event.args), "strong")


def _outcome_cell(row: ChangeRow) -> Cell:
    event = row.event
    if isinstance(event, CommandRefused):
        return Cell(f"✕ {event.reason}", "error")
    return Cell(f"↶ undone: {event.summary}", "paused") if row.is_undone else Cell(f"✓ {event.summary}", "done")


COLUMNS: tuple[Column[ChangeRow, Any], ...] = (
    Column("SEQ", 9, right=True, drop=2, meaning=SEQ_MEANING, cell=lambda row: Cell(f"{row.entry.seq:,}", "faint")),
    Column("AT", 16, drop=1, meaning=AT_MEANING,
           cell=lambda row: Cell(moment(row.entry.at_ms, row.now_ms), "muted", rank=row.entry.at_ms)),
    Column("WHO", _MIN_SENDER_WIDTH, max_width=_MAX_SENDER_WIDTH, grow=4, cell=lambda row: Cell(row.event.sender),
           meaning="who sent the command, and by what program"),
    Column("ROLE", 8, drop=3, meaning="in what role the command was sent: viewer or operator",
           cell=lambda row: Cell(row.event.role, "muted")),
    Column("COMMAND", 22, grow=4, meaning="what was asked for, as the command line that does the same",
           cell=_command_cell),
    Column("OUTCOME", 20, grow=4, meaning="✓ applied, ✕ refused and why, ↶ undone", cell=_outcome_cell),
)  # fmt: skip


def audit(entries: Sequence[Entry], *, now_ms: int, needle: str = "", is_loaded: bool = True) -> Listing:
    """Return commands with their senders and outcomes, in the order of `entries`."""
    undone = {entry.event.command_id for entry in entries if isinstance(entry.event, CommandUndone)}
    rows = {
        str(entry.seq): ChangeRow(entry, event, event.command_id in undone, now_ms)
        for entry in entries
        if isinstance(event := entry.event, CommandApplied | CommandRefused)
    }
    matching = {
        key: row for key, row in rows.items() if not needle or matches(needle, *_texts(row.event), **_values(row.event))
    }
    none = ("no change has been made yet", "changes by people and programs appear here")
    empty = empty_message(needle, "command", *none)
    oldest_ms = min((row.entry.at_ms for row in rows.values()), default=now_ms)
    at_width = len(moment(oldest_ms, now_ms))  # wide enough for a date only if there is one
    widest = max((cell_len(row.event.sender) for row in rows.values()), default=0)
    sender_width = max(_MIN_SENDER_WIDTH, min(widest, _MAX_SENDER_WIDTH))
    columns = visible_columns(COLUMNS, {"AT": (at_width, at_width), "WHO": (_MIN_SENDER_WIDTH, sender_width)})
    return Listing(
        columns=columns,
        keys=list(matching),
        make=lambda key: make_cells(columns, matching[key]) if key in matching else (),
        empty=empty if is_loaded else ("reading …",),
        total=len(rows),
    )


def line_of(entry: Entry) -> tuple[str, str]:
    """Return the command line equivalent to the command of an entry, or why there is none."""
    event = entry.event
    if not isinstance(event, CommandApplied):
        return "", "choose a command that was applied"
    line = shell_line(event.command, event.args)
    lacks = describe_omissions(event.command, event.args) if line else "only a program sends it"
    return "" if lacks else line, lacks


class RelatedEvents(NamedTuple):
    """The events of a command, and the events after it."""

    caused: Sequence[Entry] = ()
    """Events of the same step as the command."""
    later: Sequence[Entry] = ()
    earlier: Sequence[Entry] = ()
    """Events before those of the step, which its sender knew, the oldest first."""


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
    cells = [labelled_cell("sent", f"by {event.sender or 'an unknown sender'}, {event.role}, at {when}")]
    if isinstance(event, CommandApplied):
        command_text = shell_line(event.command, event.args) or describe_command(event.command, event.args)
        lacks = describe_omissions(event.command, event.args)
        cells += [labelled_cell("not in it", lacks, "warn")] if lacks else []
        cells += [labelled_cell("outcome", f"✓ {event.summary}", "done"), _undo_cell(event, entries, state)]
    else:
        command_text = event.command.replace("_", " ")
        cells += [
            labelled_cell("outcome", f"✕ refused: {event.reason}", "error"),
            labelled_cell("undo", "it changed nothing"),
        ]
    lines = [*labelled_paragraphs([Cell(command_text, "strong")], width), *labelled_paragraphs(cells, width)]
    lines.append(hairline("EVENTS WITH IT", width))
    # In the past, hide events after the moment shown, which may include events of the command itself.
    related = beside or RelatedEvents()
    caused, later = ([entry for entry in each if entry.seq <= state.seq] for each in (related.caused, related.later))
    if not caused:
        lines.append(Line((Span(" reading …" if beside is None else " none", "faint"),)))
    lines += _event_lines(caused, names, width, height - len(lines))
    if later and height - len(lines) > 1:
        lines.append(hairline("WHAT CAME NEXT", width, right=fill_keys("<events:6> has all events")))
        lines += _event_lines(later, names, width, height - len(lines))
    if related.earlier and (left := height - len(lines) - 1) > 0:
        lines.append(hairline("WHAT CAME BEFORE", width))
        lines += _event_lines(related.earlier[-left:], names, width, left)
    does = "Y copies its line · " if line_of(entry)[0] else ""
    return RowDetails("COMMAND", lines, f"{does}enter opens it")


def _event_lines(entries: Sequence[Entry], names: Names, width: int, max_lines: int) -> list[Line]:
    return indent_lines(draw_tail([to_tail_line(entry, names) for entry in entries[: max(0, max_lines)]], width - 2, 0))


def _undo_cell(event: CommandApplied, entries: Sequence[Entry], state: State) -> Cell:
    """Return whether a command can be undone, and how."""
    for entry in entries:
        if isinstance(entry.event, CommandUndone) and entry.event.command_id == event.command_id:
            return labelled_cell("undo", f"↶ undone at seq {entry.seq:,}", "paused")
    undoable = state.undoable.get(event.command_id)
    if event.inverse is None:
        return labelled_cell("undo", "no command can undo it", "muted")
    if undoable is None:
        return labelled_cell("undo", f"it is not among the last {MAX_UNDOABLE:,} changes that can be undone", "muted")
    if current_value_of(state, as_command(undoable.inverse)) != undoable.left:
        return labelled_cell("undo", "what it changed has changed since: change it by hand", "warn")
    return labelled_cell("undo", f":undo {short_id(event.command_id)} undoes it", "accent")


def _texts(event: CommandApplied | CommandRefused) -> tuple[str, ...]:
    if isinstance(event, CommandApplied):
        return event.sender, event.role, shell_line(event.command, event.args), event.summary, "applied"
    return event.sender, event.role, event.command, event.reason, "refused"


def _values(event: CommandApplied | CommandRefused) -> dict[str, str]:
    """Return the values for the keys of filters."""
    return {"kind": event.command, "status": "applied" if isinstance(event, CommandApplied) else "refused"}
