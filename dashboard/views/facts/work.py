"""What a task waits for, how long it has taken and how far it is, in a few words."""

from collections.abc import Mapping

from dashboard.views.facts.live_values import read_live_value
from dashboard.views.measures.digest import Digest
from dashboard.views.words.amounts import duration, elapsed, remaining
from engine.core.scheduler.waiting import WaitReasons
from engine.core.state import State, Task


def waiting_reason(state: State, task: Task, counts: Digest, now_ms: int) -> str:
    """Return what a task waits for; empty if it does not wait."""
    wait = counts.once(WaitReasons, state).why(task)
    if wait is None:
        return ""
    if wait.until_ms is None:
        return wait.words
    left = remaining(wait.until_ms - now_ms)
    return f"{wait.words} {left}" if wait.why == "retry" else f"{wait.words}, {left} left"


def time_taken(task: Task, now_ms: int, *, max_width: int = 1_000) -> str:
    """Return the time that a task has taken so far; empty if it has not begun.

    Args:
        max_width: In cells, as in `duration`.
    """
    if task.started_ms is None:
        return ""
    if task.ended_ms is not None:
        return duration(task.ended_ms - task.started_ms, max_width=max_width)
    return elapsed(now_ms - task.started_ms, max_width=max_width) or "<1 s"


def describe_progress(live: Mapping[str, str], task_id: str) -> str:
    """Return the reported progress of a task, such as `61/120 headers`; empty for none."""
    report = read_live_value(live, f"progress:{task_id}")
    if not isinstance(report, dict):
        return ""
    done, total, note = report.get("done"), report.get("total"), report.get("note")
    number = f"{done}/{total}" if total is not None and done is not None else "" if done is None else f"{done}"
    return " ".join(part for part in (number, str(note) if note else "") if part)
