"""SQL queries that both sides use: the engine through its own thread, readers directly."""

import json
import sys
from collections.abc import Collection, Iterable, Sequence
from typing import Any, TypedDict

from store.errors import CommandTooLarge
from store.journals.records import MAX_COMMAND_BYTES, CommandRow

RECORD_COLUMNS = """
seq, CAST(at_ms AS INTEGER), CAST(kind AS TEXT), CAST(body AS BLOB), CAST(run_id AS TEXT), CAST(task_id AS TEXT),
CAST(agent_id AS TEXT)
"""
"""The fields of a `Record`, in its order."""
OUTLINES = """
SELECT seq, CAST(at_ms AS INTEGER), CAST(kind AS TEXT),
       CASE WHEN kind IN (SELECT value FROM json_each(:bodied)) THEN CAST(body AS BLOB) ELSE x'' END,
       CAST(run_id AS TEXT), CAST(task_id AS TEXT), CAST(agent_id AS TEXT)
  FROM journal WHERE seq BETWEEN :low AND :high AND kind IN (SELECT value FROM json_each(:kinds))
 ORDER BY seq LIMIT :limit
"""
"""Records without the bodies of most kinds."""

SNAPSHOT_AT_OR_BEFORE = "SELECT seq, body FROM snapshots WHERE seq <= ? ORDER BY seq DESC LIMIT 1"
SNAPSHOT_BETWEEN = "SELECT seq, body FROM snapshots WHERE seq > ? AND seq <= ? ORDER BY seq DESC LIMIT 1"
SNAPSHOTS = """
SELECT seq, at_ms, length(snapshots.body) FROM snapshots JOIN journal USING (seq) ORDER BY seq DESC
"""
NEWEST_SEQ = 2**63 - 1
"""Upper bound of seqs."""

_COMMAND = "(?, ?, CAST(? AS TEXT), ?, ?, ?)"
_MAX_FIELD_BYTES = 1_000
"""Size limit of the columns of a command other than its body."""


def _bounded_bytes(column: str) -> str:
    return f"substr(CAST({column} AS BLOB), 1, {_MAX_FIELD_BYTES + 1})"


_GENERATED_ID_PREFIX = "unnamed-"
_SIZE = "length(CAST(body AS BLOB))"
_NEXT_PENDING = """
SELECT place FROM commands
 WHERE state = 'pending' AND place > {after} AND id NOT IN (SELECT value FROM json_each(:but)) ORDER BY place LIMIT 1
"""
_DUE_PLACES = f"""
WITH RECURSIVE due (place, bytes) AS (
    SELECT place, {_SIZE} FROM commands WHERE place = ({_NEXT_PENDING.format(after=0)})
     UNION ALL
    SELECT successor.place, due.bytes + {_SIZE} FROM due
      JOIN commands AS successor ON successor.place = ({_NEXT_PENDING.format(after="due.place")})
     WHERE due.bytes < :bytes
     LIMIT :limit
)
SELECT place FROM due
"""
_MAX_PRIORITY_BYTES = 65_536
_MAX_PRIORITY_COMMANDS = 100


def _priority_condition(table: str) -> str:
    """Return the condition for commands with priority; large ones have none, so that a read stays bounded."""
    kinds = f"{table}.kind IN (SELECT value FROM json_each(:first))"
    return f"({kinds} AND length(CAST({table}.body AS BLOB)) <= {_MAX_PRIORITY_BYTES})"


_PRIORITY_PLACES = f"""
SELECT place FROM commands AS candidate
 WHERE state = 'pending' AND {_priority_condition("candidate")} AND id NOT IN (SELECT value FROM json_each(:but))
   AND NOT EXISTS (
       SELECT 1 FROM commands AS earlier
        WHERE earlier.state = 'pending' AND earlier.sender = candidate.sender
          AND earlier.place < candidate.place
          AND earlier.id NOT IN (SELECT value FROM json_each(:but)) AND NOT {_priority_condition("earlier")}
   )
 ORDER BY place LIMIT {_MAX_PRIORITY_COMMANDS}
"""
_PENDING_COMMANDS = f"""
SELECT CASE typeof(id) WHEN 'text' THEN {_bounded_bytes("id")} ELSE x'' END, {_bounded_bytes("kind")},
       CASE WHEN {_SIZE} <= {MAX_COMMAND_BYTES} THEN CAST(body AS BLOB) END,
       {_bounded_bytes("sender")}, {_bounded_bytes("role")}, CAST(at_ms AS INTEGER), {_SIZE}, place
  FROM commands WHERE place IN ({_PRIORITY_PLACES}) OR place IN ({_DUE_PLACES})
 ORDER BY place NOT IN ({_PRIORITY_PLACES}), place
"""
"""Rows for `parse_command`, without the ids `:but`: at most `:limit`, and no further ones after `:bytes` of bodies.

They are preceded by commands of the kinds `:first`, each after the earlier commands of its sender.

Any program can write the table, so a column may hold anything: columns are read as bytes, up to their size limit.
"""
ASSIGN_COMMAND_IDS = f"""
UPDATE commands SET id = '{_GENERATED_ID_PREFIX}' || place || '-' || lower(hex(randomblob(8)))
 WHERE place IN (SELECT value FROM json_each(?))
"""
"""Gives an id to rows without a printable one, so that they can be settled."""
ANY_PENDING = "SELECT EXISTS (SELECT 1 FROM commands WHERE state = 'pending')"
COMMAND_OUTCOME = "SELECT id, state, seq, reason, CAST(result AS BLOB) FROM commands WHERE id = ?"


