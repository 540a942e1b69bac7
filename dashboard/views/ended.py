"""Tasks that have ended and that the state has forgotten, out of events of the journal; and attempts that failed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
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
    """What a task came to, and its last attempt."""

    id: str
    run_id: str
    agent_id: str
    title: str
    status: TaskStatus
    attempt: int
    started_ms: int
    """When its first attempt began, as far as that was read."""
    ended_ms: int
    duration_ms: int
    """Of the last attempt."""
    error: str | None
    usage: Usage
    seq: int
    """The event that ended it."""

    @property
    def took_ms(self) -> int:
        """How long it took with all its attempts, as of a task whose run is open."""
        return self.ended_ms - self.started_ms


def ended_in(entries: Iterable[Entry], names: Names) -> list[EndedTask]:
    """Return the tasks of agents whose attempts ended in these events, which come newest first; each once."""
    found: dict[str, EndedTask] = {}
    for entry in entries:
        event = entry.event
        if not isinstance(event, _End) or event.agent_id is None:
            continue
        last = found.get(event.task_id)
        if last is not None:
            found[last.id] = replace(last, started_ms=min(last.started_ms, entry.at_ms - event.duration_ms))
        elif not (isinstance(event, AttemptCancelled) and event.requeued):
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
            known = {one.id: one.started_ms for one in self.tasks}
            fresh = [
                replace(one, started_ms=min(one.started_ms, known.get(one.id, one.started_ms)))
                for one in ended_in(takewhile(lambda one: one.seq > self._newest, entries), names)
            ]
            again = {one.id for one in fresh}
            self.tasks = [*fresh, *(one for one in self.tasks if one.seq >= oldest and one.id not in again)]
        else:
            self.tasks = ended_in(entries, names)
        self._oldest, self._newest = oldest, newest
        return self.tasks


def _task(entry: Entry, event: _End, agent_id: str, names: Names) -> EndedTask:
    return EndedTask(
        id=event.task_id, run_id=event.run_id, agent_id=agent_id, title=names.of(event.task_id),
        status=_STATUS[type(event)], attempt=event.attempt, started_ms=entry.at_ms - event.duration_ms,
        ended_ms=entry.at_ms, duration_ms=event.duration_ms,
        error=event.error if isinstance(event, AttemptFailed) else None, usage=event.usage, seq=entry.seq,
    )  # fmt: skip


def ended_lines(tasks: Iterable[EndedTask], names: Names, *, width: int) -> list[Line]:
    """Return a line for each: what it was, who did it, how long it took."""
    return [_ended(task, names, width) for task in tasks]


def _ended(task: EndedTask, names: Names, width: int) -> Line:
    mark = TASK[task.status]
    who = max(8, width // 4)
    took = f"{duration(task.took_ms, most=9):>9}"
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
