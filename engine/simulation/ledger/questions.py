"""Questions in the ledger of work, and what asks attempts to stop."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from engine.core.events import (
    AgentRemoved,
    AgentRemoving,
    AgentsRestarted,
    AgentSwapped,
    Escalated,
    EscalationAnswered,
    PreemptionAsked,
    SupervisorRemoved,
    SwapDrained,
    SwapHurried,
    SwapRolledBack,
)
from engine.simulation.ledger.jobs import Question

if TYPE_CHECKING:
    from engine.simulation.ledger.work import WorkLedger

# Questions, and what asks attempts to stop


def _escalated(work: "WorkLedger", event: Escalated) -> None:
    work.questions[event.escalation_id] = Question(
        event.escalation_id, event.kind, event.subject, event.run_id, event.due_ms
    )
    if event.subject in work.jobs:
        work.ask_about(work.jobs[event.subject])
        work.jobs[event.subject].in_doubt |= event.kind == "doubt"


def _escalation_answered(work: "WorkLedger", event: EscalationAnswered) -> None:
    job = work.jobs.get(event.subject)
    del work.questions[event.escalation_id]
    if job is not None:
        work.ask_about(job)
        if event.answer == "use":
            job.output = event.output
        elif event.kind == "doubt" and event.answer == "ran":
            job.steps[str(event.detail["key"])] = event.output


def _preemption_asked(work: "WorkLedger", event: PreemptionAsked) -> None:
    work.ask_to_stop([event.task_id], "preempt")


def _agent_removing(work: "WorkLedger", event: AgentRemoving) -> None:
    if event.mode != "drain":
        work.ask_to_stop([job.id for job in work.at_work(event.agent_id)], "requeue")


def _agents_restarted(work: "WorkLedger", event: AgentsRestarted) -> None:
    for agent_id in event.agent_ids:
        work.ask_to_stop([job.id for job in work.at_work(agent_id)], "crash")


def _swapped(work: "WorkLedger", event: AgentSwapped | SwapRolledBack) -> None:
    _leave(work, event.agent_id, event.mode, {event.generation - 1})


def _hurried(work: "WorkLedger", event: SwapHurried) -> None:
    _leave(work, event.agent_id, event.mode, set(range(event.generation)))


def _leave(work: "WorkLedger", agent_id: str, mode: str, generations: set[int]) -> None:
    reason = {"migrate": "migrate", "abort": "restart"}.get(mode)
    for job in work.at_work(agent_id) if reason is not None else ():
        if job.attempt is not None and job.attempt.generation in generations:
            work.ask_to_stop([job.id], reason or "")


def _drained(work: "WorkLedger", event: SwapDrained) -> None:
    work.withdraw("drain", event.agent_id)


def _agent_removed(work: "WorkLedger", event: AgentRemoved) -> None:
    work.withdraw(None, event.agent_id)


def _supervisor_removed(work: "WorkLedger", event: SupervisorRemoved) -> None:
    work.withdraw(None, event.supervisor_id)


NOTES: dict[type, Callable[["WorkLedger", Any], None]] = {
    Escalated: _escalated,
    EscalationAnswered: _escalation_answered,
    PreemptionAsked: _preemption_asked,
    AgentRemoving: _agent_removing,
    AgentsRestarted: _agents_restarted,
    AgentSwapped: _swapped,
    SwapRolledBack: _swapped,
    SwapHurried: _hurried,
    SwapDrained: _drained,
    AgentRemoved: _agent_removed,
    SupervisorRemoved: _supervisor_removed,
}
"""What to note of each class of event."""
