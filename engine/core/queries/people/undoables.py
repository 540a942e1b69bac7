"""What an undo takes back, and what it stops at."""

from engine.core.state import Irrevocable, State, Undoable


def irrevocable_after(state: State, command_id: str) -> Irrevocable | None:
    """Return the last change that cannot be undone, if it came after a command that can be."""
    last, undoable = state.irrevocable, state.undoable.get(command_id)
    return last if last is not None and undoable is not None and last.seq > undoable.seq else None


def describe_undoable(undoable: Undoable, now_ms: int) -> str:
    """Return what a command did, and how long ago."""
    what = first_part(undoable.summary) or undoable.command.replace("_", " ")
    if not undoable.at_ms:
        return what
    seconds = max(0, now_ms - undoable.at_ms) // 1_000
    ago = f"{seconds} s" if seconds < 120 else f"{seconds // 60} min" if seconds < 7_200 else f"{seconds // 3_600} h"
    return f"{what}, {ago} ago"


def first_part(summary: str) -> str:
    """Return what a command did, without what follows from it."""
    return summary.partition(";")[0]
