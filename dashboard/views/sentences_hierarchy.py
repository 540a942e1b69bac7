"""Sentences about where members stand, what is set for supervisors, and how large pools are."""

from collections.abc import Callable
from typing import Any

from dashboard.views.amounts import counted
from dashboard.views.names import Names
from engine.core.events import (
    CoordinationTuned,
    MemberMoved,
    MemberRenamed,
    MembersDeclared,
    MembersOrdered,
    PoolResized,
    PoolWatched,
    SupervisorChanged,
    SupervisorLeaving,
)

_GOES = {"drain": "once its work is done", "abort": "its work is stopped"}


def _moved(event: MemberMoved, names: Names) -> str:
    before = f"from {names.of(event.previous_id)} " if event.previous_id else ""
    return f"{names.of(event.member_id)} went {before}under {names.of(event.parent_id)}"


def _renamed(event: MemberRenamed, names: Names) -> str:
    return f"{event.previous} is called {names.of(event.member_id)}"


def _ordered(event: MembersOrdered, names: Names) -> str:
    return f"{names.of(event.supervisor_id)} has its members in this order: {', '.join(map(names.of, event.members))}"


def _declared(event: MembersDeclared, names: Names) -> str:
    declared = len(event.same) + len(event.different)
    said = f"{counted(declared, 'member is', 'members are')} declared"
    return f"{said}, {len(event.dropped):,} no longer" if event.dropped else said


def _changed(event: SupervisorChanged, names: Names) -> str:
    return f"{names.of(event.supervisor_id)} has other settings: {', '.join(event.fields)}"


def _leaving(event: SupervisorLeaving, names: Names) -> str:
    return f"supervisor {names.of(event.supervisor_id)} is leaving with all under it: {_GOES[event.mode]}"


def _resized(event: PoolResized, names: Names) -> str:
    how = "grew" if event.size > event.previous else "shrank"
    return f"{names.of(event.agent_id)} {how} from {event.previous:,} to {event.size:,}: {event.reason}"


def _watched(event: PoolWatched, names: Names) -> str:
    if event.due_ms is None:
        return f"every instance of {names.of(event.agent_id)} is at work: none goes"
    left_s = (event.due_ms - event.at_ms) / 1000
    return f"an instance of {names.of(event.agent_id)} has nothing to do; it goes in {left_s:g} s if that stays so"


def _tuned(event: CoordinationTuned, names: Names) -> str:
    does = {"parallel": "works in parallel from now on", "selection": "asks those first that did well before"}
    what = does.get(event.kind, "takes back what it changed by itself")
    return f"{names.of(event.supervisor_id)} {what}: {event.why}"


SENTENCES: dict[type, Callable[[Any, Names], str]] = {
    CoordinationTuned: _tuned,
    MemberMoved: _moved,
    MemberRenamed: _renamed,
    MembersDeclared: _declared,
    MembersOrdered: _ordered,
    SupervisorChanged: _changed,
    SupervisorLeaving: _leaving,
    PoolResized: _resized,
    PoolWatched: _watched,
}
