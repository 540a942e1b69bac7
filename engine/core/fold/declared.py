"""Fold: what was declared of members, and what became different since.

A change is remembered by what was there before it; one that restores that is forgotten again. So what stands here is
exactly what differs from the last declaration.
"""

from collections.abc import Sequence

from engine.core.declared import ORDER, setting
from engine.core.events import MembersDeclared
from engine.core.events.hierarchy import Declared
from engine.core.fold.timers import Handlers
from engine.core.spec import digest
from engine.core.state import Declaration, State, Supervisor

MOST_REMOVED = 1000
"""How many removed members of one supervisor are remembered."""


def declare(state: State, member_id: str, name: str, parent_id: str | None) -> None:
    """A member is added as it is declared."""
    state.declared[member_id] = Declaration()
    above = state.declared.get(parent_id or "")
    if above is not None and name in above.removed:
        above.removed.remove(name)


def forget_declared(state: State, member_id: str, name: str, parent_id: str | None) -> None:
    """A member is removed; the supervisor under which it was declared remembers that."""
    declared = state.declared.pop(member_id, None)
    if declared is None:
        return
    above = state.declared.get((declared.parent_id if declared.parent_id is not None else parent_id) or "")
    if above is not None:
        above.removed = [*above.removed, name][-MOST_REMOVED:]


def digests(state: State, supervisor: Supervisor, names: Sequence[str]) -> dict[str, str]:
    """Return digests of settings that are about to change, where it matters."""
    return {name: digest(setting(supervisor, name)) for name in names} if supervisor.id in state.declared else {}


def settings_changed(state: State, supervisor: Supervisor, before: dict[str, str]) -> None:
    """Remember what settings were, by the digests of before they changed."""
    for name, was in before.items():
        declared = state.declared[supervisor.id].settings
        now = digest(setting(supervisor, name))
        if declared.setdefault(name, was) == now:
            del declared[name]


def spec_changed(state: State, agent_id: str, was: str, now: str) -> None:
    """Remember which spec an agent was declared with."""
    declared = state.declared.get(agent_id)
    if declared is not None:
        before = was if declared.spec is None else declared.spec
        declared.spec = None if before == now else before


def order_changed(state: State, supervisor_id: str) -> None:
    """Remember that members of a supervisor stand in another order than they were declared in."""
    declared = state.declared.get(supervisor_id)
    if declared is not None:
        declared.settings[ORDER] = ""


def parent_changed(state: State, member_id: str, was: str | None, now: str) -> None:
    """Remember under which supervisor a member was declared."""
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


HANDLERS: Handlers = {MembersDeclared: _members_declared}
