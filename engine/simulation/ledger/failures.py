"""Independent bookkeeping of retries, failovers, circuits and restarts, from events alone."""

from dataclasses import dataclass, field
from typing import Any, Literal

from typing_extensions import override

from engine.core import events
from engine.core.state import State
from engine.simulation.ledger import ENDS, Ledger
from engine.simulation.ledger.work import JobLedger


@dataclass(slots=True)
class PolicyUse:
    """Retries and failovers of a task since its chain of failure policies started."""

    retries: int = 0
    """Retries on its present agent."""
    failovers: int = 0
    failed_on: list[str] = field(default_factory=list)
    was_default: bool = False
    """A question about it was not answered, and the default was to retry."""


@dataclass(slots=True)
class CircuitEntry:
    """The circuit of an agent."""

    status: Literal["closed", "open", "half_open"] = "closed"
    in_a_row: int = 0
    """Failed attempts in a row."""
    cool_s: float | None = None
    due_ms: int = 0
    probe: str | None = None
    """The task of the trial attempt."""

    @property
    def is_shut(self) -> bool:
        """True while no attempt may begin."""
        return self.status == "open" or (self.status == "half_open" and self.probe is not None)


class FailureLedger(Ledger):
    """Policies by task, circuits by agent, restarts by supervisor."""

    def __init__(self) -> None:
        self.policy_uses: dict[str, PolicyUse] = {}
        self.pending: dict[str, events.AttemptFailed] = {}
        """Failures that are not decided yet."""
        self.circuits: dict[str, CircuitEntry] = {}
        self.restarts_ms: dict[str, list[int]] = {}
        """Times of the counted restarts of each supervisor."""
        self.crashes: list[events.AttemptFailed] = []
        """Crashes without a restart so far."""
        self.crashed: list[str] = []
        """Members that crashed, agents and supervisors, in order."""
        self.answered: dict[str, str] = {}
        """Answers about failed tasks that are not carried out yet."""

    @override
    def take(self, event: events.Event) -> None:
        """Apply an event; the work ledger has not applied it yet."""
        self.answered.pop(getattr(event, "task_id", None) or "", None)
        super().take(event)
        agent_id = getattr(event, "agent_id", None)
        if isinstance(event, ENDS) and agent_id is not None and self.circuit(agent_id).probe == event.task_id:
            self.circuit(agent_id).probe = None

    def follow(self, event: events.Event, work: JobLedger) -> None:
        """Allow another trial attempt while the present one waits for others; settle failures without a budget left."""
        if isinstance(event, events.Delegated | events.CallRejoined | events.AttemptParked):
            attempt = work.jobs[event.task_id].attempt
            if attempt is not None and attempt.parked and attempt.agent_id is not None:
                circuit = self.circuit(attempt.agent_id)
                circuit.probe = None if circuit.probe == event.task_id else circuit.probe
        elif isinstance(event, events.BudgetExhausted):
            self._settle_with_budget(event, work)

    def _settle_with_budget(self, event: events.BudgetExhausted, work: JobLedger) -> None:
        """Settle a failure that the end of the budget of its task, an ancestor or its run decides."""
        self.pending.pop(event.subject, None)
        failures = [failed for failed in self.pending.values() if failed.at_ms == event.at_ms]
        for failed in failures if event.amount == "attempts" else ():
            job = work.jobs.get(failed.task_id)
            if job is None:  # its run has ended in the same millisecond
                continue
            payers = {ancestor.id for ancestor in work.lineage(job)} | {failed.run_id}
            if event.subject in payers and event.error.endswith(failed.error):
                del self.pending[failed.task_id]

    def adopt(self, state: State) -> None:
        """Take the entities of an import from the state."""
        for task in state.tasks.values():
            policy_use = PolicyUse(task.retries, task.failovers, [*task.failed_on], task.tried_by_default)
            self.policy_uses.setdefault(task.id, policy_use)
        for agent in state.agents.values():
            if agent.id not in self.circuits:
                timer = state.timers.get(f"circuit:{agent.id}")
                due_ms = timer.due_ms if timer is not None else 0
                self.circuits[agent.id] = CircuitEntry(
                    agent.circuit, agent.failures_in_a_row, agent.cool_s, due_ms, agent.probe
                )
        for supervisor in state.supervisors.values():
            self.restarts_ms.setdefault(supervisor.id, [*supervisor.restarts_ms])

    def policy_use_of(self, task_id: str) -> PolicyUse:
        """Return the retries and failovers of a task."""
        return self.policy_uses.setdefault(task_id, PolicyUse())

    def circuit(self, agent_id: str) -> CircuitEntry:
        """Return the circuit of an agent."""
        return self.circuits.setdefault(agent_id, CircuitEntry())

    # Events

    def _on_attempt_failed(self, event: events.AttemptFailed) -> None:
        self.pending[event.task_id] = event
        if event.agent_id is None:
            return
        circuit = self.circuit(event.agent_id)
        if circuit.status == "closed" or circuit.probe == event.task_id:
            circuit.in_a_row += 1
        policy_use = self.policy_use_of(event.task_id)
        if event.agent_id not in policy_use.failed_on:
            policy_use.failed_on.append(event.agent_id)
        if event.crashed:
            self.crashes.append(event)
            self.crashed.append(event.agent_id)

    def _on_attempt_done(self, event: events.AttemptDone) -> None:
        if event.agent_id is not None:
            self.circuit(event.agent_id).in_a_row = 0

    def _on_attempt_started(self, event: events.AttemptStarted | events.AttemptResumed) -> None:
        if event.agent_id is not None:
            circuit = self.circuit(event.agent_id)
            if circuit.status == "half_open" and circuit.probe is None:
                circuit.probe = event.task_id

    _on_attempt_resumed = _on_attempt_started

    def _on_retry_scheduled(self, event: events.RetryScheduled) -> None:
        self.pending.pop(event.task_id, None)
        self.policy_use_of(event.task_id).retries += 1

    def _on_task_failed_over(self, event: events.TaskFailedOver) -> None:
        self.pending.pop(event.task_id, None)
        policy_use = self.policy_use_of(event.task_id)
        policy_use.retries = 0
        policy_use.failovers = policy_use.failovers + 1

    def _on_task_tried_anew(self, event: events.TaskTriedAnew) -> None:
        self.policy_uses[event.task_id] = PolicyUse(was_default=event.by == "default")

    def _on_task_reopened(self, event: events.TaskReopened) -> None:
        for task_id in event.reopened:
            self.policy_uses[task_id] = PolicyUse(was_default=self.policy_use_of(task_id).was_default)

    def _settle(self, event: Any) -> None:
        self.pending.pop(event.subject if isinstance(event, events.Escalated) else event.task_id, None)

    _on_task_failed = _on_task_skipped = _on_task_reassigned = _on_escalated = _on_doubt_settled = _settle

    def _on_circuit_opened(self, event: events.CircuitOpened) -> None:
        circuit = self.circuit(event.agent_id)
        circuit.status = "open"
        circuit.cool_s = event.cool_s
        circuit.due_ms = event.due_ms
        circuit.probe = None

    def _on_circuit_half_opened(self, event: events.CircuitHalfOpened) -> None:
        circuit = self.circuit(event.agent_id)
        circuit.status = "half_open"
        circuit.in_a_row = 0

    def _close_circuit(self, event: events.CircuitClosed | events.AgentSwapped | events.SwapRolledBack) -> None:
        self.circuits[event.agent_id] = CircuitEntry()

    _on_circuit_closed = _on_agent_swapped = _on_swap_rolled_back = _close_circuit

    def _on_agent_removed(self, event: events.AgentRemoved) -> None:
        self.circuits.pop(event.agent_id, None)

    def _on_agents_restarted(self, event: events.AgentsRestarted) -> None:
        if event.period_s is not None:
            self.restarts_ms.setdefault(event.supervisor_id, []).append(event.at_ms)
        self.crashes.clear()

    def _on_supervisor_failed(self, event: events.SupervisorFailed) -> None:
        self.restarts_ms[event.supervisor_id] = []
        self.crashed.append(event.supervisor_id)
        self.crashes.clear()

    def _on_escalation_answered(self, event: events.EscalationAnswered) -> None:
        if event.kind == "failure":
            self.answered[event.subject] = event.answer
