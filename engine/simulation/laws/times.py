"""Where time went: the shares of tasks and runs add up to their wall time, and are what events say."""

from collections import Counter
from typing import Any

from engine.core import events
from engine.core.queries.work.times import Times, times_of, times_of_attempt
from engine.simulation.laws.registry import law
from engine.simulation.ledger import ENDS
from engine.simulation.ledger.times import WAITS
from engine.simulation.shadow_ledger import ShadowLedger


@law(events.RunFinished)
def the_time_of_tasks_adds_up(ledger: ShadowLedger, event: events.RunFinished) -> str | None:
    """The time of each task of a run went where events say, and adds up to its wall time."""
    for task_id in ledger.work.runs[event.run_id].tasks:
        task, job = ledger.state.tasks[task_id], ledger.work.jobs[task_id]
        if job.ended_ms is None or task_id not in ledger.times.intervals:
            continue
        times = times_of(ledger.state, task, event.at_ms)
        if sum(times.values()) != job.ended_ms - job.created_ms:
            return f"{task_id} says {times}, which is not the {job.ended_ms - job.created_ms} ms that it took"
        expected = ledger.times.times(ledger.work, job, event.at_ms)
        if _merge_waits(times) != _merge_waits(expected):
            return f"the time of {task_id} went into {times}; events say {dict(expected)}"
    return None


@law(events.RunFinished)
def the_time_of_a_run_adds_up(ledger: ShadowLedger, event: events.RunFinished) -> str | None:
    """The kinds of time along the critical path of a run add up to its wall time."""
    wall_ms = event.at_ms - ledger.work.runs[event.run_id].submitted_ms
    total_ms = sum(event.figures.times.values())
    return None if total_ms == wall_ms else f"{event.run_id} took {wall_ms} ms; its critical path has {total_ms}"


@law(*ENDS)
def the_time_of_an_attempt_adds_up(ledger: ShadowLedger, event: Any) -> str | None:
    """The time of an attempt went where events say, and adds up to its wall time."""
    task, job = ledger.state.tasks[event.task_id], ledger.work.jobs[event.task_id]
    if task.attempt is None:
        return None
    now_ms = max(event.at_ms, ledger.state.at_ms)
    times = times_of_attempt(ledger.state, task, task.attempt, now_ms)
    expected = ledger.times.times(ledger.work, job, now_ms, of_attempt=True)
    if times != dict(expected):
        return f"the time of attempt {event.attempt} at {event.task_id} went into {times}; events say {dict(expected)}"
    return None


def _merge_waits(times: Times | Counter[str]) -> dict[str, int]:
    """Return the times with one kind for all waits before and between attempts."""
    merged: Counter[str] = Counter()
    for kind, length_ms in times.items():
        merged["queue" if kind in WAITS else kind] += length_ms
    return dict(+merged)
