"""Previews of commands and imports, decided by the engine's own code, and their outcomes."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from dashboard.views.drawing.rows import Cell
from dashboard.views.words.amounts import pluralize
from engine.core.commands import Command
from engine.core.errors import Refused
from engine.core.events import Event
from engine.core.state import State


class Rehearsal(NamedTuple):
    """What a command would come to."""

    summary: str
    """What it would do, in the words in which it is told afterwards; empty where it would be refused."""
    refusal: str = ""
    """Why it would be refused; empty where it would not."""
    events: Sequence[Event] = ()
    result: dict[str, Any] = {}


def rehearse(state: State, command: Command, now_ms: int) -> Rehearsal:
    """Return what a command would do, or why it would be refused; nothing is changed."""
    from engine.core.preview import preview  # a tenth of a second that the first frame does not need

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
    """Return the sentence: applied at seq N, refused because, or queued; with the key that undoes it (`way_back`)."""
    command_name = command.type.replace("_", " ")
    if status == "applied":
        return Cell(f"✓ {summary or command_name}, applied at seq {seq:,}{way_back}", "busy")
    if status == "refused":
        return Cell(f"refused: {reason or command_name}", "error")
    return Cell(reason or f"queued: {command_name}; no engine has taken it yet, the next one will", "draining")


UNDO_HINT, UNDO_PREVIOUS_HINT, REDO_HINT = (
    " · <undo:u> undo",
    " · <undo:u> undoes the one before",
    " · <undo:u> takes that back",
)
"""Ends of what was said of a change that can be undone, of an undo, and of the undo of the first change."""
UNDO_HINTS = (UNDO_HINT, UNDO_PREVIOUS_HINT, REDO_HINT)
"""A click on such an end does it."""
NOTHING_TO_UNDO = (
    "nothing to undo; <undo:u> undoes a swap, a pause, a priority, a deadline, a move, settings or specialties"
)


def can_be_undone(command: Command) -> bool:
    """Tell whether there is a command that takes this one back."""
    from engine.core.queries.people.undoing import INVERSES  # not before something was changed

    return type(command) in INVERSES


MAX_SHOWN = 8
"""References and clashes that are named."""


def plan_lines(
    creates: Mapping[str, int],
    needs_trust: Sequence[str],
    missing: Sequence[str],
    clashes: Sequence[str],
    bound: Sequence[str],
) -> list[Cell]:
    """Return what comes in, what code it would run, and which names are taken."""
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
    """Return how much of each kind an archive brings, in words."""
    nouns = {"finished": "finished run", "runs": "open run"}
    parts = [pluralize(count, nouns.get(kind, kind.removesuffix("s"))) for kind, count in creates.items() if count]
    return ", ".join(parts) or "nothing"


def _labelled_items(label: str, items: Sequence[str], tone: str) -> list[Cell]:
    cells = [
        Cell(str(item), tone, label if place == 0 else " " * len(label)) for place, item in enumerate(items[:MAX_SHOWN])
    ]
    more = len(items) - MAX_SHOWN
    return [*cells, Cell(f"and {more} more", tone, " " * len(label))] if more > 0 else cells
