"""SQL queries that both sides use: the engine through its own thread, readers directly."""

import json
import sys
from collections.abc import Collection, Iterable, Sequence
from typing import Any, TypedDict

from store.errors import CommandTooLarge
from store.journals.records import LARGEST_COMMAND_BYTES, CommandRow

RECORD_COLUMNS = """
seq, CAST(at_ms AS INTEGER), CAST(kind AS TEXT), CAST(body AS BLOB), CAST(run_id AS TEXT), CAST(task_id AS TEXT),
CAST(agent_id AS TEXT)
"""
"""What a `Record` is made of, in its order."""
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
"""Bound that no seq passes."""

_COMMAND = "(?, ?, CAST(? AS TEXT), ?, ?, ?)"
_LONGEST_BYTES = 1_000
"""Of the other columns of a command."""


def _bytes_of(column: str) -> str:
    return f"substr(CAST({column} AS BLOB), 1, {_LONGEST_BYTES + 1})"


_UNNAMED = "unnamed-"
_SIZE = "length(CAST(body AS BLOB))"
_NEXT_PENDING = """
SELECT place FROM commands
 WHERE state = 'pending' AND place > {after} AND id NOT IN (SELECT value FROM json_each(:but)) ORDER BY place LIMIT 1
"""
_DUE = f"""
WITH RECURSIVE due (place, bytes) AS (
    SELECT place, {_SIZE} FROM commands WHERE place = ({_NEXT_PENDING.format(after=0)})
     UNION ALL
    SELECT one.place, due.bytes + {_SIZE} FROM due
      JOIN commands AS one ON one.place = ({_NEXT_PENDING.format(after="due.place")})
     WHERE due.bytes < :bytes
     LIMIT :limit
)
SELECT place FROM due
"""
_LARGEST_FIRST_BYTES = 65_536
_MOST_FIRST = 100


def _is_first(table: str) -> str:
    """Return the condition on rows that may come ahead; the longest wait, so that a read stays bounded."""
    kinds = f"{table}.kind IN (SELECT value FROM json_each(:first))"
    return f"({kinds} AND length(CAST({table}.body AS BLOB)) <= {_LARGEST_FIRST_BYTES})"


_FIRST = f"""
SELECT place FROM commands AS one
 WHERE state = 'pending' AND {_is_first("one")} AND id NOT IN (SELECT value FROM json_each(:but))
   AND NOT EXISTS (
       SELECT 1 FROM commands AS earlier
        WHERE earlier.state = 'pending' AND earlier.sender = one.sender AND earlier.place < one.place
          AND earlier.id NOT IN (SELECT value FROM json_each(:but)) AND NOT {_is_first("earlier")}
   )
 ORDER BY place LIMIT {_MOST_FIRST}
"""
_PENDING_COMMANDS = f"""
SELECT CASE typeof(id) WHEN 'text' THEN {_bytes_of("id")} ELSE x'' END, {_bytes_of("kind")},
       CASE WHEN {_SIZE} <= {LARGEST_COMMAND_BYTES} THEN CAST(body AS BLOB) END,
       {_bytes_of("sender")}, {_bytes_of("role")}, CAST(at_ms AS INTEGER), {_SIZE}, place
  FROM commands WHERE place IN ({_FIRST}) OR place IN ({_DUE}) ORDER BY place NOT IN ({_FIRST}), place
"""
"""Rows for `command_of`, but for those whose ids are `:but`: `:limit` at most, and none after `:bytes` of bodies.

Before them come those of the kinds `:first`, but each after the earlier ones of its sender.

Others write them, so a column may hold anything: bytes are read, no more than are taken.
"""
NAME_COMMANDS = f"""
UPDATE commands SET id = '{_UNNAMED}' || place || '-' || lower(hex(randomblob(8)))
 WHERE place IN (SELECT value FROM json_each(?))
"""
"""Gives rows an id that have none that can be told, so that they can be settled."""
ANY_PENDING = "SELECT EXISTS (SELECT 1 FROM commands WHERE state = 'pending')"
COMMAND_OUTCOME = "SELECT id, state, seq, reason, CAST(result AS BLOB) FROM commands WHERE id = ?"


def pending_commands(
    *, limit: int, most_bytes: int = sys.maxsize, but: Iterable[str] = (), first: Iterable[str] = ()
) -> tuple[str, dict[str, Any]]:
    """Return the statement that reads pending commands, with its parameters."""
    given = {"limit": limit, "bytes": most_bytes, "but": json.dumps([*but]), "first": json.dumps(sorted(first))}
    return _PENDING_COMMANDS, given


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


