"""What failure policies, circuits and supervisors have given so far, counted from events."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from engine.core.events import (
    AgentRemoved,
    AgentsRestarted,
    AgentSwapped,
    AttemptCancelled,
    AttemptDone,
    AttemptFailed,
    AttemptLost,
    AttemptPreempted,
    AttemptSetAside,
    AttemptStarted,
    BudgetExhausted,
    CircuitClosed,
    CircuitHalfOpened,
    CircuitOpened,
    DoubtSettled,
    Escalated,
    Event,
    RetryScheduled,
    SupervisorFailed,
    SwapRolledBack,
    TaskFailed,
    TaskFailedOver,
    TaskReassigned,
    TaskReopened,
    TaskSkipped,
    TaskTriedAnew,
)
from engine.core.state import State
from engine.simulation.ledger.work import WorkLedger


@dataclass(slots=True)
class Given:
    """What a task was given since its policies began."""

    retries: int = 0
    """On the agent that has it now."""
    failovers: int = 0
    failed_on: list[str] = field(default_factory=list)
    was_default: bool = False
    """Nobody answered a question about it, and the default was to try again."""


@dataclass(slots=True)
class CircuitEntry:
    """The circuit of an agent."""

    stands: Literal["closed", "open", "half_open"] = "closed"
    in_a_row: int = 0
    """Failed attempts."""
    cool_s: float | None = None
    due_ms: int = 0
    probe: str | None = None
    """The task whose attempt was let through."""


class FailureLedger:
    """By task, by agent, by supervisor."""

    def __init__(self) -> None:
        self.given: dict[str, Given] = {}
        self.pending: dict[str, AttemptFailed] = {}
        """Failures about which nothing has been decided."""
        self.circuits: dict[str, CircuitEntry] = {}
        self.restarts_ms: dict[str, list[int]] = {}
        """When each supervisor restarted agents, where that is counted."""
        self.crashes: list[AttemptFailed] = []
        """Crashes that nobody has been restarted for."""

    def take(self, event: Event, work: WorkLedger) -> None:
        """Note what an event gives; the ledger of work has not taken it yet."""
        note = _NOTES.get(type(event))
        if note is not None:
            note(self, event)
        agent_id = getattr(event, "agent_id", None)
        if isinstance(event, _ENDS) and agent_id is not None and self.circuit(agent_id).probe == event.task_id:
            self.circuit(agent_id).probe = None

    def adopt(self, state: State) -> None:
        """Take what an import brought."""
        for task in state.tasks.values():
            if task.id not in self.given:
                self.given[task.id] = Given(task.retries, task.failovers, [*task.failed_on], task.tried_by_default)
        for agent in state.agents.values():
            if agent.id not in self.circuits:
                timer = state.timers.get(f"circuit:{agent.id}")
                due_ms = timer.due_ms if timer is not None else 0
                self.circuits[agent.id] = CircuitEntry(
                    agent.circuit, agent.failures_in_a_row, agent.cool_s, due_ms, agent.probe
                )
        for supervisor in state.supervisors.values():
            self.restarts_ms.setdefault(supervisor.id, [*supervisor.restarts_ms])

    def of(self, task_id: str) -> Given:
        """Return what a task was given."""
        return self.given.setdefault(task_id, Given())

    def circuit(self, agent_id: str) -> CircuitEntry:
        """Return the circuit of an agent."""
        return self.circuits.setdefault(agent_id, CircuitEntry())

    def counts(self) -> Counter[str]:
        """Return how many circuits stand how."""
        return Counter(one.stands for one in self.circuits.values())


_ENDS = (AttemptDone, AttemptFailed, AttemptCancelled, AttemptLost, AttemptPreempted, AttemptSetAside)


def _attempt_failed(failures: FailureLedger, event: AttemptFailed) -> None:
    failures.pending[event.task_id] = event
    if event.agent_id is None:
        return
    circuit = failures.circuit(event.agent_id)
    if circuit.stands == "closed" or circuit.probe == event.task_id:
        circuit.in_a_row += 1
    given = failures.of(event.task_id)
    if event.agent_id not in given.failed_on:
        given.failed_on.append(event.agent_id)
    if event.crashed:
        failures.crashes.append(event)


def _attempt_done(failures: FailureLedger, event: AttemptDone) -> None:
    if event.agent_id is not None:
        failures.circuit(event.agent_id).in_a_row = 0


def _attempt_started(failures: FailureLedger, event: AttemptStarted) -> None:
    if event.agent_id is not None:
        circuit = failures.circuit(event.agent_id)
        if circuit.stands == "half_open" and circuit.probe is None:
            circuit.probe = event.task_id


def _scheduled(failures: FailureLedger, event: RetryScheduled) -> None:
    failures.pending.pop(event.task_id, None)
    failures.of(event.task_id).retries += 1


def _failed_over(failures: FailureLedger, event: TaskFailedOver) -> None:
    failures.pending.pop(event.task_id, None)
    given = failures.of(event.task_id)
    given.retries, given.failovers = 0, given.failovers + 1


def _tried_anew(failures: FailureLedger, event: TaskTriedAnew) -> None:
    failures.given[event.task_id] = Given(was_default=event.by == "default")


def _reopened(failures: FailureLedger, event: TaskReopened) -> None:
    for task_id in event.reopened:
        failures.given[task_id] = Given(was_default=failures.of(task_id).was_default)


def _decided(failures: FailureLedger, event: Any) -> None:
    failures.pending.pop(event.subject if isinstance(event, Escalated | BudgetExhausted) else event.task_id, None)


def _opened(failures: FailureLedger, event: CircuitOpened) -> None:
    circuit = failures.circuit(event.agent_id)
    circuit.stands, circuit.cool_s, circuit.due_ms, circuit.probe = "open", event.cool_s, event.due_ms, None


def _half_opened(failures: FailureLedger, event: CircuitHalfOpened) -> None:
    circuit = failures.circuit(event.agent_id)
    circuit.stands, circuit.in_a_row = "half_open", 0


def _closed(failures: FailureLedger, event: CircuitClosed | AgentSwapped | SwapRolledBack) -> None:
    failures.circuits[event.agent_id] = CircuitEntry()


def _agent_removed(failures: FailureLedger, event: AgentRemoved) -> None:
    failures.circuits.pop(event.agent_id, None)


def _restarted(failures: FailureLedger, event: AgentsRestarted) -> None:
    if event.period_s is not None:
        failures.restarts_ms.setdefault(event.supervisor_id, []).append(event.at_ms)
    failures.crashes.clear()


def _supervisor_failed(failures: FailureLedger, event: SupervisorFailed) -> None:
    failures.restarts_ms[event.supervisor_id] = []
    failures.crashes.clear()


_NOTES: dict[type, Callable[[FailureLedger, Any], None]] = {
    AttemptFailed: _attempt_failed,
    AttemptDone: _attempt_done,
    AttemptStarted: _attempt_started,
    RetryScheduled: _scheduled,
    TaskFailedOver: _failed_over,
    TaskTriedAnew: _tried_anew,
    TaskReopened: _reopened,
    TaskFailed: _decided,
    TaskSkipped: _decided,
    Escalated: _decided,
    BudgetExhausted: _decided,
    DoubtSettled: _decided,
    TaskReassigned: _decided,
    CircuitOpened: _opened,
    CircuitHalfOpened: _half_opened,
    CircuitClosed: _closed,
    AgentSwapped: _closed,
    SwapRolledBack: _closed,
    AgentRemoved: _agent_removed,
    AgentsRestarted: _restarted,
    SupervisorFailed: _supervisor_failed,
}
