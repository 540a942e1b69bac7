"""The questions that both sides ask: the engine through its own thread, readers directly."""

from collections.abc import Sequence
from typing import Any

from store.records import CommandRow

RECORD_COLUMNS = "seq, at_ms, kind, CAST(body AS BLOB), run_id, task_id, agent_id"
"""What a `Record` is made of, in its order."""

SNAPSHOT_AT_OR_BEFORE = "SELECT seq, body FROM snapshots WHERE seq <= ? ORDER BY seq DESC LIMIT 1"
NEWEST_SEQ = 2**63 - 1
"""Bound that no seq passes."""

_COMMAND = "(?, ?, CAST(? AS TEXT), ?, ?, ?)"
PENDING_COMMANDS = """
SELECT id, kind, CAST(body AS BLOB), sender, role, at_ms
  FROM commands WHERE state = 'pending' ORDER BY place LIMIT ?
"""
ANY_PENDING = "SELECT EXISTS (SELECT 1 FROM commands WHERE state = 'pending')"
COMMAND_OUTCOME = "SELECT id, state, seq, reason, CAST(result AS BLOB) FROM commands WHERE id = ?"


def put_commands(commands: Sequence[CommandRow]) -> tuple[str, tuple[Any, ...]]:
    """One statement that queues commands, all of them or none, and its parameters; for 5,000 at most."""
    values = ", ".join([_COMMAND] * len(commands))
    parameters = tuple(
        value for one in commands for value in (one.id, one.kind, one.body, one.sender, one.role, one.at_ms)
    )
    return (
        f"INSERT INTO commands (id, kind, body, sender, role, at_ms) VALUES {values} ON CONFLICT (id) DO NOTHING",
        parameters,
    )
