"""Previews of commands and imports, decided by the engine's own code, and their outcomes."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from dashboard.views.drawing.rows import Cell
from dashboard.views.words.amounts import pluralize
from dashboard.views.words.keyed import fill_keys
from engine.core.commands import Command
from engine.core.errors import Refused
from engine.core.events import Event
from engine.core.queries.people.inverses import INVERSES, IRREVOCABLE
from engine.core.queries.people.undoables import describe_undoable, first_part
from engine.core.state import State


class Rehearsal(NamedTuple):
    """The predicted outcome of a command."""

    summary: str
    """What it would do, in the words of the outcome; empty if it would be refused."""
    refusal: str = ""
    """Why it would be refused; empty if it would be applied."""
    events: Sequence[Event] = ()
    result: dict[str, Any] = {}


def rehearse(state: State, command: Command, now_ms: int) -> Rehearsal:
    """Predict the outcome of a command; changes nothing."""
    from engine.core.preview import preview  # a slow import (0.1 s), kept out of the first frame

    try:
        applied = preview(state, command, now_ms)
    except Refused as refusal:
        return Rehearsal("", refusal.reason)
    return Rehearsal(applied.summary, events=applied.events, result=dict(applied.result))


def describe_outcome(
    command: Command,
    status: Literal["applied", "refused", "pending"],
    seq: int | None,
    *,
    summary: str = "",
    reason: str | None = None,
    way_back: str = "",
) -> Cell:
    """Return the outcome in one line; `way_back` is a hint how to undo it."""
    command_name = command.type.replace("_", " ")
    if status == "applied":
        return Cell(f"✓ {summary or command_name}, applied at seq {seq:,}{way_back}", "busy")
    if status == "refused":
        return Cell(f"refused: {reason or command_name}", "error")
    return Cell(reason or f"queued: {command_name}; no engine has taken it yet, the next one will", "draining")


UNDO_HINT = " · <undo:u> undo"
UNDO_PREVIOUS_HINT = " · <undo:u> undoes the one before"
REDO_HINT = " · <undo:u> takes that back"
"""Hints after a change that can be undone, after an undo, and after the undo of the first change."""
NOTHING_TO_UNDO = (
    "nothing to undo; <undo:u> undoes a swap, a pause, a priority, a deadline, a move, settings or specialties"
)


UNDO_AGAIN = " · <undo:u> again does it"
"""After what an undo would take back."""
UNDO_HINTS = (UNDO_HINT, UNDO_PREVIOUS_HINT, REDO_HINT, UNDO_AGAIN)
"""A click on a hint performs it."""


def describe_undo(
    state: State, command_ids: Sequence[str], *, summary: str = "", barrier: str = "", now_ms: int
) -> Cell:
    """Describe what an undo of some commands takes back.

    Args:
        command_ids: The newest is last.
        summary: What it did, for a state that does not know it yet.
        barrier: What came after them and cannot be taken back.
    """
    before = state.undoable.get(command_ids[-1]) if command_ids else None
    what = describe_undoable(before, now_ms) if before is not None else first_part(summary)
    what = what or ("the change before" if command_ids else "")
    more = f" and {pluralize(len(command_ids) - 1, 'other')}" if len(command_ids) > 1 else ""
    if not barrier:
        return Cell(fill_keys(f"takes back: {what}{more}{UNDO_AGAIN}"), "attention")
    rest = f"; before it: {what}{more}{UNDO_AGAIN}" if what else "; nothing before it can be"
    return Cell(fill_keys(f"{first_part(barrier)} cannot be taken back{rest}"), "attention")


def is_irrevocable(command: Command) -> bool:
    """Return whether a command ends something for good, so that an undo stops at it."""
    return str(command.type) in IRREVOCABLE


def can_be_undone(command: Command) -> bool:
    """Return whether a command has an inverse."""
    return type(command) in INVERSES


MAX_SHOWN = 8
"""References and clashes that are listed."""


def plan_lines(
    creates: Mapping[str, int],
    needs_trust: Sequence[str],
    missing: Sequence[str],
    clashes: Sequence[str],
    bound: Sequence[str],
) -> list[Cell]:
    """Return the plan of an import: its contents, the code that it would run, and name clashes."""
    cells = [Cell(describe_archive(creates), "strong", "brings   ")]
    cells += _labelled_items("its code ", needs_trust, "draining")
    cells += _labelled_items(
        "lacks    ", [f"{reference} is not in the team's folder, nor installed" for reference in missing], "error"
    )
    cells += _labelled_items("clashes  ", clashes, "error")
    cells += _labelled_items(
        "swap     ", [f"{name} was bound to the process that exported it" for name in bound], "draining"
    )
    return [*cells, Cell("everything is imported paused, with new ids", "muted")]


def describe_archive(creates: Mapping[str, int]) -> str:
    """Count the contents of an archive by kind, in words."""
    nouns = {"finished": "finished run", "runs": "open run"}
    parts = [pluralize(count, nouns.get(kind, kind.removesuffix("s"))) for kind, count in creates.items() if count]
    return ", ".join(parts) or "nothing"


def _labelled_items(label: str, items: Sequence[str], tone: str) -> list[Cell]:
    cells = [
        Cell(str(item), tone, label if index == 0 else " " * len(label)) for index, item in enumerate(items[:MAX_SHOWN])
    ]
    more = len(items) - MAX_SHOWN
    return [*cells, Cell(f"and {more} more", tone, " " * len(label))] if more > 0 else cells
