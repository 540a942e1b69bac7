"""Fold: differences between the team and its last declaration.

A change records the declared value; a change back to it removes the record. So exactly the differences are kept.
"""

from collections.abc import Sequence

from engine.core.events import MembersDeclared
from engine.core.events.hierarchy import Declared
from engine.core.queries.team.declared import ORDER, setting
from engine.core.specs.spec import digest
from engine.core.state import Declaration, State, Supervisor

MAX_REMOVED_NAMES = 1000
"""Limit on the recorded names of removed members of one supervisor."""


def declare(state: State, member_id: str, name: str, parent_id: str | None) -> None:
    """Record that a member is added as declared."""
    state.declared[member_id] = Declaration()
    parent_declaration = state.declared.get(parent_id or "")
    if parent_declaration is not None and name in parent_declaration.removed:
        parent_declaration.removed.remove(name)


def forget_declared(state: State, member_id: str, name: str, parent_id: str | None) -> None:
    """Record that a declared member is removed, at the supervisor under which it was declared."""
    declared = state.declared.pop(member_id, None)
    if declared is None:
        return
    parent_declaration = state.declared.get((declared.parent_id if declared.parent_id is not None else parent_id) or "")
    if parent_declaration is not None:
        parent_declaration.removed = [*parent_declaration.removed, name][-MAX_REMOVED_NAMES:]


def digests(state: State, supervisor: Supervisor, names: Sequence[str]) -> dict[str, str]:
    """Return digests of settings that are about to change; none if the supervisor is not declared."""
    return {name: digest(setting(supervisor, name)) for name in names} if supervisor.id in state.declared else {}


def record_settings(state: State, supervisor: Supervisor, before: dict[str, str]) -> None:
    """Record the declared digests of changed settings."""
    for name, was in before.items():
        declared = state.declared[supervisor.id].settings
        now = digest(setting(supervisor, name))
        if declared.setdefault(name, was) == now:
            del declared[name]


def record_spec(state: State, agent_id: str, was: str, now: str) -> None:
    """Record the declared spec of an agent whose spec has changed."""
    declared = state.declared.get(agent_id)
    if declared is not None:
        before = was if declared.spec is None else declared.spec
        declared.spec = None if before == now else before


def record_order(state: State, supervisor_id: str) -> None:
    """Record that the members of a supervisor are no longer in declared order."""
    declared = state.declared.get(supervisor_id)
    if declared is not None:
        declared.settings[ORDER] = ""


def record_parent(state: State, member_id: str, was: str | None, now: str) -> None:
    """Record the declared supervisor of a member that was moved."""
    declared = state.declared.get(member_id)
    if declared is not None:
        before = (was or "") if declared.parent_id is None else declared.parent_id
        declared.parent_id = None if before == now else before


def _members_declared(state: State, event: MembersDeclared) -> None:
    for member_id in event.same:
        state.declared[member_id] = Declaration()
    for member_id, declared in event.different.items():
        state.declared[member_id] = _declaration(declared)
    for member_id in event.dropped:
        state.declared.pop(member_id, None)


def _declaration(declared: Declared) -> Declaration:
    return Declaration(
        spec=declared.spec,
        settings=dict(declared.settings),
        parent_id=declared.parent_id,
        removed=list(declared.removed),
    )
