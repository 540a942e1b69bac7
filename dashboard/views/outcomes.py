"""What became of a command, in one sentence."""

from collections.abc import Mapping
from typing import Any, Literal

from dashboard.views.rows import Cell
from engine.core.commands import Command, Rollback, RollbackAgents, SwapAgent, SwapAgents


def spoken(
    command: Command,
    status: Literal["applied", "refused", "pending"],
    seq: int | None,
    *,
    summary: str = "",
    reason: str | None = None,
    undoable: bool = False,
) -> Cell:
    """Return the sentence: applied at seq N, refused because, or queued; with the key that takes it back."""
    what = command.type.replace("_", " ")
    if status == "applied":
        return Cell(f"✓ {summary or what}, applied at seq {seq:,}{' · u undo' if undoable else ''}", "busy")
    if status == "refused":
        return Cell(f"refused: {reason or what}", "error")
    return Cell(f"queued: {what}; no engine has taken it yet, the next one will", "draining")


def changed_agents(command: Command, result: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Return the agents that a command gave another generation, with its number; none of another command."""
    if not isinstance(command, SwapAgent | SwapAgents | Rollback | RollbackAgents):
        return []
    each = result.get("agents", [result])
    return [(str(one["agent_id"]), int(one["generation"])) for one in each if "agent_id" in one]
