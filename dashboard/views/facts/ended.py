"""Ended tasks that the state has dropped, rebuilt from events of the journal; and failed attempts."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any, NamedTuple, TypeAlias

from rich.cells import cell_len

from dashboard.views.drawing.lines import Line, Span, cut, cut_path, join_columns, pad, spread
from dashboard.views.drawing.plots import meter
from dashboard.views.event_log import Entry
from dashboard.views.measures.activity import SPEND_KINDS, SPENDING
from dashboard.views.words.amounts import ago, duration
from dashboard.views.words.glyphs import TASK
from dashboard.views.words.names import Names
from engine.core.events import (
    AttemptCancelled,
    AttemptDone,
    AttemptFailed,
    AttemptStarted,
    BudgetExhausted,
    CancelRequested,
    DeadlinePassed,
    TaskAnswered,
    TaskFailed,
    TaskSkipped,
)
from engine.core.records.values import Usage, preview
from engine.core.state import TaskStatus

_End: TypeAlias = AttemptDone | AttemptFailed | AttemptCancelled
_ENDS = (AttemptDone, AttemptFailed, AttemptCancelled)
_OTHER_ENDS = (TaskAnswered, TaskFailed, TaskSkipped, CancelRequested, DeadlinePassed, BudgetExhausted)
"""Events that end a task without an attempt at work."""
ENDS = tuple(event_class.type for event_class in (*_ENDS, *_OTHER_ENDS))
"""Kinds of events that end tasks."""
STARTS_AND_ENDS = (AttemptStarted.type, *ENDS)
"""Kinds of events from which it is known how long ended tasks took: some are set aside and go on."""
SPENDS = tuple({*ENDS, *SPEND_KINDS, AttemptStarted.type})
"""Kinds of events that end tasks, or report their usage."""
FAILS = (AttemptFailed.type,)
MIN_BAR_WIDTH = 6
"""Minimum cells of the bar of its time."""
MIN_TITLE_WIDTH = 16
"""Minimum cells of the title of a recent end beside its age."""


@dataclass(frozen=True, slots=True)
class EndedTask:
    """An ended task, and its last attempt."""

    id: str
    run_id: str
    agent_id: str
    title: str
    status: TaskStatus
    attempts: int
    started_ms: int
    """Start of its first attempt, among the events that were read."""
    ended_ms: int
    duration_ms: int
    """Duration of the last attempt."""
    error: str | None
    usage: Usage | None
    """Usage of all its attempts, without delegated tasks; None if its first attempt began before the events read."""
    seq: int
    """Seq of the event that ended its last attempt."""

    @property
    def took_ms(self) -> int:
        """Time from the start of its first attempt to its end."""
        return self.ended_ms - self.started_ms


class _StartedTask(NamedTuple):
    """A task whose first attempt began among the events."""

    seq: int
    """Seq of its last event."""
    at_ms: int
    usage: Usage


def ended_tasks_in(entries: Sequence[Entry], names: Names) -> list[EndedTask]:
    """Return the tasks of agents that ended in these events, which come newest first."""
    return EndedTaskIndex().update(entries, names)


class EndedTaskIndex:
    """The tasks that ended in a list of events that grows at its front; processes only new events."""

    def __init__(self) -> None:
        self._oldest = self._newest = 0
        self._tasks_by_id: dict[str, EndedTask] = {}
        self._started_tasks: dict[str, _StartedTask] = {}
        self._reasons: dict[str, str] = {}
        """Reasons of requested cancellations, by task, until the task ends."""
        self.tasks: list[EndedTask] = []

    def update(self, entries: Sequence[Entry], names: Names) -> list[EndedTask]:
        """Return the ended tasks, the newest first."""
        oldest, newest = (entries[-1].seq, entries[0].seq) if entries else (0, 0)
        if newest == self._newest and oldest == self._oldest:
            return self.tasks
        fresh = list(entries)
        if self._oldest <= oldest <= self._newest <= newest:
            fresh = [*takewhile(lambda entry: entry.seq > self._newest, entries)]
            self._tasks_by_id = {
                key: ended_task for key, ended_task in self._tasks_by_id.items() if ended_task.seq >= oldest
            }
            self._started_tasks = {
                key: started_task for key, started_task in self._started_tasks.items() if started_task.seq >= oldest
            }
        else:
            self._tasks_by_id, self._started_tasks, self._reasons = {}, {}, {}
        for entry in reversed(fresh):
            self._fold(entry, names)
        self.tasks = [*reversed(self._tasks_by_id.values())]
        self._oldest, self._newest = oldest, newest
        return self.tasks

    def _fold(self, entry: Entry, names: Names) -> None:
        event = entry.event
        if isinstance(event, AttemptStarted) and event.attempt == 1:
            self._started_tasks[event.task_id] = _StartedTask(entry.seq, entry.at_ms, Usage())
        elif isinstance(event, SPENDING):
            self._spend(entry.seq, event)
        if isinstance(event, _ENDS):
            self._end(entry, event, names)
        elif isinstance(event, TaskAnswered):
            self._set_outcome(event.task_id, TaskStatus.DONE, entry.at_ms, None)
        elif isinstance(event, TaskFailed):
            self._set_outcome(event.task_id, TaskStatus.FAILED, entry.at_ms, event.error)
        elif isinstance(event, TaskSkipped):
            self._set_outcome(event.task_id, TaskStatus.SKIPPED, entry.at_ms, event.reason)
        elif isinstance(event, CancelRequested):
            self._reasons |= dict.fromkeys(event.stopping, preview(event.reason))
            for task_id in event.cancelled:
                self._set_outcome(task_id, TaskStatus.CANCELLED, entry.at_ms, preview(event.reason))
        elif isinstance(event, DeadlinePassed | BudgetExhausted):
            for task_id in event.ended:
                status = TaskStatus.FAILED if task_id == event.task_id else TaskStatus.CANCELLED
                self._set_outcome(task_id, status, entry.at_ms, event.error)

    def _spend(self, seq: int, event: Any) -> None:
        begun = self._started_tasks.get(event.task_id)
        if begun is not None:
            usage = begun.usage.plus(event.usage)
            self._started_tasks[event.task_id] = begun._replace(seq=seq, usage=usage)
            if (task := self._tasks_by_id.get(event.task_id)) is not None:
                self._tasks_by_id[task.id] = replace(task, usage=usage)

    def _end(self, entry: Entry, event: _End, names: Names) -> None:
        if event.agent_id is None or (isinstance(event, AttemptCancelled) and event.requeued):
            return
        last = self._tasks_by_id.pop(event.task_id, None)  # reinserted, so that the last ended task is last
        begun = self._started_tasks.get(event.task_id)
        begun_ms = entry.at_ms - event.duration_ms if begun is None else begun.at_ms
        status, error = TaskStatus.DONE, None
        if isinstance(event, AttemptFailed):
            status, error = TaskStatus.FAILED, event.error
        elif isinstance(event, AttemptCancelled):
            status = TaskStatus.CANCELLED if event.limit is None else TaskStatus.FAILED
            error = event.limit or self._reasons.pop(event.task_id, "cancelled")
        self._tasks_by_id[event.task_id] = EndedTask(
            id=event.task_id,
            run_id=event.run_id,
            agent_id=event.agent_id,
            title=names.of(event.task_id),
            status=status,
            attempts=event.attempt,
            started_ms=begun_ms if last is None else min(last.started_ms, begun_ms),
            ended_ms=entry.at_ms,
            duration_ms=event.duration_ms,
            error=error,
            usage=None if begun is None else begun.usage,
            seq=entry.seq,
        )

    def _set_outcome(self, task_id: str, status: TaskStatus, at_ms: int, error: str | None) -> None:
        if (task := self._tasks_by_id.get(task_id)) is not None:
            self._tasks_by_id[task_id] = replace(task, status=status, ended_ms=at_ms, error=error)


def ended_lines(tasks: Iterable[EndedTask], names: Names, *, width: int) -> list[Line]:
    """Return a line for each task: title, agent and time."""
    return [_ended_line(task, names, width) for task in tasks]


def _ended_line(task: EndedTask, names: Names, width: int) -> Line:
    mark = TASK[task.status]
    name_width = max(8, width // 4)
    took = f"{duration(task.took_ms, max_width=9):>9}"
    right = (Span(f" {pad(names.of(task.agent_id), name_width)} ", "muted"), Span(took))
    title = cut_path(task.title, max(6, width - name_width - len(took) - 5))
    return spread((Span(f"{mark.glyph} ", mark.tone), Span(title)), right, width, key=task.id)


class RecentEnd(NamedTuple):
    """The end of an attempt, for a list of the newest ones."""

    status: TaskStatus
    title: str
    took_ms: int
    ended_ms: int
    task_id: str
    agent_name: str = ""
    """Empty in a list of one agent."""


def recent_lines(ends: Sequence[RecentEnd], width: int, *, now_ms: int) -> list[Line]:
    """Return a line for each end: title and time, and where titles stay readable, its age and a bar of its time."""
    longest_ms = max((end.took_ms for end in ends), default=0) or 1
    name_width = min(16, width // 3, max((cell_len(end.agent_name) for end in ends), default=0))
    title_width = max((cell_len(end.title[:width]) for end in ends), default=0)
    return [_recent_line(end, longest_ms, name_width, title_width, width, now_ms) for end in ends]


def _recent_line(end: RecentEnd, longest_ms: int, name_width: int, widest_title: int, width: int, now_ms: int) -> Line:
    mark = TASK[end.status]
    free = width - 12 - (name_width + 1 if name_width else 0) - MIN_TITLE_WIDTH
    age_width = 10 if free >= 11 else 0
    bar_width = min(24, width // 4, free + MIN_TITLE_WIDTH - age_width - 2 - widest_title)  # titles first
    bar_width = bar_width if bar_width >= MIN_BAR_WIDTH and free >= 17 + bar_width else 0
    title_width = max(4, free + MIN_TITLE_WIDTH - sum(part + 1 for part in (age_width, bar_width) if part))
    parts: list[tuple[Sequence[Span], int]] = [
        ([Span(mark.glyph, mark.tone)], 1),
        ([Span(end.agent_name, "muted")], name_width),
        ([Span(cut_path(end.title, title_width), "error" if mark.tone == "error" else "")], title_width),
        (meter(end.took_ms / longest_ms, bar_width, tone=mark.tone), bar_width),
        ([Span(f"{duration(end.took_ms, max_width=9):>9}")], 9),
        ([Span(f"{ago(now_ms - end.ended_ms):>10}", "faint")], age_width),
    ]
    return join_columns([part for part in parts if part[1]], key=end.task_id)


def failed_lines(entries: Iterable[Entry], names: Names, *, width: int, now_ms: int) -> list[Line]:
    """Return a line for each failed attempt, in the order of `entries`; with its error if there is room."""
    failures = [(entry, entry.event) for entry in entries if isinstance(entry.event, AttemptFailed)]
    return [_failed_line(entry.at_ms, event, names, width, now_ms) for entry, event in failures]


def _failed_line(at_ms: int, event: AttemptFailed, names: Names, width: int, now_ms: int) -> Line:
    name_width = max(8, min(20, width // 4))
    if width >= 90:
        error = Span(cut(event.error, width - name_width - 10 - 34), "muted")
        left: tuple[Span, ...] = (Span(pad(cut_path(names.work(event), 28), 30), "error"), error)
    else:
        left = (Span(cut_path(names.work(event), max(6, width - name_width - 14)), "error"),)
    right = (
        Span(pad(names.of(event.agent_id), name_width), "muted"),
        Span(pad(ago(now_ms - at_ms), 11, right=True), "faint"),
    )
    return spread((Span("✕ ", "error"), *left), right, width, key=event.task_id)
