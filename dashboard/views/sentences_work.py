"""Sentences about runs, tasks and attempts."""

from collections.abc import Callable
from typing import Any

from dashboard.views.amounts import counted, duration
from dashboard.views.names import Names
from engine.core.events import (
    AttemptCancelled,
    AttemptDone,
    AttemptFailed,
    AttemptLost,
    AttemptResumed,
    AttemptStarted,
    CallAnswered,
    CallRefused,
    CallRejoined,
    CancelRequested,
    Delegated,
    GroupEnded,
    GroupGrown,
    GroupPlanned,
    ItemReturned,
    ItemTaken,
    NeedMet,
    PlanAsked,
    RetryDue,
    RetryScheduled,
    RunFinished,
    RunPaused,
    RunResumed,
    RunSubmitted,
    StepRecorded,
    StrategySwitched,
    TaskFailed,
    TaskReopened,
    TaskRequeued,
    TaskSkipped,
)
from engine.core.values import preview

_ENDED = {"done": "is done", "failed": "has failed", "cancelled": "was cancelled", "skipped": "was skipped"}
"""How what ended is spoken of, by its status."""


def _submitted(event: RunSubmitted, names: Names) -> str:
    return f"{names.of(event.supervisor_id)} was asked: {preview(event.request, 80)}"


def _run_paused(event: RunPaused, names: Names) -> str:
    return f"run {names.of(event.run_id)} was paused"


def _run_resumed(event: RunResumed, names: Names) -> str:
    return f"run {names.of(event.run_id)} goes on"


def _cancel(event: CancelRequested, names: Names) -> str:
    what = f"task {names.of(event.task_id)}" if event.task_id else f"run {names.of(event.run_id)}"
    return f"{what} is being cancelled: {len(event.cancelled)} ended, {len(event.stopping)} stopping; {event.reason}"


def _switched(event: StrategySwitched, names: Names) -> str:
    kept = sum(len(group.kept) for group in event.groups)
    planned = sum(len(group.after) for group in event.groups)
    graphs = f", {kept} kept, {planned} re-planned" if event.groups else ""
    return f"{names.of(event.supervisor_id)} went from {event.previous} to {event.mode}{graphs}"


def _finished(event: RunFinished, names: Names) -> str:
    tail = f": {event.error}" if event.error else ""
    return f"run {names.of(event.run_id)} {_ENDED.get(event.status.value, 'has ended')}{tail}"


def _plan_asked(event: PlanAsked, names: Names) -> str:
    return f"{names.of(event.task_id)} is to be planned, once its whole text was read"


def _planned(event: GroupPlanned, names: Names) -> str:
    why = f": {event.explanation}" if event.explanation else ""
    return f"{names.of(event.task_id)} became {counted(len(event.nodes), 'task')}, {event.mode}{why}"


def _grown(event: GroupGrown, names: Names) -> str:
    parts = [f"{counted(len(event.added), 'task')} added"] if event.added else []
    parts += [f"{len(event.skipped)} left out"] if event.skipped else []
    tail = f" ({', '.join(parts)})" if parts else ""
    return f"{names.of(event.check_id)}: {event.failed or event.why}{tail}"


def _need_met(event: NeedMet, names: Names) -> str:
    answers = ", ".join(names.of(task_id) for task_id in event.answers)
    return f"{names.of(event.task_id)} has the answers that it needs: {answers}"


def _group_ended(event: GroupEnded, names: Names) -> str:
    tail = f": {event.error}" if event.error else ""
    return f"the graph of {names.of(event.task_id)} {_ENDED.get(event.status.value, 'has ended')}{tail}"


def _delegated(event: Delegated, names: Names) -> str:
    first = event.children[0].title if event.children else "nothing"
    more = f" and {len(event.children) - 1:,} more" if len(event.children) > 1 else ""
    return f"{names.of(event.agent_id)} delegated {first}{more}"


def _rejoined(event: CallRejoined, names: Names) -> str:
    return f"{names.of(event.agent_id)} asked again what it had asked before, for {names.of(event.task_id)}"


def _answered(event: CallAnswered, names: Names) -> str:
    return f"{names.of(event.task_id)} has its answers"


