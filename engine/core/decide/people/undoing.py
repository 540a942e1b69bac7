"""Decides on `Undo`: a command can be undone until its object changes again. Inverses: `queries.people.inverses`."""

from engine.core.commands import Undo
from engine.core.decisions.outcomes import Decided
from engine.core.errors import Refused
from engine.core.events import CommandUndone
from engine.core.queries.people.inverses import as_command, complete_id, current_value_of
from engine.core.queries.people.undoables import describe_undoable, first_part, irrevocable_after
from engine.core.state import State, Undoable

UNDOABLE_KINDS = "swaps, rollbacks, pause, resume, settings, priorities, deadlines, moves and specialties"


def find_undoable(state: State, command: Undo, now_ms: int) -> tuple[str, Undoable]:
    """Return the id and record of the command to undo.

    Raises:
        Refused: If what it changed has changed since, or, without an id, if a later change cannot be undone.
    """
    if command.command_id is None:
        if not state.undoable:
            raise Refused(f"there is nothing to undo; {UNDOABLE_KINDS} can be")
        command_id = next(reversed(state.undoable))
        if (barrier := irrevocable_after(state, command_id)) is not None:
            before = describe_undoable(state.undoable[command_id], now_ms)
            raise Refused(
                f"{first_part(barrier.summary)} cannot be taken back; before it: {before}; "
                f"to take that back: undo {command_id[:8]}"
            )
    else:
        command_id = complete_id(state, command.command_id)
    undoable = state.undoable.get(command_id)
    if undoable is None:
        raise Refused(_refusal_reason(state, command_id))
    if current_value_of(state, as_command(undoable.inverse)) != undoable.left:
        raise Refused(
            f"what {undoable.command} did ({undoable.summary}) has changed since; look at it, and change it by hand"
        )
    return command_id, undoable


def _refusal_reason(state: State, command_id: str) -> str:
    outcome = state.commands.get(command_id)
    if outcome is None:
        return f"no command {command_id!r} is known; events --json shows the ids"
    if outcome.status == "refused":
        return f"command {command_id} was refused and changed nothing"
    return f"command {command_id} cannot be undone, or was already; {UNDOABLE_KINDS} can be"


def undo_event(command_id: str, undoable: Undoable, decided: Decided) -> Decided:
    """Return the decision on an `Undo` from the decision on the inverse command."""
    return Decided(
        events=[
            *decided.events,
            CommandUndone(command_id=command_id, command=undoable.command, summary=undoable.summary),
        ],
        summary=f"undone: {decided.summary}",
        result=decided.result | {"undone": command_id},
    )
