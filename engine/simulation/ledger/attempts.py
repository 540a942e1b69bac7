"""Attempts in the ledger of work: how they end, what they ask for, what becomes of a task that failed."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from engine.core.events import (
    AttemptCancelled,
    AttemptDone,
    AttemptFailed,
    AttemptLost,
    AttemptMigrated,
    AttemptPreempted,
    AttemptResumed,
    AttemptSetAside,
    AttemptStarted,
    CallRejoined,
    Delegated,
    DoubtSettled,
    ItemReturned,
    ItemTaken,
    RetryDue,
    RetryScheduled,
    StepRecorded,
    TaskAnswered,
    TaskFailed,
    TaskFailedOver,
    TaskReassigned,
    TaskReopened,
    TaskRequeued,
    TaskSkipped,
    TaskTriedAnew,
    ToolFailed,
    ToolStarted,
)
from engine.core.state import TaskStatus
from engine.simulation.ledger.jobs import Job, Try

if TYPE_CHECKING:
    from engine.simulation.ledger.work import WorkLedger

# Attempts


def _started(work: "WorkLedger", event: AttemptStarted) -> None:
    job = work.jobs[event.task_id]
    job.attempt = Try(event.attempt, event.agent_id, event.generation, event.at_ms)
    job.attempts = event.attempt
    job.agent_id = event.agent_id or job.agent_id


def _resumed(work: "WorkLedger", event: AttemptResumed) -> None:
    attempt = work.jobs[event.task_id].attempt
    assert attempt is not None
    attempt.parked, attempt.waits = False, []


def _migrated(work: "WorkLedger", event: AttemptMigrated) -> None:
    attempt = work.jobs[event.task_id].attempt
    assert attempt is not None
    attempt.generation = event.generation
    attempt.asked.clear()


def _over(work: "WorkLedger", event: AttemptFailed | AttemptLost | AttemptPreempted | AttemptSetAside) -> None:
    job = work.jobs[event.task_id]
    job.attempt = None
    if isinstance(event, AttemptFailed):
        job.error = event.error
    elif isinstance(event, AttemptPreempted):
        job.preemptions += 1
    elif isinstance(event, AttemptSetAside) and event.partial is not None:
        job.output = event.partial


def _cancelled(work: "WorkLedger", event: AttemptCancelled) -> None:
    job = work.jobs[event.task_id]
    job.attempt = None
    if event.restarted:
        job.steps = {}
        job.calls = {f"{key}@{event.attempt}": children for key, children in job.calls.items()}
    elif not event.requeued:
        if event.partial is not None:
            job.output = event.partial
        outcome = TaskStatus.CANCELLED if event.limit is None else TaskStatus.FAILED
        work.end(job.id, outcome, event.at_ms, event.limit or "cancelled")


def _done(work: "WorkLedger", event: AttemptDone) -> None:
    work.jobs[event.task_id].output = event.output
    work.end(event.task_id, TaskStatus.DONE, event.at_ms)


def _recorded(work: "WorkLedger", event: StepRecorded) -> None:
    job = work.jobs[event.task_id]
    job.steps[event.key] = event.output
    job.calling.pop(event.key, None)


def _tool_started(work: "WorkLedger", event: ToolStarted) -> None:
    work.jobs[event.task_id].calling[event.key] = event.name


def _tool_failed(work: "WorkLedger", event: ToolFailed) -> None:
    work.jobs[event.task_id].calling.pop(event.key, None)


def _doubt_settled(work: "WorkLedger", event: DoubtSettled) -> None:
    job = work.jobs[event.task_id]
    job.calling.pop(event.key, None)
    job.in_doubt = job.in_doubt and bool(job.calling)


def _delegated(work: "WorkLedger", event: Delegated) -> None:
    asker = work.jobs[event.task_id]
    for child in event.children:
        work.add(
            Job(
                id=child.task_id, run_id=event.run_id, parent_id=asker.id, kind=child.kind, title=child.title,
                worker_id=child.worker_id, supervisor_id=child.supervisor_id, queue=child.queue,
                priority=asker.priority, created_ms=event.at_ms, optional=child.optional, call_key=event.call_key,
            )
        )  # fmt: skip
    asker.calls[event.call_key] = [child.task_id for child in event.children]
    if event.children:
        _park(asker, event.call_key)


def _rejoined(work: "WorkLedger", event: CallRejoined) -> None:
    job = work.jobs[event.task_id]
    if any(work.jobs[child].outcome is None for child in job.calls[event.call_key]):
        _park(job, event.call_key)


def _park(job: Job, call_key: str) -> None:
    assert job.attempt is not None
    job.attempt.parked = True
    job.attempt.waits.append(call_key)


# What becomes of failed and interrupted tasks


def _failed(work: "WorkLedger", event: TaskFailed) -> None:
    if event.optional is not None:
        work.jobs[event.task_id].optional = event.optional
    work.end(event.task_id, TaskStatus.FAILED, event.at_ms, event.error)


def _skipped(work: "WorkLedger", event: TaskSkipped) -> None:
    work.jobs[event.task_id].optional = event.optional
    work.end(event.task_id, TaskStatus.SKIPPED, event.at_ms, event.reason)


def _answered_for(work: "WorkLedger", event: TaskAnswered) -> None:
    work.end(event.task_id, TaskStatus.DONE, event.at_ms)


def _retry_scheduled(work: "WorkLedger", event: RetryScheduled) -> None:
    work.jobs[event.task_id].retrying_until_ms = event.due_ms


def _retry_due(work: "WorkLedger", event: RetryDue) -> None:
    work.jobs[event.task_id].retrying_until_ms = None


def _placed(work: "WorkLedger", event: TaskRequeued | TaskFailedOver | TaskTriedAnew) -> None:
    job = work.jobs[event.task_id]
    job.queue = event.queue
    if event.queue.startswith("able:"):
        job.supervisor_id = event.queue.split(":")[1].partition("+")[0]


def _taken(work: "WorkLedger", event: ItemTaken) -> None:
    job = work.jobs[event.task_id]
    job.kind, job.queue, job.worker_id, job.supervisor_id = "group", None, event.supervisor_id, event.supervisor_id
    job.taken = True


def _returned(work: "WorkLedger", event: ItemReturned) -> None:
    job = work.jobs[event.task_id]
    for task_id in event.dropped:
        work.withdraw(None, task_id)
        del work.jobs[task_id]
        work.runs[event.run_id].tasks.remove(task_id)
    job.children, job.planned, job.taken, job.outcome_id, job.failed = [], False, False, None, None
    job.kind, job.queue, job.worker_id = "agent", event.queue, None
    job.supervisor_id = event.queue.split(":")[1].partition("+")[0]


def _reassigned(work: "WorkLedger", event: TaskReassigned) -> None:
    job = work.jobs[event.task_id]
    job.queue, job.supervisor_id = f"agent:{event.agent_id}", event.supervisor_id
    job.retrying_until_ms = None
    if event.stopping is not None:
        work.ask_to_stop([job.id], "requeue")


def _reopened(work: "WorkLedger", event: TaskReopened) -> None:
    for task_id in event.reopened:
        job = work.jobs[task_id]
        job.outcome, job.error, job.ended_ms, job.held = None, None, None, False
        if job.exceeded:
            job.exceeded = job.cancelling = False
            job.deadline_ms = None


NOTES: dict[type, Callable[["WorkLedger", Any], None]] = {
    AttemptStarted: _started,
    AttemptResumed: _resumed,
    AttemptMigrated: _migrated,
    AttemptDone: _done,
    AttemptFailed: _over,
    AttemptLost: _over,
    AttemptPreempted: _over,
    AttemptSetAside: _over,
    AttemptCancelled: _cancelled,
    StepRecorded: _recorded,
    ToolStarted: _tool_started,
    ToolFailed: _tool_failed,
    DoubtSettled: _doubt_settled,
    Delegated: _delegated,
    CallRejoined: _rejoined,
    TaskFailed: _failed,
    TaskSkipped: _skipped,
    TaskAnswered: _answered_for,
    RetryScheduled: _retry_scheduled,
    RetryDue: _retry_due,
    ItemReturned: _returned,
    ItemTaken: _taken,
    TaskRequeued: _placed,
    TaskFailedOver: _placed,
    TaskTriedAnew: _placed,
    TaskReassigned: _reassigned,
    TaskReopened: _reopened,
}
"""What to note of each class of event."""