def _call_refused(event: CallRefused, names: Names) -> str:
    return f"{names.of(event.task_id)} asked in vain: {event.reason}"


def _retry(event: RetryScheduled, names: Names) -> str:
    return f"{names.of(event.task_id)}: retry {event.retry} in {duration(event.delay_ms)}"


def _due(event: RetryDue, names: Names) -> str:
    return f"{names.of(event.task_id)} is ready for its retry"


def _task_failed(event: TaskFailed, names: Names) -> str:
    return f"{names.of(event.task_id)} failed for good: {event.error}"


def _skipped(event: TaskSkipped, names: Names) -> str:
    return f"{names.of(event.task_id)} is skipped: {event.reason}"


def _item_taken(event: ItemTaken, names: Names) -> str:
    return f"{names.of(event.supervisor_id)} took {names.of(event.task_id)}"


def _item_returned(event: ItemReturned, names: Names) -> str:
    return f"{names.of(event.supervisor_id)} gave {names.of(event.task_id)} back: it is paused and had not begun"


def _requeued(event: TaskRequeued, names: Names) -> str:
    return f"{names.of(event.task_id)} waits again: {event.reason}"


def _reopened(event: TaskReopened, names: Names) -> str:
    more = f", with {counted(len(event.reopened) - 1, 'other')}" if len(event.reopened) > 1 else ""
    return f"{names.of(event.task_id)} is to be tried again{more}"


def _started(event: AttemptStarted, names: Names) -> str:
    if event.agent_id is None:
        return f"the engine began {names.of(event.task_id)}"
    generation = f", g{event.generation}" if event.generation > 1 else ""
    return f"{names.of(event.agent_id)} took {names.work(event)} (attempt {event.attempt}{generation})"


def _resumed(event: AttemptResumed, names: Names) -> str:
    return f"{names.of(event.agent_id)} goes on with {names.work(event)}"


def _step(event: StepRecorded, names: Names) -> str:
    took = duration(event.duration_ms)
    return f"{names.of(event.agent_id)} finished step {event.name} of {names.work(event)} in {took}"


def _done(event: AttemptDone, names: Names) -> str:
    who = names.of(event.agent_id) if event.agent_id is not None else "the engine"
    return f"{who} finished {names.work(event)} in {duration(event.duration_ms)}"


def _failed(event: AttemptFailed, names: Names) -> str:
    stuck = "; its thread still runs" if event.stuck else ""
    return f"{names.of(event.agent_id)} failed at {names.work(event)}: {event.error_type}: {event.error}{stuck}"


def _cancelled(event: AttemptCancelled, names: Names) -> str:
    back = "; the task begins again from its input" if event.restarted else "; the task waits again"
    back = back if event.requeued else ""
    return f"{names.of(event.agent_id)} stopped {names.work(event)}{back}"


def _lost(event: AttemptLost, names: Names) -> str:
    return f"{names.of(event.task_id)} was cut off with the engine; its finished steps are kept"


SENTENCES: dict[type, Callable[[Any, Names], str]] = {
    RunSubmitted: _submitted,
    RunPaused: _run_paused,
    RunResumed: _run_resumed,
    CancelRequested: _cancel,
    StrategySwitched: _switched,
    RunFinished: _finished,
    PlanAsked: _plan_asked,
    GroupPlanned: _planned,
    GroupGrown: _grown,
    NeedMet: _need_met,
    GroupEnded: _group_ended,
    Delegated: _delegated,
    CallRejoined: _rejoined,
    CallAnswered: _answered,
    CallRefused: _call_refused,
    RetryScheduled: _retry,
    RetryDue: _due,
    TaskFailed: _task_failed,
    TaskSkipped: _skipped,
    ItemReturned: _item_returned,
    ItemTaken: _item_taken,
    TaskRequeued: _requeued,
    TaskReopened: _reopened,
    AttemptStarted: _started,
    AttemptResumed: _resumed,
    StepRecorded: _step,
    AttemptDone: _done,
    AttemptFailed: _failed,
    AttemptCancelled: _cancelled,
    AttemptLost: _lost,
}
