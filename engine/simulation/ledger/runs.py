"""Runs and graphs in the ledger of work: what plans, switches, cancels and limits mean for tasks."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from engine.core.events import (
    BudgetExhausted,
    BudgetExtended,
    CancelRequested,
    DeadlinePassed,
    DeadlineSet,
    GraceEnded,
    GroupChange,
    GroupEnded,
    GroupGrown,
    GroupPlanned,
    NeedMet,
    NodePlan,
    PrioritySet,
    RunFinished,
    RunPaused,
    RunResumed,
    RunSubmitted,
    StrategySwitched,
    SupervisorFailed,
)
from engine.core.state import TaskStatus
from engine.simulation.ledger.jobs import Job, RunEntry

if TYPE_CHECKING:
    from engine.simulation.ledger.work import WorkLedger

# Runs


def _submitted(work: "WorkLedger", event: RunSubmitted) -> None:
    work.runs[event.run_id] = RunEntry(
        id=event.run_id, supervisor_id=event.supervisor_id, root_id=event.root_id, request=event.request,
        priority=event.priority, submitted_ms=event.at_ms, on_failure=[*event.on_failure], limits=event.limits,
        category=event.category, after=[*event.after], deadline_ms=event.deadline_ms,
    )  # fmt: skip
    work.add(
        Job(
            id=event.root_id, run_id=event.run_id, parent_id=None, kind="group", title="",
            worker_id=event.supervisor_id, supervisor_id=event.supervisor_id, queue=None, priority=event.priority,
            created_ms=event.at_ms,
        )
    )  # fmt: skip


def _run_paused(work: "WorkLedger", event: RunPaused | RunResumed) -> None:
    work.runs[event.run_id].paused = isinstance(event, RunPaused)


def _finished(work: "WorkLedger", event: RunFinished) -> None:
    for task_id in work.runs.pop(event.run_id).tasks:
        del work.jobs[task_id]
    for run in work.runs.values():
        if event.run_id in run.after:
            run.after.remove(event.run_id)
    for one in [one for one in work.questions.values() if one.run_id == event.run_id]:
        del work.questions[one.id]


def _cancelled_by_person(work: "WorkLedger", event: CancelRequested) -> None:
    if event.task_id is None:
        work.runs[event.run_id].cancelling = True
    else:
        work.jobs[event.task_id].cancelling = True
    work.ask_to_stop(event.stopping, "cancel")
    for task_id in event.cancelled:
        work.end(task_id, TaskStatus.CANCELLED, event.at_ms, event.reason)


def _exceed(work: "WorkLedger", event: DeadlinePassed | BudgetExhausted) -> None:
    subject: RunEntry | Job = work.jobs[event.task_id] if event.task_id is not None else work.runs[event.run_id or ""]
    subject.exceeded = subject.cancelling = True
    work.ask_to_stop(event.stopping, "limit")
    root_id = subject.root_id if isinstance(subject, RunEntry) else subject.id
    for task_id in event.ended:
        work.end(task_id, TaskStatus.FAILED if task_id == root_id else TaskStatus.CANCELLED, event.at_ms, event.error)


def _budget_exhausted(work: "WorkLedger", event: BudgetExhausted) -> None:
    if event.run_id is None or event.then == "ask":
        work.ask_to_stop(event.stopping, "limit")
        if event.run_id is not None:
            subject: RunEntry | Job = work.jobs[event.task_id] if event.task_id else work.runs[event.run_id]
            subject.held = True
    else:
        _exceed(work, event)
        (work.jobs[event.task_id] if event.task_id else work.runs[event.run_id]).held = False


def _budget_extended(work: "WorkLedger", event: BudgetExtended) -> None:
    work.withdraw("budget", event.subject)
    if event.run_id is not None:
        (work.jobs[event.task_id] if event.task_id else work.runs[event.run_id]).held = False


def _deadline_set(work: "WorkLedger", event: DeadlineSet) -> None:
    if event.task_id is None:
        work.runs[event.run_id].deadline_ms = event.deadline_ms
    else:
        work.jobs[event.task_id].deadline_ms = event.deadline_ms


def _grace_ended(work: "WorkLedger", event: GraceEnded) -> None:
    work.ask_to_stop(event.stopping, "limit")


def _priority_set(work: "WorkLedger", event: PrioritySet) -> None:
    if event.task_id is None:
        work.runs[event.run_id].priority = event.priority
    for job in work.open_under(event.run_id, event.task_id):
        job.priority = event.priority


# Graphs


def _node(work: "WorkLedger", group: Job, node: NodePlan, at_ms: int) -> None:
    own = f"agent:{node.worker_id}" if node.kind == "agent" and node.worker_id else None
    work.add(
        Job(
            id=node.task_id, run_id=group.run_id, parent_id=group.id, kind=node.kind, title=node.title,
            worker_id=node.worker_id, supervisor_id=node.supervisor_id, queue=node.queue or own,
            priority=group.priority, created_ms=at_ms, after=[*node.after], sees=node.sees, takes=node.takes,
            need=node.need, join=node.join, check=node.check, optional=node.optional, tolerated=node.tolerated,
        )
    )  # fmt: skip


def _planned(work: "WorkLedger", event: GroupPlanned) -> None:
    group = work.jobs[event.task_id]
    group.planned, group.outcome_id = True, event.outcome_id
    for node in event.nodes:
        _node(work, group, node, event.at_ms)


def _grown(work: "WorkLedger", event: GroupGrown) -> None:
    group = work.jobs[event.task_id]
    for node in event.added:
        _node(work, group, node, event.at_ms)
    _rewire(work, event.after, event.sees)
    for task_id in event.skipped:
        work.pass_by(task_id, event.at_ms, event.why)
    group.outcome_id = event.outcome_id or group.outcome_id
    group.failed = event.failed


def _rewire(work: "WorkLedger", after: dict[str, list[str]], sees: dict[str, list[str]]) -> None:
    for task_id, before in after.items():
        work.jobs[task_id].after = [*before]
    for task_id, seen in sees.items():
        work.jobs[task_id].sees = [*seen]


def _need_met(work: "WorkLedger", event: NeedMet) -> None:
    job = work.jobs[event.task_id]
    job.after, job.sees, job.is_met = [*event.after], [*event.answers], True


def _switched(work: "WorkLedger", event: StrategySwitched) -> None:
    for change in event.groups:
        _change(work, change, event.at_ms)


def _change(work: "WorkLedger", change: GroupChange, at_ms: int) -> None:
    group = work.jobs[change.task_id]
    for task_id in change.removed:
        work.pass_by(task_id, at_ms, "strategy switched")
    for task_id in group.children:
        job = work.jobs[task_id]
        job.tolerated = job.asked_by is not None or (job.tolerated and job.outcome is not None)
        job.sees, job.need = None, None
    for task_id in change.adopted:
        _adopted(work, group, work.jobs[task_id])
    for node in change.added:
        _node(work, group, node, at_ms)
    _rewire(work, change.after, change.sees)
    for task_id, need in change.needs.items():
        work.jobs[task_id].need = need
    for task_id in change.tolerated:
        work.jobs[task_id].tolerated = True
    for task_id, takes in change.takes.items():
        work.jobs[task_id].takes = takes
    work.ask_to_stop(change.cancelled, "cancel")
    group.failed, group.outcome_id = None, change.outcome_id


def _adopted(work: "WorkLedger", group: Job, job: Job) -> None:
    asker = work.jobs[job.parent_id or ""]
    asker.children.remove(job.id)
    group.children.append(job.id)
    job.parent_id, job.asked_by, job.takes, job.tolerated = group.id, asker.id, "own", True


def _group_ended(work: "WorkLedger", event: GroupEnded) -> None:
    group = work.jobs[event.task_id]
    group.output, group.optional = work.resolve(event.output), event.status is TaskStatus.SKIPPED
    work.end(event.task_id, event.status, event.at_ms, event.error)


def _supervisor_failed(work: "WorkLedger", event: SupervisorFailed) -> None:
    for group in event.groups:
        work.jobs[group].failed = event.error


NOTES: dict[type, Callable[["WorkLedger", Any], None]] = {
    RunSubmitted: _submitted,
    RunPaused: _run_paused,
    RunResumed: _run_paused,
    RunFinished: _finished,
    CancelRequested: _cancelled_by_person,
    DeadlinePassed: _exceed,
    DeadlineSet: _deadline_set,
    GraceEnded: _grace_ended,
    BudgetExhausted: _budget_exhausted,
    BudgetExtended: _budget_extended,
    PrioritySet: _priority_set,
    GroupPlanned: _planned,
    GroupGrown: _grown,
    NeedMet: _need_met,
    StrategySwitched: _switched,
    GroupEnded: _group_ended,
    SupervisorFailed: _supervisor_failed,
}
"""What to note of each class of event."""
