"""What became of a command, in one sentence."""

from typing import Literal

from dashboard.views.rows import Cell
from engine.core.commands import Command


def spoken(
    command: Command,
    status: Literal["applied", "refused", "pending"],
    seq: int | None,
    *,
    summary: str = "",
    reason: str | None = None,
) -> Cell:
    """Return the sentence: applied at seq N, refused because, or queued."""
    what = command.type.replace("_", " ")
    if status == "applied":
        return Cell(f"✓ {summary or what}, applied at seq {seq:,}", "busy")
    if status == "refused":
        return Cell(f"refused: {reason or what}", "error")
    return Cell(f"queued: {what}; no engine has taken it yet, the next one will", "draining")
