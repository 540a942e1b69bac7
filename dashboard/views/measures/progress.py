"""The progress of a supervisor's open work, and its estimated end as a range, from the recent rate."""

from collections.abc import Mapping
from itertools import islice
from typing import NamedTuple

from dashboard.views.measures.activity import Activity
from dashboard.views.measures.forecast import Range, may_grow
from dashboard.views.view_state import ViewState
from dashboard.views.words.amounts import UNKNOWN, percent
from engine.core.queries.team.tree import agents_of, supervisors_from
from engine.core.state import Run, RunStatus, RunSummary, State, TaskStatus

WINDOW_MS, WINDOWS = 20_000, 3
"""Length and number of the windows; the slowest and the fastest one are the ends of the range."""
MIN_ENDS = 6
"""Minimum ends in all windows for an estimate."""
MAX_RUNS = 20
"""Open runs that are checked for growth."""
EVERY_MS, TASKS_PER_MS = 500, 20
"""Minimum time between two counts, and the tasks per millisecond that lengthen it."""


def format_share(share: float, *, grows: bool) -> str:
    """Return a share in percent; a dash if the total may grow, because only an upper bound is known then."""
    return UNKNOWN if grows and share > 0 else percent(share)


def share_of(run: Run | RunSummary) -> float:
    """Return the ended share of an open run, or the done share of a finished one; 0 or 1 for one without tasks."""
    if isinstance(run, Run):
        return run.ended / run.total if run.total else 0.0
    return run.done / run.tasks if run.tasks else float(run.status is RunStatus.DONE)


class Progress(NamedTuple):
    """Tasks of agents in open runs."""

    ended_count: int = 0
    total: int = 0
    failed: int = 0
    grows: int = 0
    """Number of open tasks that have delegated, and may delegate more."""

    @property
    def share(self) -> float:
        """Ended share, from 0 to 1."""
        return self.ended_count / self.total if self.total else 0.0

    @property
    def percent_text(self) -> str:
        """The share in percent, such as `88%`; a dash if more tasks may come."""
        return format_share(self.share, grows=self.grows > 0)


class ProgressCache:
    """The progress of every supervisor, counted at most twice a second."""

    def __init__(self) -> None:
        self._seq, self._next_ms = -1, 0
        self._progress_by_supervisor: Mapping[str, Progress] = {}

    def of(self, view: ViewState) -> Mapping[str, Progress]:
        """Return the progress by supervisor, including everything below it."""
        state = view.state
        if state.seq != self._seq and (view.is_due(self._next_ms) or state.seq < self._seq):
            self._seq, self._next_ms = state.seq, view.wall_ms + max(EVERY_MS, len(state.tasks) // TASKS_PER_MS)
            self._progress_by_supervisor = progress_of(state)
        return self._progress_by_supervisor


def progress_of(state: State) -> dict[str, Progress]:
    """Count the tasks of open runs by supervisor, including everything below it."""
    own: dict[str, list[int]] = {}
    failed = TaskStatus.FAILED
    for task in state.tasks.values():
        if task.kind == "agent":
            sums = own.get(task.supervisor_id)
            if sums is None:
                sums = own[task.supervisor_id] = [0, 0, 0, 0]
            sums[1] += 1
            if task.ended_ms is not None:
                sums[0] += 1
                sums[2] += task.status is failed
            elif task.children:
                sums[3] += 1
    whole: dict[str, Progress] = {}
    for supervisor_id, sums in own.items():
        for ancestor in supervisors_from(state, supervisor_id):
            before = whole.get(ancestor.id, Progress())
            whole[ancestor.id] = Progress(*(number + more for number, more in zip(before, sums, strict=True)))
    return whole


def time_to_go(state: State, supervisor_id: str, progress: Progress, activity: Activity, now_ms: int) -> str:
    """Estimate the end of a supervisor's open work, such as `41–66 s to go`; empty without enough data.

    While more tasks may come, only the lower end is known, so nothing is said.
    """
    to_do, windows = progress.total - progress.ended_count, _count_windows(activity, now_ms)
    if to_do <= 0 or windows <= 0:  # a fast team fills the deque of ends within a window
        return ""
    whose = {agent.id for agent in agents_of(state, supervisor_id)}
    counts = [0] * windows
    for end in reversed(activity.ends):
        window = (now_ms - end.at_ms) // WINDOW_MS
        if window >= windows:
            break
        if end.outcome == "done" and end.agent_id in whose and window >= 0:
            counts[window] += 1
    if sum(counts) < MIN_ENDS or not all(counts):
        return ""
    fast, slow = (to_do / count * WINDOW_MS for count in (max(counts), min(counts)))
    if any(may_grow(state, run) for run in islice(state.runs.values(), MAX_RUNS) if not run.after):
        return ""
    left = Range(fast, slow)
    return f"{left.text} to go" if left.is_useful else ""


def _count_windows(activity: Activity, now_ms: int) -> int:
    """Return the number of whole windows that the retained ends cover."""
    if not activity.ends:
        return 0
    return min(WINDOWS, (now_ms - activity.ends[0].at_ms) // WINDOW_MS)
