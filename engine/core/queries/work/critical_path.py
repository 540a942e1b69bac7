"""The critical path of a run: backwards from its end, at each moment the deepest open task that ended last.

    request ├───────────────────────────────────────────┤
    lead     ├──model──┬───waits for both───┬──model────┤      path: lead, then b, then lead
      a                ├─────────┤
      b                ├────────────────────┤

Below each task, the child that ended last is followed until it became open, then the one that ended last before that;
of equal ones that with the lowest id. What no child covers is time of the task itself, of a group `queue`. Time before
a task could begin (its predecessors had not ended) belongs to those.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple, Protocol

from engine.core.queries.money.spending import name_of_spender
from engine.core.queries.work.times import Times, clip, spans_of
from engine.core.records.spans import (
    BLOCKED,
    DELEGATED,
    KIND_OF,
    QUEUE,
    REST,
    STEP_CODES,
    TIME_KINDS,
    TimeKind,
    TimeSpan,
)
from engine.core.records.values import preview
from engine.core.state import CriticalPart, Run, State, Task

MAX_PARTS = 12
"""Number of parts of a critical path that are kept."""


class OpenStep(NamedTuple):
    """A step of an attempt at work, which the journal does not have yet."""

    what: str
    name: str
    since_ms: int


class Present(Protocol):
    """What tasks do at the moment of the look; `core.activities` says it."""

    def open_steps(self, task: Task) -> Sequence[OpenStep] | None:
        """Return the steps that run, the oldest first; None if that is unknown."""

    def describe_task(self, task: Task) -> str:
        """Return in words what an open task does."""


class CriticalPath(NamedTuple):
    """Where the time of a run went."""

    times: Times
    """Milliseconds by kind; they add up to its wall time."""
    parts: list[CriticalPart]
    """Its `MAX_PARTS` longest parts, in the order of time."""
    last: Task
    """The task at its end."""


class _Stretch(NamedTuple):
    """A time in which a task was open."""

    until_ms: int
    since_ms: int
    task: Task


class _Segment(NamedTuple):
    task: Task
    span: TimeSpan


def critical_path(state: State, run: Run, now_ms: int, present: Present | None = None) -> CriticalPath:
    """Return where the time of a run of the state went; an open one is counted to `now_ms`."""
    root = state.tasks[run.root_id]
    last: Task | None = None
    times: dict[int, int] = {}
    lengths: dict[tuple[str, int, int], int] = {}
    finder = _PathFinder(state, now_ms, present)
    for task, span in _segments(finder, root, run.started_ms, now_ms):
        last = last or task
        length_ms = span.until_ms - span.since_ms
        times[span.code] = times.get(span.code, 0) + length_ms
        key = (task.id, TIME_KINDS.index(KIND_OF[span.code]), span.detail)
        lengths[key] = lengths.pop(key, 0) + length_ms  # moves it: at last they are in the order of their beginning
    by_kind: Times = {}
    for code, length_ms in times.items():
        by_kind[KIND_OF[code]] = by_kind.get(KIND_OF[code], 0) + length_ms
    longest = sorted(lengths, key=lambda key: -lengths[key])[:MAX_PARTS]
    parts = [
        CriticalPart(
            task_id=task_id,
            agent=_agent_name(state, state.tasks[task_id]),
            kind=TIME_KINDS[kind],
            ms=lengths[task_id, kind, detail],
            words=finder.describe(state.tasks[task_id], TIME_KINDS[kind], detail),
        )
        # The path was followed backwards.
        for task_id, kind, detail in reversed([key for key in lengths if key in set(longest)])
    ]
    return CriticalPath({kind: by_kind[kind] for kind in TIME_KINDS if kind in by_kind}, parts, last or root)


class _PathFinder:
    """The spans and the open times of the tasks of a run."""

    def __init__(self, state: State, now_ms: int, present: Present | None) -> None:
        self._state, self._now_ms, self._present = state, now_ms, present

    def spans(self, task: Task) -> list[TimeSpan]:
        spans = spans_of(self._state, task, self._now_ms)
        if spans and spans[-1].code == REST and spans[-1].since_ms >= task.counted_ms:
            steps = None if self._present is None else self._present.open_steps(task)
            # Nothing is known of the past: what a model agent does since its last step is an answer, most likely.
            if steps is None and self._is_at_model(task):
                steps = [OpenStep("model", "", spans[-1].since_ms)]
            spans[-1:] = _divide(spans[-1], steps or ())
        return spans

    def _is_at_model(self, task: Task) -> bool:
        agent = self._state.agents.get(task.agent_id or "") if task.attempt is not None else None
        return agent is not None and self._state.spec_of(agent).is_played_by_model

    def describe(self, task: Task, kind: TimeKind, detail: int) -> str:
        """Return what took a part of the time, for the number that its spans have; empty if it has no name."""
        if kind == "person":
            return f"e{detail}" if detail else ""
        if not detail:
            return "failed calls" if kind == "model" else ""
        if detail > len(task.steps):
            return ""
        if detail > 0:
            return describe_step([*task.steps][detail - 1].rsplit(":", 2)[0], kind)
        steps = None if self._present is None else self._present.open_steps(task)
        return describe_step(steps[-detail - 1].name, kind) if steps else ""

    def stretches(self, task: Task) -> list[_Stretch]:
        """Return when the children of a task were open: the one that ended last first."""
        stretches = [stretch for child_id in task.children for stretch in self._open_times(self._state.tasks[child_id])]
        stretches.sort(key=lambda stretch: (-stretch.until_ms, int(stretch.task.id[1:])))
        return stretches

    def _open_times(self, task: Task) -> Iterator[_Stretch]:
        since_ms = until_ms = task.created_ms
        for span in self.spans(task):
            if span.code == BLOCKED:
                if since_ms < until_ms:
                    yield _Stretch(until_ms, since_ms, task)
                since_ms = span.until_ms
            until_ms = span.until_ms
        if since_ms < until_ms:
            yield _Stretch(until_ms, since_ms, task)


def _divide(rest: TimeSpan, steps: Sequence[OpenStep]) -> Iterator[TimeSpan]:
    """Yield the time since the last recorded step by the steps that run; their details count down from -1."""
    since_ms = [max(rest.since_ms, min(step.since_ms, rest.until_ms)) for step in steps]
    codes = [REST, *(STEP_CODES.get(step.what, REST) for step in steps)]
    for index, (begin_ms, end_ms) in enumerate(pairwise([rest.since_ms, *since_ms, rest.until_ms])):
        if begin_ms < end_ms:
            yield TimeSpan(codes[index], begin_ms, end_ms, -index)


def _segments(finder: _PathFinder, root: Task, since_ms: int, until_ms: int) -> Iterator[_Segment]:
    """Yield the critical path of a task between two times, backwards."""
    front = [(root, since_ms, until_ms, True)]
    while front:  # a stack, because delegations may nest deeply
        task, since_ms, until_ms, has_children = front.pop()
        if not has_children:
            yield from _own_segments(task, finder.spans(task), since_ms, until_ms)
            continue
        path: list[tuple[Task, int, int, bool]] = []
        at_ms = until_ms
        for stretch in finder.stretches(task) if task.children else ():
            if stretch.since_ms >= at_ms:
                continue
            if at_ms <= since_ms:
                break
            end_ms = min(stretch.until_ms, at_ms)
            if end_ms <= since_ms:
                break
            if end_ms < at_ms:
                path.append((task, end_ms, at_ms, False))
            at_ms = max(since_ms, stretch.since_ms)
            path.append((stretch.task, at_ms, end_ms, True))
        if at_ms > since_ms:
            path.append((task, since_ms, at_ms, False))
        front += reversed(path)


def _own_segments(task: Task, spans: list[TimeSpan], since_ms: int, until_ms: int) -> Iterator[_Segment]:
    """Yield the segments of a task itself between two times, backwards."""
    for span in reversed([*clip(spans, since_ms, until_ms)]):
        # A run may outlive its root: attempts that were asked to stop may take a while.
        if span.until_ms < until_ms:
            yield _Segment(task, TimeSpan(QUEUE, span.until_ms, until_ms))
        is_overhead = task.kind == "group" and span.code == DELEGATED
        yield _Segment(task, span._replace(code=QUEUE) if is_overhead else span)
        until_ms = span.since_ms
    if since_ms < until_ms:
        yield _Segment(task, TimeSpan(QUEUE, since_ms, until_ms))


def _agent_name(state: State, task: Task) -> str | None:
    return None if task.agent_id is None else name_of_spender(state, task.agent_id)


def describe_step(name: str, kind: TimeKind) -> str:
    """Return the name of a step in words: `turn 7`, or that of a tool."""
    what, _, rest = name.partition(":")
    if kind == "tool":
        return preview(rest if what in ("tool", "call") and rest else name)
    return f"{what} {rest}" if rest.isdigit() else preview(name)
