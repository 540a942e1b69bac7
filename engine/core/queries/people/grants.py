"""Grants: which standing answer of a person covers the call of a tool.

A call goes on without a question only by a grant in force for this generation of its agent: for its task, its run, a
time, or always, and for the argument values that the person saw. A rejection wins, then the narrower grant.
"""

import json
from collections.abc import Iterable
from typing import NamedTuple

from engine.core.errors import Refused
from engine.core.events import GrantGiven
from engine.core.records.records import JsonValue
from engine.core.records.shared import EMPTY
from engine.core.state import Grant, GrantScope, State

MAX_VALUE_CHARACTERS = 10_000
"""Length of the JSON text of an argument that a grant can be limited to."""
_WIDTHS: dict[GrantScope, int] = {"task": 0, "run": 1, "until": 2, "always": 3}


class AskedCall(NamedTuple):
    """A call that a person may have answered beforehand."""

    agent_id: str
    generation: int
    tool: str
    task_id: str
    run_id: str
    arguments: JsonValue
    """Its arguments; a value other than an object has no names to compare."""


def find_grant(state: State, call: AskedCall, now_ms: int) -> Grant | None:
    """Return the grant that covers a call at `now_ms`; None if a person has to be asked."""
    # The clock of a machine can be set back, the time of events cannot: a grant that has ended stays ended.
    now_ms = max(now_ms, state.at_ms)
    covering = [grant for grant in state.grants.values() if covers(grant, call, now_ms)]
    return min(covering, key=lambda grant: (grant.allows, not grant.where, _WIDTHS[grant.scope]), default=None)


def grant_from(event: GrantGiven, at_ms: int) -> Grant:
    """Return the grant that an event of `at_ms` gives."""
    return Grant(
        id=event.grant_id,
        agent_id=event.agent_id,
        generation=event.generation,
        tool=event.tool,
        allows=event.allows,
        given_ms=at_ms,
        scope=event.scope,
        scope_id=event.scope_id,
        until_ms=event.until_ms,
        where=event.where or EMPTY,
    )


def grants_of(state: State, scope: GrantScope, scope_id: str) -> list[Grant]:
    """Return the grants for a task or a run."""
    return [grant for grant in state.grants.values() if (grant.scope, grant.scope_id) == (scope, scope_id)]


def covers(grant: Grant, call: AskedCall, now_ms: int) -> bool:
    """Return whether a grant covers a call at `now_ms`."""
    if (grant.agent_id, grant.generation, grant.tool) != (call.agent_id, call.generation, call.tool):
        return False
    if grant.scope in ("task", "run") and grant.scope_id != (call.task_id if grant.scope == "task" else call.run_id):
        return False
    if grant.until_ms is not None and now_ms >= grant.until_ms:
        return False
    arguments = call.arguments if isinstance(call.arguments, dict) else {}
    return all(name in arguments and value_text(arguments[name]) == text for name, text in grant.where.items())


def argument_texts(names: Iterable[str], arguments: JsonValue) -> dict[str, str]:
    """Return the JSON texts of the named arguments, which a grant compares; raises Refused."""
    texts = {}
    values = arguments if isinstance(arguments, dict) else {}
    for name in names:
        if name not in values:
            raise Refused(f"the call has no argument {name!r:.60}; it has {', '.join(values) or 'none'}")
        texts[name] = value_text(values[name])
        if len(texts[name]) > MAX_VALUE_CHARACTERS:
            raise Refused(f"the argument {name!r} is longer than the {MAX_VALUE_CHARACTERS:,} characters to compare")
    return texts


def value_text(value: JsonValue) -> str:
    """Return the one JSON text of a value: 1, 1.0, "1" and true differ, the order of keys does not."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
