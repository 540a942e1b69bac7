"""Sentences about failures: who takes over, what a person said, circuits and restarts."""

from collections.abc import Callable
from typing import Any

from dashboard.views.amounts import counted, duration
from dashboard.views.names import Names
from engine.core.events import (
    AgentCheckAsked,
    AgentsRestarted,
    CircuitClosed,
    CircuitHalfOpened,
    CircuitOpened,
    DoubtSettled,
    SupervisorFailed,
    SupervisorMended,
    TaskAnswered,
    TaskFailedOver,
    TaskTriedAnew,
    ToolFailed,
    ToolStarted,
)


def _failed_over(event: TaskFailedOver, names: Names) -> str:
    return f"{names.of(event.task_id)} went to {names.of(event.to_id)}: {event.reason}"


def _tried_anew(event: TaskTriedAnew, names: Names) -> str:
    who = "nobody answered, so" if event.by == "default" else "a person says that"
    return f"{who} {names.of(event.task_id)} is tried again"


def _answered(event: TaskAnswered, names: Names) -> str:
    return f"{names.of(event.task_id)} is done: a person gave its output"


def _opened(event: CircuitOpened, names: Names) -> str:
    times = counted(event.failures, "failure")
    return f"{names.of(event.agent_id)} gets nothing to do for {duration(round(event.cool_s * 1000))}: {times} in a row"


def _half_opened(event: CircuitHalfOpened, names: Names) -> str:
    return f"{names.of(event.agent_id)} has cooled down: one attempt is let through"


def _closed(event: CircuitClosed, names: Names) -> str:
    return f"{names.of(event.agent_id)} takes tasks as before: {event.reason}"


def _restarted(event: AgentsRestarted, names: Names) -> str:
    who = ", ".join(names.of(agent_id) for agent_id in event.agent_ids[:3])
    more = f" and {counted(len(event.agent_ids) - 3, 'other')}" if len(event.agent_ids) > 3 else ""
    return f"{event.because}; {names.of(event.supervisor_id)} started {who}{more} anew ({event.strategy})"


def _failed(event: SupervisorFailed, names: Names) -> str:
    graphs = f"; {counted(len(event.groups), 'graph')} with it" if event.groups else ""
    return f"{event.error}{graphs}; the last: {event.because}"


def _mended(event: SupervisorMended, names: Names) -> str:
    return f"supervisor {names.of(event.supervisor_id)} takes requests again"


def _check(event: AgentCheckAsked, names: Names) -> str:
    return f"{names.of(event.agent_id)} is looked at again"


def _tool_started(event: ToolStarted, names: Names) -> str:
    return f"{names.of(event.agent_id)} calls {event.name} for {names.of(event.task_id)}"


def _tool_failed(event: ToolFailed, names: Names) -> str:
    return f"{event.name} failed for {names.of(event.task_id)}: {event.error}"


def _settled(event: DoubtSettled, names: Names) -> str:
    happened = "happened" if event.ran else "did not happen, and is called again"
    return f"a person says that {event.name} of {names.of(event.task_id)} {happened}"


SENTENCES: dict[type, Callable[[Any, Names], str]] = {
    TaskFailedOver: _failed_over,
    TaskTriedAnew: _tried_anew,
    TaskAnswered: _answered,
    CircuitOpened: _opened,
    CircuitHalfOpened: _half_opened,
    CircuitClosed: _closed,
    AgentsRestarted: _restarted,
    SupervisorFailed: _failed,
    SupervisorMended: _mended,
    AgentCheckAsked: _check,
    ToolStarted: _tool_started,
    ToolFailed: _tool_failed,
    DoubtSettled: _settled,
}
