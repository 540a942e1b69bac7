"""Sentences about who is in the team."""

from collections.abc import Callable
from typing import Any

from dashboard.views.amounts import counted
from dashboard.views.names import Names
from engine.core.events import (
    AgentAdded,
    AgentBroke,
    AgentMended,
    AgentPaused,
    AgentRemoved,
    AgentRemoving,
    AgentResumed,
    AgentSwapped,
    QueueMade,
    SpecRegistered,
    SpecUnregistered,
    SupervisorAdded,
    SupervisorPaused,
    SupervisorRemoved,
    SupervisorResumed,
    SwapDrained,
    ThreadReturned,
)

_LEAVES = {
    "drain": "once its work is done",
    "requeue": "its work goes to others",
    "abort": "its work is stopped",
}


def _supervisor_added(event: SupervisorAdded, names: Names) -> str:
    under = f" under {names.of(event.parent_id)}" if event.parent_id else ""
    return f"supervisor {event.name} came to the team{under}, {event.mode}"


def _supervisor_removed(event: SupervisorRemoved, names: Names) -> str:
    return f"supervisor {names.of(event.supervisor_id)} left the team"


def _supervisor_paused(event: SupervisorPaused, names: Names) -> str:
    return f"supervisor {names.of(event.supervisor_id)} was paused: its agents start nothing new"


def _supervisor_resumed(event: SupervisorResumed, names: Names) -> str:
    return f"supervisor {names.of(event.supervisor_id)} goes on"


def _registered(event: SpecRegistered, names: Names) -> str:
    return f"spec {event.spec.name} is in the registry"


def _unregistered(event: SpecUnregistered, names: Names) -> str:
    return f"spec {event.name} left the registry"


def _added(event: AgentAdded, names: Names) -> str:
    return f"{event.name} came to {names.of(event.supervisor_id)}"


def _removing(event: AgentRemoving, names: Names) -> str:
    return f"{names.of(event.agent_id)} is leaving: {_LEAVES[event.mode]}"


def _removed(event: AgentRemoved, names: Names) -> str:
    why = ": idle for longest, it made room for another" if event.evicted else ""
    return f"{names.of(event.agent_id)} left the team{why}"


def _swapped(event: AgentSwapped, names: Names) -> str:
    return f"{names.of(event.agent_id)} was swapped to g{event.generation}, {event.spec.name} ({event.mode})"


def _drained(event: SwapDrained, names: Names) -> str:
    return f"{names.of(event.agent_id)} works on g{event.generation} alone now"


def _paused(event: AgentPaused, names: Names) -> str:
    return f"{names.of(event.agent_id)} was paused: it takes nothing new"


def _resumed(event: AgentResumed, names: Names) -> str:
    return f"{names.of(event.agent_id)} takes tasks again"


def _broke(event: AgentBroke, names: Names) -> str:
    how = "waits" if event.away else "cannot work"
    return f"{names.of(event.agent_id)} {how}: {event.error}"


def _mended(event: AgentMended, names: Names) -> str:
    return f"{names.of(event.agent_id)} can work again"


def _returned(event: ThreadReturned, names: Names) -> str:
    return f"a thread of {names.of(event.agent_id)} came back, its slot is free"


def _queue(event: QueueMade, names: Names) -> str:
    able = ", ".join(names.of(agent_id) for agent_id in event.agent_ids[:5]) or "nobody"
    more = f" and {counted(len(event.agent_ids) - 5, 'other')}" if len(event.agent_ids) > 5 else ""
    return f"asked for the first time: who can {event.capability}? {able}{more}"


SENTENCES: dict[type, Callable[[Any, Names], str]] = {
    SupervisorAdded: _supervisor_added,
    SupervisorRemoved: _supervisor_removed,
    SupervisorPaused: _supervisor_paused,
    SupervisorResumed: _supervisor_resumed,
    SpecRegistered: _registered,
    SpecUnregistered: _unregistered,
    AgentAdded: _added,
    AgentRemoving: _removing,
    AgentRemoved: _removed,
    AgentSwapped: _swapped,
    SwapDrained: _drained,
    AgentPaused: _paused,
    AgentResumed: _resumed,
    AgentBroke: _broke,
    AgentMended: _mended,
    ThreadReturned: _returned,
    QueueMade: _queue,
}