def pending_commands(
    *, limit: int, max_bytes: int = sys.maxsize, excluded_ids: Iterable[str] = (), priority_kinds: Iterable[str] = ()
) -> tuple[str, dict[str, Any]]:
    """Return the statement that reads pending commands, and its parameters."""
    parameters = {
        "limit": limit,
        "bytes": max_bytes,
        "but": json.dumps([*excluded_ids]),
        "first": json.dumps(sorted(priority_kinds)),
    }
    return _PENDING_COMMANDS, parameters


def put_commands(commands: Sequence[CommandRow]) -> tuple[str, tuple[Any, ...]]:
    """Return the statement that queues commands, all or none, and its parameters; for at most 5,000 commands."""
    values = ", ".join([_COMMAND] * len(commands))
    parameters = tuple(
        value
        for command in commands
        for value in (command.id, command.kind, command.body, command.sender, command.role, command.at_ms)
    )
    return (
        f"INSERT INTO commands (id, kind, body, sender, role, at_ms) VALUES {values} ON CONFLICT (id) DO NOTHING",
        parameters,
    )


def parse_command(row: Sequence[Any]) -> CommandRow | None:
    """Return the command in a row of `_PENDING_COMMANDS`; None if its id is not printable text."""
    id_bytes, kind, body, sender, role, at_ms, size, _ = row
    id = _decode_text(id_bytes)
    if not id or not id.isprintable():
        return None
    texts = [_decode_text(column) for column in (kind, sender, role)]
    fault = ""
    if id.startswith(_GENERATED_ID_PREFIX):
        fault = f"its id must be a printable text of at most {_MAX_FIELD_BYTES:,} bytes in UTF-8"
    elif None in texts:
        fault = f"its kind, sender and role must be texts of at most {_MAX_FIELD_BYTES:,} bytes in UTF-8"
    elif size > MAX_COMMAND_BYTES:
        fault = str(CommandTooLarge(size, MAX_COMMAND_BYTES))
    readable_texts = [text if text is not None else "unreadable" for text in texts]
    return CommandRow(id, readable_texts[0], body or b"", readable_texts[1], readable_texts[2], at_ms, fault)


def _decode_text(value: bytes | None) -> str | None:
    if value is None:  # `substr` of an empty blob is NULL
        return ""
    try:
        return value.decode() if len(value) <= _MAX_FIELD_BYTES else None
    except UnicodeDecodeError:
        return None


class Conditions(TypedDict, total=False):
    """Conditions that a record must all meet; None or a missing key means no condition.

    Only `run_id` has an index. A task belongs to one run, so name its run as well; the other conditions walk the
    journal from the start of the page.
    """

    kinds: Collection[str] | None
    """Any of these kinds."""
    run_id: str | None
    task_id: str | None
    agent_id: str | None
    contains: str | None
    """Text in the body; the letters a to z match in any case."""
    value: str | None
    """A text that is a whole JSON value in the body, such as an id; letters match in any case."""
    agent_ids: Collection[str] | None
    """Any of these agents."""
    run_ids: Collection[str] | None
    task_ids: Collection[str] | None
    mentions: Sequence[tuple[str, Collection[str]]] | None
    """All of these: the text in the body or the kind, or one of the ids as its run, task or agent."""


_MENTION_TERM = (
    " AND (body LIKE {text} ESCAPE '\x1b' OR kind LIKE {text} ESCAPE '\x1b'"
    " OR agent_id IN {ids} OR task_id IN {ids} OR run_id IN {ids})"
)


def build_condition(conditions: Conditions) -> tuple[str, dict[str, Any]]:
    """Return the terms to append to a non-empty WHERE clause, and their parameters."""
    terms: list[str] = []
    parameters: dict[str, Any] = {}
    for column in ("run_id", "task_id", "agent_id"):
        if (column_value := conditions.get(column)) is not None:
            terms.append(f" AND {column} = :{column}")
            parameters[column] = column_value
    if (kinds := conditions.get("kinds")) is not None:
        terms.append(" AND kind IN (SELECT value FROM json_each(:kinds))")
        parameters["kinds"] = json.dumps(list(kinds))
    id_columns = ("agent_id", conditions.get("agent_ids")), ("run_id", conditions.get("run_ids"))
    for column, column_ids in (*id_columns, ("task_id", conditions.get("task_ids"))):
        if column_ids is not None:
            terms.append(f" AND {column} IN (SELECT value FROM json_each(:{column}s))")
            parameters[f"{column}s"] = json.dumps(list(column_ids))
    for index, (text, ids) in enumerate(conditions.get("mentions") or ()):
        terms.append(_MENTION_TERM.format(text=f":text{index}", ids=f"(SELECT value FROM json_each(:ids{index}))"))
        parameters |= {f"text{index}": f"%{_escape_like(text)}%", f"ids{index}": json.dumps(list(ids))}
    if contains := conditions.get("contains"):
        terms.append(" AND body LIKE :contains ESCAPE '\x1b'")
        parameters["contains"] = f"%{_escape_like(contains)}%"
    if value := conditions.get("value"):
        terms.append(" AND body LIKE :value ESCAPE '\x1b'")
        parameters["value"] = f'%"{_escape_like(value)}"%'
    return "".join(terms), parameters


def _escape_like(text: str) -> str:
    """Return `text` as JSON for a LIKE pattern; JSON cannot contain the escape character, a raw control character."""
    pattern = json.dumps(text, ensure_ascii=False)[1:-1]
    for wildcard in "%_":
        pattern = pattern.replace(wildcard, "\x1b" + wildcard)
    return pattern
