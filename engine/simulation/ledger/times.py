"""Independent bookkeeping of where the time of tasks and of their attempts went."""

from collections import Counter
from typing import TypeAlias

from engine.core import events
from engine.core.events import Event
from engine.core.state import State
from engine.simulation.ledger.work import Job, JobLedger

Interval: TypeAlias = tuple[str, int, int]
"""A kind of time, and from when to when, in milliseconds."""
WAITS = ("queue", "paused", "budget", "backoff")
"""Kinds of waiting for a first or another attempt; the ledger of work does not tell them apart."""
REST = "code"
STEP_KINDS = {"model": "model", "compact": "model", "tool": "tool", "code": "own code"}
"""What a step counts as; time that one step has taken is no longer free for another, so code that is a step differs."""
PARKED_KINDS = {
    None: "delegated", "ask": "person", "approval": "person", "rate_limit": "rate_limit", "backoff": "backoff",
    "tool": "slot", "paused": "paused", "insight": "queue",
}  # fmt: skip


class TimeLedger:
    """What each task did or waited for, as intervals in order."""

    def __init__(self) -> None:
        self.at_ms = 0
        """The time of the last event."""
        self.intervals: dict[str, list[Interval]] = {}
        self.attempt_began_ms: dict[str, int] = {}
        """When the last attempt of each task began."""

    def take(self, event: Event, work: JobLedger) -> None:
        """Note what open tasks did until an event that is not applied to the ledger of work yet."""
        now_ms = max(self.at_ms, event.at_ms)
        suspended_ms = self._suspended_since(event, now_ms)
        for job in work.jobs.values():
            if job.outcome is None:
                self._add(job, _kind_of(work, job), suspended_ms)
                self._add(job, "suspended", now_ms, since_ms=suspended_ms)
        self.at_ms = now_ms
        if isinstance(event, events.TaskReopened):
            for job in map(work.jobs.__getitem__, event.reopened):
                # An archive does not have how an ended task spent its time: opened again, it has waited until now.
                since_ms = (job.ended_ms or now_ms) if job.id in self.intervals else job.created_ms
                self.intervals.setdefault(job.id, []).append(("queue", since_ms, now_ms))
        elif isinstance(event, events.AttemptStarted):
            self.attempt_began_ms[event.task_id] = now_ms
        elif isinstance(event, events.StepRecorded):
            self._take_step(event, STEP_KINDS[event.what])
        elif isinstance(event, events.ModelFailed):
            self._take_step(event, "model")
        elif isinstance(event, events.StepStopped):
            self._take_step(event, STEP_KINDS[event.what])

    def adopt(self, state: State) -> None:
        """Take over imported tasks: what lies before their import counts as without an engine."""
        for task in state.tasks.values():
            if task.id not in self.intervals and not task.ended and task.created_ms < self.at_ms:
                self.intervals[task.id] = [("suspended", task.created_ms, self.at_ms)]

    def times(self, work: JobLedger, job: Job, now_ms: int, *, of_attempt: bool = False) -> Counter[str]:
        """Return the milliseconds of a task by kind until now, or those of its open attempt."""
        intervals = [*self.intervals.get(job.id, ())]
        if job.outcome is None and now_ms > self.at_ms:
            intervals.append((_kind_of(work, job), max(self.at_ms, job.created_ms), now_ms))
        began_ms = self.attempt_began_ms.get(job.id, 0) if of_attempt else 0
        totals: Counter[str] = Counter()
        for kind, since_ms, until_ms in intervals:
            totals[REST if kind == "own code" else kind] += max(0, until_ms - max(since_ms, began_ms))
        return +totals

    def _suspended_since(self, event: Event, now_ms: int) -> int:
        if isinstance(event, events.EngineStarted):
            return min(max(self.at_ms, event.last_ms or 0), now_ms)
        return max(self.at_ms, now_ms - event.slept_ms) if isinstance(event, events.EngineSlept) else now_ms

    def _add(self, job: Job, kind: str, until_ms: int, since_ms: int | None = None) -> None:
        began_ms = max(self.at_ms if since_ms is None else since_ms, job.created_ms)
        if began_ms < until_ms:
            self.intervals.setdefault(job.id, []).append((kind, began_ms, until_ms))

    def _take_step(self, event: events.StepRecorded | events.ModelFailed | events.StepStopped, step_kind: str) -> None:
        began_ms = max(self.at_ms - (event.duration_ms or 0), self.attempt_began_ms.get(event.task_id, 0))
        kept: list[Interval] = []
        for kind, since_ms, until_ms in self.intervals.get(event.task_id, ()):
            cut_ms = min(max(since_ms, began_ms), until_ms)
            if kind != REST:
                kept.append((kind, since_ms, until_ms))
                continue
            parts = ((REST, since_ms, cut_ms), (step_kind, cut_ms, until_ms))
            kept += [part for part in parts if part[1] < part[2]]
        if kept:
            self.intervals[event.task_id] = kept


def _kind_of(work: JobLedger, job: Job) -> str:
    attempt = job.attempt
    if attempt is not None:
        if not attempt.parked:
            return REST
        # An attempt that migrates takes a slot to repeat its calls on the new generation.
        wants_slot = work.is_answered(job) or "migrate" in attempt.stop_reasons
        return "slot" if wants_slot else PARKED_KINDS[attempt.parked_for]
    question = work.questions.get(job.question or "")
    if question is not None and question.kind == "budget":
        return "budget"
    if question is not None or job.in_doubt:
        return "person"
    return "delegated" if job.planned else "queue"
