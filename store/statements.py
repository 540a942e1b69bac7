"""The questions that both sides ask: the engine through its own thread, readers directly."""

from typing import Any

from store.records import CommandRow

RECORD_COLUMNS = "seq, at_ms, kind, CAST(body AS BLOB), run_id, task_id, agent_id"
"""What a `Record` is made of, in its order."""

SNAPSHOT_AT_OR_BEFORE = "SELECT seq, body FROM snapshots WHERE seq <= ? ORDER BY seq DESC LIMIT 1"
NEWEST_SEQ = 2**63 - 1
"""Bound that no seq passes."""

PUT_COMMAND = """
INSERT INTO commands (id, kind, body, sender, role, at_ms) VALUES (?, ?, CAST(? AS TEXT), ?, ?, ?)
    ON CONFLICT (id) DO NOTHING
"""
PENDING_COMMANDS = """
SELECT id, kind, CAST(body AS BLOB), sender, role, at_ms
  FROM commands WHERE state = 'pending' ORDER BY place LIMIT ?
"""
ANY_PENDING = "SELECT EXISTS (SELECT 1 FROM commands WHERE state = 'pending')"
COMMAND_OUTCOME = "SELECT id, state, seq, reason, CAST(result AS BLOB) FROM commands WHERE id = ?"


def command_parameters(command: CommandRow) -> tuple[Any, ...]:
    """The parameters of `PUT_COMMAND`."""
    return command.id, command.kind, command.body, command.sender, command.role, command.at_ms
