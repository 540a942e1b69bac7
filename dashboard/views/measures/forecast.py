"""Estimates how long running work may take, as a range; no estimate without enough data. Pure."""

from collections.abc import Iterator
from math import sqrt
from typing import NamedTuple

from dashboard.views.words.amounts import duration
from engine.core.queries.team.tree import lineage_of
from engine.core.state import Run, State, Supervisor

MIN_ENDED = 8
"""Minimum ended tasks for an estimate."""
MIN_SPREAD, MAX_SPREAD = 0.15, 0.6
"""Distance of the range's ends from its middle, as a share of the middle."""
MAX_RATIO = 3
"""Largest ratio of the ends of a range that is shown."""
MAX_NODES = 200
"""Nodes of a graph that `may_grow` visits."""


class Range(NamedTuple):
    """The likely range of a duration."""

    low_ms: float
    high_ms: float

    @property
    def is_useful(self) -> bool:
        """Whether its upper end is at most `MAX_RATIO` times its lower one; a wider range is not shown."""
        return self.high_ms <= MAX_RATIO * self.low_ms

    @property
    def text(self) -> str:
        """Such as `32–50 s`, `2–4 min`, or `1 min 10 s – 2 min 05 s` where the units differ."""
        for unit_ms, unit, upto in ((1_000, "s", 120), (60_000, "min", 120), (3_600_000, "h", 1_000_000)):
            low, high = self.low_ms / unit_ms, self.high_ms / unit_ms
            if high <= upto and (low >= 1 or unit == "s"):
                first, last = max(1, round(low)), max(1, round(high))
                return f"{first}–{last} {unit}" if first != last else f"{last} {unit}"
        return f"{duration(self.low_ms)} – {duration(self.high_ms)}"


def time_left(state: State, run: Run, now_ms: int) -> Range | None:
    """Estimate the remaining time of an open run from its rate of ended tasks; None if that is unknown.

    The ends of the range are two standard deviations of a Poisson count away from the middle. It is unknown while more
    tasks may come or a person is asked, and where the range is too wide to be of use.
    """
    if run.ended < MIN_ENDED or run.paused or run.suspended or run.after or run.held:
        return None
    if any(above.paused or above.exhausted or above.error for above in _supervisors_over(state, run)):
        return None
    left = run.total - run.ended
    if left <= 0 or asked_task_ids(state, run) or may_grow(state, run):
        return None
    a_task_ms = max(0, now_ms - run.started_ms) / run.ended
    off = max(MIN_SPREAD, min(MAX_SPREAD, 2 / sqrt(run.ended)))
    estimate = Range(left * a_task_ms * (1 - off), left * a_task_ms * (1 + off))
    return estimate if estimate.is_useful else None


def asked_task_ids(state: State, run: Run) -> set[str]:
    """Return the ids of the tasks of an open run about which a person is asked; their duration is unknown."""
    return {escalation.subject for escalation in state.escalations.values() if escalation.run_id == run.id}


def _supervisors_over(state: State, run: Run) -> Iterator[Supervisor]:
    """Yield the supervisors whose pause, error or spent budget stops a whole run."""
    supervisor = state.supervisors.get(run.supervisor_id)
    return iter(()) if supervisor is None else lineage_of(state, supervisor)


def may_grow(state: State, run: Run) -> bool:
    """Return whether a run may get more tasks: a lead has delegated and is not done, or a graph is not planned yet."""
    todo, visited = [run.root_id], 0
    while todo and visited < MAX_NODES:
        task = state.tasks.get(todo.pop())
        visited += 1
        if task is None or task.ended:
            continue
        is_lead, is_planned = task.kind == "agent" and bool(task.children), bool(task.children)
        if is_lead or (task.kind == "group" and not is_planned):
            return True
        todo += task.children[:MAX_NODES]
    return False