def command_of(found: Sequence[Any]) -> CommandRow | None:
    """Return what a row of `_PENDING_COMMANDS` says; None where it has no id that can be told."""
    named, kind, body, sender, role, at_ms, size, _ = found
    id = _text(named)
    if not id or not id.isprintable():
        return None
    texts = [_text(one) for one in (kind, sender, role)]
    fault = ""
    if id.startswith(_UNNAMED):
        fault = f"its id must be a printable text of at most {_LONGEST_BYTES:,} bytes in UTF-8"
    elif None in texts:
        fault = f"its kind, sender and role must be texts of at most {_LONGEST_BYTES:,} bytes in UTF-8"
    elif size > LARGEST_COMMAND_BYTES:
        fault = str(CommandTooLarge(size, LARGEST_COMMAND_BYTES))
    told = [text if text is not None else "unreadable" for text in texts]
    return CommandRow(id, told[0], body or b"", told[1], told[2], at_ms, fault)


def _text(value: bytes | None) -> str | None:
    if value is None:  # which is what a part of an empty text is
        return ""
    try:
        return value.decode() if len(value) <= _LONGEST_BYTES else None
    except UnicodeDecodeError:
        return None


class Conditions(TypedDict, total=False):
    """What records must all meet; None, or nothing said, means no condition.

    Only `run_id` has an index. A task belongs to one run, so name its run as well; the other conditions walk the
    journal from where the page begins.
    """

    kinds: Collection[str] | None
    """Any of these kinds."""
    run_id: str | None
    task_id: str | None
    agent_id: str | None
    contains: str | None
    """Text in the body, in any case of the letters a to z."""
    value: str | None
    """A text that is a value of its own in the body, such as an id; likewise in any case."""
    agent_ids: Collection[str] | None
    """Any of these."""
    run_ids: Collection[str] | None
    task_ids: Collection[str] | None
    mentions: Sequence[tuple[str, Collection[str]]] | None
    """Each of these: the text in the body or the kind, or one of the ids as its run, task or agent."""


_MENTIONED = (
    " AND (body LIKE {text} ESCAPE '\x1b' OR kind LIKE {text} ESCAPE '\x1b'"
    " OR agent_id IN {ids} OR task_id IN {ids} OR run_id IN {ids})"
)


def condition_of(conditions: Conditions) -> tuple[str, dict[str, Any]]:
    """Return what to add to a WHERE that has a first term already, and its parameters."""
    terms: list[str] = []
    parameters: dict[str, Any] = {}
    for column in ("run_id", "task_id", "agent_id"):
        if (wanted := conditions.get(column)) is not None:
            terms.append(f" AND {column} = :{column}")
            parameters[column] = wanted
    if (kinds := conditions.get("kinds")) is not None:
        terms.append(" AND kind IN (SELECT value FROM json_each(:kinds))")
        parameters["kinds"] = json.dumps(list(kinds))
    of = ("agent_id", conditions.get("agent_ids")), ("run_id", conditions.get("run_ids"))
    for column, wanted_ids in (*of, ("task_id", conditions.get("task_ids"))):
        if wanted_ids is not None:
            terms.append(f" AND {column} IN (SELECT value FROM json_each(:{column}s))")
            parameters[f"{column}s"] = json.dumps(list(wanted_ids))
    for place, (text, ids) in enumerate(conditions.get("mentions") or ()):
        terms.append(_MENTIONED.format(text=f":text{place}", ids=f"(SELECT value FROM json_each(:ids{place}))"))
        parameters |= {f"text{place}": f"%{_spelled(text)}%", f"ids{place}": json.dumps(list(ids))}
    if contains := conditions.get("contains"):
        terms.append(" AND body LIKE :contains ESCAPE '\x1b'")
        parameters["contains"] = f"%{_spelled(contains)}%"
    if value := conditions.get("value"):
        terms.append(" AND body LIKE :value ESCAPE '\x1b'")
        parameters["value"] = f'%"{_spelled(value)}"%'
    return "".join(terms), parameters


def _spelled(text: str) -> str:
    """`text` in a LIKE pattern, as JSON spells it; the escape character of the pattern cannot stand in JSON."""
    spelled = json.dumps(text, ensure_ascii=False)[1:-1]
    for wildcard in "%_":
        spelled = spelled.replace(wildcard, "\x1b" + wildcard)
    return spelled
