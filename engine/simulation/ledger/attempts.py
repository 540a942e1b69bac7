"""Attempts in the ledger of work: their ends, their questions and calls, and the handling of failed tasks."""

from itertools import islice, takewhile
from typing import Any

from engine.core import events
from engine.core.state import TaskStatus
from engine.simulation.ledger import make_entry
from engine.simulation.ledger.runs import RunLedger
from engine.simulation.ledger.work import AttemptEntry, Job


class WorkLedger(RunLedger):
    """Every open run with its tasks; every open question."""

    def _on_attempt_started(self, event: events.AttemptStarted) -> None:
        job = self.jobs[event.task_id]
        job.attempt = AttemptEntry(event.attempt, event.agent_id, event.generation)
        job.attempts = event.attempt
        job.agent_id = event.agent_id or job.agent_id
        for group in takewhile(lambda ancestor: ancestor.kind == "group", islice(self.lineage(job), 1, None)):
            if event.agent_id is not None and group.begun_ms is None:
                group.begun_ms = event.at_ms

    def _on_attempt_resumed(self, event: events.AttemptResumed) -> None:
        attempt = self.jobs[event.task_id].attempt
        assert attempt is not None
        attempt.parked = attempt.needs_slot = False
        attempt.parked_for = None

    def _on_attempt_parked(self, event: events.AttemptParked) -> None:
        attempt = self.jobs[event.task_id].attempt
        assert attempt is not None
        attempt.parked = True
        attempt.parked_for = None if event.why == "call" else event.why

    def _on_slot_wanted(self, event: events.SlotWanted) -> None:
        attempt = self.jobs[event.task_id].attempt
        assert attempt is not None
        attempt.needs_slot = True

    def _on_attempt_migrated(self, event: events.AttemptMigrated) -> None:
        attempt = self.jobs[event.task_id].attempt
        assert attempt is not None
        attempt.generation = event.generation
        attempt.awaited_calls = []
        attempt.stop_reasons.clear()

    def _end_attempt(self, event: Any) -> None:
        job = self.jobs[event.task_id]
        job.attempt = None
        if isinstance(event, events.AttemptFailed):
            job.error = event.error
        elif isinstance(event, events.AttemptPreempted):
            job.preemptions += 1
        elif isinstance(event, events.AttemptSetAside) and event.partial is not None:
            job.output = event.partial

    _on_attempt_failed = _on_attempt_lost = _on_attempt_preempted = _on_attempt_set_aside = _end_attempt

    def _on_attempt_cancelled(self, event: events.AttemptCancelled) -> None:
        job = self.jobs[event.task_id]
        job.attempt = None
        if event.restarted:
            job.steps = {}
            job.read_messages = []
            for question in [*job.asks.values()]:
                self.drop_question(question)
            job.calls = {f"{key}@{event.attempt}": children for key, children in job.calls.items()}
            for key, children in job.calls.items():
                for child in children:
                    self.jobs[child].call_key = key
        elif not event.requeued:
            if event.partial is not None:
                job.output = event.partial
            outcome = TaskStatus.CANCELLED if event.limit is None else TaskStatus.FAILED
            self.end(job.id, outcome, event.at_ms, event.limit or "cancelled")

    def _on_attempt_done(self, event: events.AttemptDone) -> None:
        self.jobs[event.task_id].output = event.output
        self.end(event.task_id, TaskStatus.DONE, event.at_ms)

    def _on_step_recorded(self, event: events.StepRecorded) -> None:
        job = self.jobs[event.task_id]
        job.steps[event.key] = event.output
        job.calling.pop(event.key, None)
        job.read_messages += [job.steers.pop(steer_id) for steer_id in event.steers]

    def _on_tool_started(self, event: events.ToolStarted) -> None:
        self.jobs[event.task_id].calling[event.key] = event.name

    def _on_tool_failed(self, event: events.ToolFailed) -> None:
        self.jobs[event.task_id].calling.pop(event.key, None)

    def _on_doubt_settled(self, event: events.DoubtSettled) -> None:
        job = self.jobs[event.task_id]
        job.calling.pop(event.key, None)
        job.in_doubt = job.in_doubt and bool(job.calling)

    def _on_delegated(self, event: events.Delegated) -> None:
        asker = self.jobs[event.task_id]
        for child in event.children:
            self.add(
                make_entry(
                    Job,
                    child,
                    id=child.task_id,
                    run_id=event.run_id,
                    parent_id=asker.id,
                    priority=asker.priority,
                    created_ms=event.at_ms,
                    call_key=event.call_key,
                    sees=[*child.after] or None,
                    takes="context" if child.after else "request",
                )
            )
        asker.calls[event.call_key] = [child.task_id for child in event.children]
        if event.children:
            self._await(asker, event)

    def _on_call_rejoined(self, event: events.CallRejoined) -> None:
        job = self.jobs[event.task_id]
        if any(self.jobs[child].outcome is None for child in job.calls[event.call_key]):
            self._await(job, event)

    @staticmethod
    def _await(job: Job, event: events.Delegated | events.CallRejoined) -> None:
        assert job.attempt is not None
        if event.parks:
            job.attempt.parked = True
            job.attempt.parked_for = None
        job.attempt.awaited_calls.append(event.call_key)

    # Failed and interrupted tasks

    def _on_task_failed(self, event: events.TaskFailed) -> None:
        if event.optional is not None:
            self.jobs[event.task_id].optional = event.optional
        self.end(event.task_id, TaskStatus.FAILED, event.at_ms, event.error)

    def _on_task_skipped(self, event: events.TaskSkipped) -> None:
        self.jobs[event.task_id].optional = event.optional
        self.end(event.task_id, TaskStatus.SKIPPED, event.at_ms, event.reason)

    def _on_task_answered(self, event: events.TaskAnswered) -> None:
        self.end(event.task_id, TaskStatus.DONE, event.at_ms)

    def _on_retry_scheduled(self, event: events.RetryScheduled) -> None:
        self.jobs[event.task_id].retrying_until_ms = event.due_ms

    def _on_retry_due(self, event: events.RetryDue) -> None:
        self.jobs[event.task_id].retrying_until_ms = None

    def _requeue(self, event: events.TaskRequeued | events.TaskFailedOver | events.TaskTriedAnew) -> None:
        job = self.jobs[event.task_id]
        job.queue = event.queue
        job.supervisor_id = self.home_of(event.queue)

    _on_task_requeued = _on_task_failed_over = _on_task_tried_anew = _requeue

    def _on_item_taken(self, event: events.ItemTaken) -> None:
        job = self.jobs[event.task_id]
        job.kind = "group"
        job.queue = None
        job.worker_id = event.supervisor_id
        job.supervisor_id = event.supervisor_id
        job.is_claimed = True

    def _on_item_returned(self, event: events.ItemReturned) -> None:
        job = self.jobs[event.task_id]
        for task_id in event.dropped:
            self.withdraw(None, task_id)
            del self.jobs[task_id]
            self.runs[event.run_id].tasks.remove(task_id)
        job.children = []
        job.planned = False
        job.is_claimed = False
        job.outcome_id = None
        job.failed = None
        job.kind = "agent"
        job.queue = event.queue
        job.worker_id = None
        job.supervisor_id = self.home_of(event.queue)

    def _on_task_reassigned(self, event: events.TaskReassigned) -> None:
        job = self.jobs[event.task_id]
        job.queue = f"agent:{event.agent_id}"
        job.supervisor_id = event.supervisor_id
        job.retrying_until_ms = None
        if event.stopping is not None:
            self.ask_to_stop([job.id], "requeue")

    def _on_task_reopened(self, event: events.TaskReopened) -> None:
        for task_id in event.reopened:
            job = self.jobs[task_id]
            job.outcome = None
            job.error = None
            job.ended_ms = None
            job.is_on_hold = False
            if job.exceeded:
                job.exceeded = job.cancelling = False
            job.deadline_ms = None
