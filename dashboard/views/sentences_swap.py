"""Sentences about agents and tasks that change while they work."""

from collections.abc import Callable
from typing import Any

from dashboard.views.names import Names
from engine.core.events import (
    AttemptMigrated,
    CapabilitiesChanged,
    SwapHurried,
    SwapRolledBack,
    TaskReassigned,
)


def _migrated(event: AttemptMigrated, names: Names) -> str:
    return f"{names.of(event.task_id)} goes on with g{event.generation} of {names.of(event.agent_id)}"


def _rolled_back(event: SwapRolledBack, names: Names) -> str:
    itself = " by itself" if event.by_itself else ""
    return (
        f"{names.of(event.agent_id)} went back{itself} to {event.spec.name} as g{event.generation} "
        f"({event.mode}): {event.why}"
    )


def _hurried(event: SwapHurried, names: Names) -> str:
    how = "begins again on it" if event.mode == "abort" else "goes on with it"
    return f"{names.of(event.agent_id)} waits no more for work before g{event.generation}: it {how}"


def _capabilities(event: CapabilitiesChanged, names: Names) -> str:
    said = [
        f"can {', '.join(event.added)} now" if event.added else "",
        f"no longer does {', '.join(event.removed)}" if event.removed else "",
    ]
    return f"{names.of(event.agent_id)} {' and '.join(one for one in said if one)}"


def _reassigned(event: TaskReassigned, names: Names) -> str:
    when = "" if event.stopping is None else "; it is stopped now" if event.now else ", from its next step on"
    return f"{names.of(event.task_id)} was given to {names.of(event.agent_id)}{when}"


SENTENCES: dict[type, Callable[[Any, Names], str]] = {
    AttemptMigrated: _migrated,
    SwapRolledBack: _rolled_back,
    SwapHurried: _hurried,
    CapabilitiesChanged: _capabilities,
    TaskReassigned: _reassigned,
}
