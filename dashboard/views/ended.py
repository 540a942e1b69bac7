"""Tasks that have ended and that the state has forgotten, out of events of the journal; and attempts that failed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import TypeAlias

from dashboard.views.amounts import ago, duration
from dashboard.views.event_log import Entry
from dashboard.views.glyphs import TASK
from dashboard.views.lines import Line, Span, cut, cut_path, padded, spread
from dashboard.views.names import Names
from engine.core.events import AttemptCancelled, AttemptDone, AttemptFailed
from engine.core.state import TaskStatus
from engine.core.values import Usage

_End: TypeAlias = AttemptDone | AttemptFailed | AttemptCancelled
ENDS = (AttemptDone.type, AttemptFailed.type, AttemptCancelled.type)
"""Kinds of the events by which attempts end."""
FAILS = (AttemptFailed.type,)
_STATUS = {
    AttemptDone: TaskStatus.DONE, AttemptFailed: TaskStatus.FAILED, AttemptCancelled: TaskStatus.CANCELLED
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class EndedTask:
    """What the last attempt of a task came to."""

    id: str
    run_id: str
    agent_id: str
    title: str
    status: TaskStatus
    attempt: int
    ended_ms: int
    duration_ms: int
    error: str | None
    usage: Usage
    seq: int
    """The event that ended it."""


def ended_in(entries: Iterable[Entry], names: Names) -> list[EndedTask]:
    """Return the tasks of agents whose attempts ended in these events, which come newest first; each once."""
    found: dict[str, EndedTask] = {}
    for entry in entries:
        event = entry.event
        again = isinstance(event, AttemptCancelled) and event.requeued
        if isinstance(event, _End) and event.agent_id is not None and not again and event.task_id not in found:
            found[event.task_id] = _task(entry, event, event.agent_id, names)
    return list(found.values())


class Ended:
    """The tasks that ended in the events of a list that grows at its front: only those of new events are made anew."""

    def __init__(self) -> None:
        self._oldest = self._newest = 0
        self.tasks: list[EndedTask] = []

    def of(self, entries: Sequence[Entry], names: Names) -> list[EndedTask]:
        """Return what `ended_in` does."""
        oldest, newest = (entries[-1].seq, entries[0].seq) if entries else (0, 0)
        if newest == self._newest and oldest == self._oldest:
            return self.tasks
        if self._oldest <= oldest <= self._newest <= newest:
            fresh = ended_in(takewhile(lambda one: one.seq > self._newest, entries), names)
            again = {one.id for one in fresh}
            self.tasks = [*fresh, *(one for one in self.tasks if one.seq >= oldest and one.id not in again)]
        else:
            self.tasks = ended_in(entries, names)
        self._oldest, self._newest = oldest, newest
        return self.tasks


def _task(entry: Entry, event: _End, agent_id: str, names: Names) -> EndedTask:
    return EndedTask(
        id=event.task_id, run_id=event.run_id, agent_id=agent_id, title=names.of(event.task_id),
        status=_STATUS[type(event)], attempt=event.attempt, ended_ms=entry.at_ms, duration_ms=event.duration_ms,
        error=event.error if isinstance(event, AttemptFailed) else None, usage=event.usage, seq=entry.seq,
    )  # fmt: skip


def ended_lines(tasks: Iterable[EndedTask], names: Names, *, width: int) -> list[Line]:
    """Return a line for each: what it was, who did it, how long it took."""
    return [_ended(task, names, width) for task in tasks]


def _ended(task: EndedTask, names: Names, width: int) -> Line:
    mark = TASK[task.status]
    who = max(8, width // 4)
    took = f"{duration(task.duration_ms, most=9):>9}"
    right = (Span(f" {padded(names.of(task.agent_id), who)} ", "muted"), Span(took))
    title = cut_path(task.title, max(6, width - who - len(took) - 5))
    return spread((Span(f"{mark.glyph} ", mark.tone), Span(title)), right, width, key=task.id)


def failed_lines(entries: Iterable[Entry], names: Names, *, width: int, now_ms: int) -> list[Line]:
    """Return a line for each attempt that failed, as `entries` come: what, by whom, why where there is room."""
    found = [(entry, entry.event) for entry in entries if isinstance(entry.event, AttemptFailed)]
    return [_failed(entry.at_ms, event, names, width, now_ms) for entry, event in found]


def _failed(at_ms: int, event: AttemptFailed, names: Names, width: int, now_ms: int) -> Line:
    who = max(8, min(20, width // 4))
    if width >= 90:
        error = Span(cut(event.error, width - who - 10 - 34), "muted")
        left: tuple[Span, ...] = (Span(padded(cut_path(names.work(event), 28), 30), "error"), error)
    else:
        left = (Span(cut_path(names.work(event), max(6, width - who - 14)), "error"),)
    right = (
        Span(padded(names.of(event.agent_id), who), "muted"),
        Span(padded(ago(now_ms - at_ms), 11, right=True), "faint"),
    )
    return spread((Span("✕ ", "error"), *left), right, width, key=event.task_id)
